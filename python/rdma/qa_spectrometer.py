# SPDX-License-Identifier: GPL-3.0-or-later
"""The spectrometer beside NumPy and scipy.signal.welch, in double precision."""

import unittest

import numpy as np
import pmt
from gnuradio import blocks, gr, rdma
from gnuradio.fft import window

from qa_helper import skip

try:
    from scipy import signal
except ImportError as error:
    skip("scipy", "install python3-scipy: %s" % error)

TYPES = {  # sample: (NumPy type of one component, components)
    "cu8": (np.uint8, 2),
    "sc8": (np.int8, 2),
    "sc16": (np.int16, 2),
    "fc32": (np.float32, 2),
    "byte": (np.int8, 1),
}


def make_samples(sample, count, seed=1):
    """Noise at a quarter of full scale: bytes, and values in double precision."""
    kind, parts = TYPES[sample]
    noise = np.random.default_rng(seed).normal(0, 0.25, count * parts).clip(-1, 0.99)
    if sample == "fc32":
        raw = noise.astype(np.float32)
        values = raw.astype(float)
    elif sample == "cu8":
        raw = np.round(noise * 128 + 127.5).astype(np.uint8)
        values = (raw - 127.5) / 128
    else:
        scale = -float(np.iinfo(kind).min)
        raw = np.round(noise * scale).astype(kind)
        values = raw / scale
    if parts == 2:
        values = values[0::2] + 1j * values[1::2]
    return raw.view(np.uint8), values


def gr_window(name, length, parameter):
    """GNU Radio's window in the periodic form."""
    kind = getattr(window, "WIN_" + name.upper())
    return np.array(window.build(kind, length + 1, parameter)[:length], float)


def numpy_spectra(values, taps, average=1, overlap=0, scaling="spectrum", fftshift=True, rate=1):
    length = len(taps)
    starts = range(0, len(values) - length + 1, length - overlap)
    power = np.array([np.abs(np.fft.fft(values[s:s + length] * taps)) ** 2 for s in starts])
    power /= taps.sum() ** 2 if scaling == "spectrum" else rate * (taps ** 2).sum()
    count = len(power) // average
    power = power[:count * average].reshape(count, average, length).mean(axis=1)
    return np.fft.fftshift(power, axes=1) if fftshift else power


def make_tag(offset, key, value):
    tag = gr.tag_t()
    tag.offset, tag.key, tag.value = offset, pmt.intern(key), value
    return tag


def run_block(data, sample, chunk=0, tags=(), length=1024, vlen=1, **parameters):
    """-> spectra, one a row; tags as {(key, offset): value}; the block"""
    kind, parts = TYPES[sample]
    item = np.dtype(kind).itemsize * parts * vlen
    source = blocks.vector_source_b(data, False, item, list(tags))
    block = rdma.spectrometer(sample=sample, length=length, vlen=vlen, **parameters)
    sink = blocks.vector_sink_f(length)
    top = gr.top_block()
    top.connect(source, block, sink)
    if chunk:
        source.set_max_noutput_items(chunk)
        block.set_max_noutput_items(chunk)
    top.run()
    seen = {(str(t.key), t.offset): pmt.to_python(t.value) for t in sink.tags()}
    return np.array(sink.data()).reshape(-1, length), seen, block


def run(*arguments, **parameters):
    return run_block(*arguments, **parameters)[0]


class spectrometer_case(unittest.TestCase):
    def assert_close(self, got, want, floor=1.0):
        """Within 1e-5 of each bin, or of floor times the mean of all bins.

        A single-precision transform leaves some 3e-7 of the root mean square in every bin:
        bins that one transform leaves nearly empty are held to the mean.
        """
        self.assertEqual(got.shape, want.shape)
        self.assertGreater(len(got), 0)
        allowed = 1e-5 * np.maximum(want, floor * want.mean(axis=1, keepdims=True))
        self.assertLess(np.max(np.abs(got - want) / allowed), 1)


class beside_numpy(spectrometer_case):
    def test_every_type_at_every_length(self):
        for power in range(4, 17):
            length = 2 ** power
            for sample in TYPES if power in (4, 10, 16) else ["sc16"]:
                data, values = make_samples(sample, 2 * length + 3)
                got = run(data, sample, length=length)
                self.assert_close(got, numpy_spectra(values, gr_window("hann", length, 0)))

    def test_averages_to_the_bin(self):
        for sample in TYPES:
            for overlap in (0, 64, 127, 33):
                data, values = make_samples(sample, 10000)
                got = run(data, sample, length=128, average=40, overlap=overlap)
                want = numpy_spectra(values, gr_window("hann", 128, 0), 40, overlap)
                self.assert_close(got, want, floor=0)

    def test_any_chunks_and_vlen(self):
        data, values = make_samples("sc16", 6000)
        want = numpy_spectra(values, gr_window("hann", 256, 0), 3, 100)
        whole = run(data, "sc16", length=256, average=3, overlap=100)
        self.assert_close(whole, want)
        for chunk in (1, 7, 1000):
            for vlen in (1, 4):
                got = run(data, "sc16", chunk, length=256, average=3, overlap=100, vlen=vlen)
                np.testing.assert_array_equal(got, whole)

    def test_every_window(self):
        data, values = make_samples("fc32", 4096)
        for name, parameter in [("rectangular", 0), ("hamming", 0), ("hann", 0), ("blackman", 0),
                                ("kaiser", 6.76), ("blackman_harris", 0), ("bartlett", 0),
                                ("flattop", 0), ("nuttall", 0), ("nuttall_cfd", 0), ("welch", 0),
                                ("parzen", 0), ("exponential", 8), ("riemann", 0),
                                ("gaussian", 100), ("tukey", 0.3)]:
            kind = getattr(window, "WIN_" + name.upper())
            got = run(data, "fc32", window=kind, window_parameter=parameter, average=4)
            self.assert_close(got, numpy_spectra(values, gr_window(name, 1024, parameter), 4))


