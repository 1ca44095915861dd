# SPDX-License-Identifier: GPL-3.0-or-later
"""The converter beside NumPy, in flowgraphs of ordinary blocks."""

import unittest

import numpy as np
import pmt
from gnuradio import blocks, gr, rdma

TYPES = {  # sample: (NumPy type of one component, components, zero, full scale)
    "cu8": (np.uint8, 2, 127.5, 128),
    "sc8": (np.int8, 2, 0, 128),
    "sc16": (np.int16, 2, 0, 32768),
    "byte": (np.int8, 1, 0, 128),
}


def run_block(raw, sample, vlen=1, tags=()):
    """-> floats, tags; the sink is of the type that an ordinary block would have"""
    kind, parts = TYPES[sample][:2]
    source = blocks.vector_source_b(raw.view(np.uint8), False,
                                    np.dtype(kind).itemsize * parts * vlen, list(tags))
    sink = (blocks.vector_sink_c if parts == 2 else blocks.vector_sink_f)(vlen)
    top = gr.top_block()
    top.connect(source, rdma.convert(sample=sample, vlen=vlen), sink)
    top.run()
    return np.array(sink.data()), sink.tags()


class values(unittest.TestCase):
    def test_as_numpy_has_them(self):
        random = np.random.default_rng()
        for sample, (kind, parts, zero, full_scale) in TYPES.items():
            for vlen in (1, 5):
                with self.subTest(sample=sample, vlen=vlen):
                    info = np.iinfo(kind)
                    raw = random.integers(info.min, info.max, 3001 * vlen * parts, kind,
                                          endpoint=True)
                    raw[:2] = info.min, info.max
                    wanted = (raw - zero) / full_scale
                    if parts == 2:
                        wanted = wanted[0::2] + 1j * wanted[1::2]
                    got, _ = run_block(raw, sample, vlen)
                    np.testing.assert_array_equal(got, wanted)

    def test_tags_are_passed_on(self):
        tag = gr.tag_t()
        tag.offset, tag.key, tag.value = 17, pmt.intern("rx_freq"), pmt.from_double(1e9)
        _, tags = run_block(np.zeros(200, np.int16), "sc16", tags=[tag])
        self.assertEqual([(t.offset, str(t.key), pmt.to_double(t.value)) for t in tags],
                         [(17, "rx_freq", 1e9)])

    def test_spectra_of_the_floats_are_those_of_the_integers(self):
        raw = np.random.default_rng().integers(-20000, 20000, 2 * 4096, np.int16)
        spectra = []
        for first in (None, rdma.convert(sample="sc16")):
            source = blocks.vector_source_b(raw.view(np.uint8), False, 4)
            last = rdma.spectrometer(sample="fc32" if first else "sc16", length=256)
            sink = blocks.vector_sink_f(256)
            top = gr.top_block()
            top.connect(*filter(None, (source, first, last, sink)))
            top.run()
            spectra.append(np.array(sink.data()))
        self.assertEqual(len(spectra[0]), 4096)
        np.testing.assert_allclose(spectra[0], spectra[1], rtol=1e-4, atol=1e-9)


if __name__ == "__main__":
    unittest.main(verbosity=2)
