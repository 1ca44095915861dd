# SPDX-License-Identifier: GPL-3.0-or-later
"""Flowgraphs on a GPU, from Python: what it gives beside the CPU."""

import os
import subprocess
import tempfile
import unittest

import numpy as np
from gnuradio import blocks, gr, rdma

from qa_helper import bound, end_process, main, program, skip, until

try:
    GPU = rdma.to_host(memory="cuda:0").memory()
except (ValueError, rdma.CudaError) as error:
    skip("gpu", error)

RAW = np.random.default_rng(3).integers(-32768, 32767, 2 * 5000000, np.int16)  # 20 MB


def run(*chain):
    top = gr.top_block()
    top.connect(blocks.vector_source_b(RAW.view(np.uint8), False, 4), *chain)
    top.run()


OWN, PEER = "127.5.9.3", "127.5.9.4"
RECORDING = os.path.join(os.environ.get("RDMA_SOURCE_DIR", ""),
                         "../shared/data/adsb_1090MHz_2MSps_cu8.bin")


def recorded():
    """cu8 samples that are no noise: the recording, or where there is none a tone in noise."""
    if os.path.exists(RECORDING):
        return np.fromfile(RECORDING, np.uint8)
    n = np.arange(2000000)
    noise = np.random.default_rng(5).normal(0, 4, (2, n.size))
    tone = 60 * np.array([np.cos(0.3 * n), np.sin(0.3 * n)])
    return np.round(127.5 + tone + noise).astype(np.uint8).T.ravel()


class gpu(unittest.TestCase):
    def over_softroce(self, memory, path):
        """What comes out of source, to_host and spectrometer in that memory."""
        top = gr.top_block()
        source = rdma.source(sample="cu8", listen=OWN, memory=memory)
        samples, spectra = blocks.vector_sink_b(2), blocks.vector_sink_f(1024)
        top.connect(source, rdma.to_host(sample="cu8", memory=memory), samples)
        top.connect(source, rdma.spectrometer(sample="cu8", average=10, memory=memory), spectra)
        top.start()
        until(lambda: bound(OWN), "the receiver")
        sender = subprocess.Popen([program(), "send", "--quiet", "--file", path, "--sample", "cu8",
                                   "--source", PEER, "--connect", OWN])
        self.addCleanup(end_process, sender)
        top.wait()
        self.assertEqual(sender.wait(20), 0)
        return (np.array(samples.data(), np.uint8),
                np.array(spectra.data(), np.float32).reshape(-1, 1024))

    def test_a_recording_over_softroce(self):
        sent = np.tile(recorded(), 10)  # so that it runs round the GPU's ring
        with tempfile.NamedTemporaryFile(suffix=".cu8") as file:
            sent.tofile(file)
            file.flush()
            there, spectra = self.over_softroce(GPU, file.name)
            _, wanted = self.over_softroce("host", file.name)
        np.testing.assert_array_equal(there[:sent.size], sent)
        self.assertFalse(there[sent.size:].any())  # the rest of the last slot
        self.assertGreater(len(wanted), 10)
        self.assertEqual(spectra.shape, wanted.shape)
        # Of the bin, or of the mean where that is more: a bin with nothing in it is rounding.
        scale = np.maximum(wanted, wanted.mean(axis=1, keepdims=True))
        self.assertLess(np.max(np.abs(spectra - wanted) / np.maximum(scale, 1e-30)), 1e-4)

    def test_bytes_come_back_as_they_went(self):
        sink = blocks.vector_sink_b(4)
        run(rdma.to_device(memory=GPU), rdma.to_host(memory=GPU), sink)
        np.testing.assert_array_equal(np.array(sink.data(), np.uint8).view(np.int16), RAW)

    def test_floats_are_exact(self):
        sink = blocks.vector_sink_c()
        run(rdma.convert(sample="sc16", memory=GPU), sink)
        np.testing.assert_array_equal(np.array(sink.data(), np.complex64).view(np.float32),
                                      RAW.astype(np.float32) / 32768)

    def test_spectra_are_those_of_the_cpu(self):
        spectra = {}
        for memory in ("host", GPU):
            block = rdma.spectrometer(length=1024, average=100, memory=memory)
            sink = blocks.vector_sink_f(1024)
            run(block, sink)
            spectra[memory] = np.array(sink.data())
            self.assertEqual(block.spectra(), 5000000 // 102400)
            self.assertEqual(block.failure(), "")
        self.assertEqual(len(spectra[GPU]), 1024 * (5000000 // 102400))
        np.testing.assert_allclose(spectra[GPU], spectra["host"], rtol=1e-4)

    def test_a_chain_that_spins_gives_the_same(self):
        streams = []
        for wait in ("event", "busy"):
            sink = blocks.vector_sink_c()
            run(rdma.convert(sample="sc16", memory=GPU, wait=wait),
                rdma.to_host(sample="fc32", memory=GPU, wait=wait), sink)
            spectra = blocks.vector_sink_f(1024)
            run(rdma.spectrometer(average=100, memory=GPU, wait=wait), spectra)
            streams.append((np.array(sink.data(), np.complex64), np.array(spectra.data())))
        self.assertEqual(len(streams[0][0]), 5000000)
        np.testing.assert_array_equal(streams[0][0], streams[1][0])
        np.testing.assert_allclose(streams[0][1], streams[1][1], rtol=1e-4)

    def refused(self, *chain, feed=None):
        """What start() raises; it names the first two of the chain, which feed is not of."""
        top = gr.top_block()
        top.connect(*chain)
        if feed:
            top.connect(feed, chain[0])
        for start in (top.start, top.run):
            with self.assertRaises(ValueError) as caught:
                start()
        for block in chain[:2]:
            self.assertIn(block.name(), str(caught.exception))
        return str(caught.exception)

    def test_start_refuses_a_ring_in_host_memory(self):
        source = rdma.source(source="127.5.9.1", connect="127.5.9.2", qpn=17, remote_qpn=18,
                             memory="host")
        why = self.refused(source, rdma.convert(memory=GPU), blocks.null_sink(8))
        self.assertIn('rdma.to_device with memory="%s"' % GPU, why)

    def test_start_refuses_neighbours_on_two_gpus(self):
        try:
            second = rdma.convert(sample="byte", memory="cuda:1")
        except ValueError as error:
            self.skipTest("two GPUs: %s" % error)
        first = rdma.to_device(sample="byte", memory="cuda:0")
        why = self.refused(first, second, blocks.null_sink(4), feed=blocks.null_source(1))
        for part in ("cuda:0", "cuda:1", "rdma.to_host"):
            self.assertIn(part, why)

    def test_two_readers_of_one_gpu_ring(self):
        # One on the GPU, and an ordinary one, of the same samples.
        top = gr.top_block()
        source = blocks.vector_source_b(RAW.view(np.uint8), False, 4)
        there = rdma.to_device(memory=GPU)
        spectra, samples = blocks.vector_sink_f(1024), blocks.vector_sink_b(4)
        top.connect(source, there, rdma.spectrometer(memory=GPU, average=10), spectra)
        top.connect(there, samples)
        top.run()
        np.testing.assert_array_equal(np.array(samples.data(), np.uint8).view(np.int16), RAW)
        self.assertEqual(len(spectra.data()), 1024 * (5000000 // 10240))


if __name__ == "__main__":
    main(OWN, PEER, with_program=True)