class beside_scipy(spectrometer_case):
    """welch() averages all it is given: one vector of all transforms."""

    def compare(self, sample="sc16", scipy_window="hann", scaling="spectrum", overlap=128,
                rate=1.0, floor=0.0, length=512, average=32, **parameters):
        count = (average - 1) * (length - overlap) + length
        data, values = make_samples(sample, count)
        _, want = signal.welch(values, rate, scipy_window, length, overlap, detrend=False,
                               return_onesided=False, scaling=scaling)
        got = run(data, sample, length=length, average=average, overlap=overlap,
                     scaling=scaling, rate=rate, fftshift=False, **parameters)
        self.assert_close(got, want[np.newaxis], floor)
        shifted = run(data, sample, length=length, average=average, overlap=overlap,
                         scaling=scaling, rate=rate, **parameters)
        np.testing.assert_array_equal(shifted, np.fft.fftshift(got, axes=1))

    def test_scalings_of_every_type(self):
        for sample in TYPES:
            self.compare(sample, scaling="spectrum")
            self.compare(sample, scaling="density", rate=2.4e6)

    def test_overlaps(self):
        for overlap in (0, 256, 511, 77):
            self.compare(overlap=overlap)

    def test_windows_that_both_define(self):
        # GNU Radio's coefficients are floats.
        for theirs, ours, parameter in [
                ("boxcar", window.WIN_RECTANGULAR, 0), ("hamming", window.WIN_HAMMING, 0),
                ("blackman", window.WIN_BLACKMAN, 0), (("kaiser", 6.76), window.WIN_KAISER, 6.76),
                ("blackmanharris", window.WIN_BLACKMAN_HARRIS, 0),
                ("bartlett", window.WIN_BARTLETT, 0), ("nuttall", window.WIN_NUTTALL, 0),
                ("parzen", window.WIN_PARZEN, 0), (("gaussian", 50), window.WIN_GAUSSIAN, 50),
                (("tukey", 0.3), window.WIN_TUKEY, 0.3)]:
            with self.subTest(window=theirs):
                self.compare(scipy_window=theirs, window=ours, window_parameter=parameter)
                for length in (64 if theirs == "parzen" else 16, 64, 8192):
                    self.compare(scipy_window=theirs, window=ours, window_parameter=parameter,
                                 length=length, average=1, overlap=0, floor=1)

    def test_windows_of_gnu_radio_alone(self):
        for name, parameter in [("flattop", 0), ("nuttall_cfd", 0), ("welch", 0), ("riemann", 0),
                                ("exponential", 8), ("parzen", 0)]:
            for length in (16, 64, 8192):
                with self.subTest(window=name, length=length):
                    self.compare(scipy_window=gr_window(name, length, parameter), window=name,
                                 window_parameter=parameter, length=length, average=1, overlap=0,
                                 floor=1)
        # So that nobody takes one for the other.
        with self.assertRaises(AssertionError):
            self.compare(scipy_window="flattop", window="flattop")


class tags_and_counters(spectrometer_case):
    def test_a_gap_starts_anew(self):
        data, values = make_samples("sc16", 1000)
        gap = pmt.dict_add(pmt.make_dict(), pmt.intern("reason"), pmt.intern("loss"))
        time = pmt.make_tuple(pmt.from_uint64(7), pmt.from_double(0.5))
        got, tags, block = run_block(
            data, "sc16", length=128, rate=1000,
            tags=[make_tag(300, "rx_gap", gap), make_tag(300, "rx_time", time)])
        taps = gr_window("hann", 128, 0)
        want = np.vstack([numpy_spectra(values[:300], taps), numpy_spectra(values[300:], taps)])
        self.assert_close(got, want)
        self.assertEqual(block.spectra(), 2 + 5)
        self.assertEqual(block.samples_dropped(), 300 - 256)
        self.assertEqual(block.frames_dropped(), 1)
        self.assertEqual(tags[("rx_gap", 2)]["reason"], "loss")
        self.assertEqual(tags[("rx_time", 2)], (7, 0.5))
        self.assertEqual(tags[("rx_rate", 0)], 1000 / 128)


if __name__ == "__main__":
    unittest.main(verbosity=2)
