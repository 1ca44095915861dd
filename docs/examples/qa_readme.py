# SPDX-License-Identifier: GPL-3.0-or-later
"""The flowgraphs of README and manual, run as they stand there against the senders beside them; and
the README's picture, beside a fresh one."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from gnuradio import rdma
from PyQt5.QtGui import QImage
from qa_helper import bound, end_process, main, program, until

# The README's addresses, and those of this test.
ADDRESSES = {"127.0.0.1": "127.5.7.1", "127.0.0.2": "127.5.7.2"}


def text_of(*path):
    with open(os.path.join(os.environ["RDMA_SOURCE_DIR"], *path), encoding="utf-8") as file:
        return file.read()


def page(*path):
    """A page with this test's addresses."""
    text = text_of(*path)
    for old, new in ADDRESSES.items():
        text = text.replace(old, new)
    return text


def blocks_of(language, text):
    return re.findall(r"```%s\n(.*?)```" % language, text, re.S)


def gpu_missing():
    """Why there is none; empty where there is one."""
    try:
        rdma.to_host(memory="cuda:0")
    except (ValueError, rdma.CudaError) as error:
        return str(error)
    return ""


def waterfall_of(path):
    """Size of the picture, and brightness of its waterfall's columns."""
    image = QImage(path).convertToFormat(QImage.Format_Grayscale8)
    bits = image.constBits()
    bits.setsize(image.sizeInBytes())
    grey = np.frombuffer(bits, np.uint8).reshape(image.height(), image.bytesPerLine())
    return grey[:, :image.width()].shape, grey[245:755, 100:1115].astype(float).mean(axis=0)


class readme(unittest.TestCase):
    def test_spectra_in_under_twenty_lines(self):
        text = page("README.md")
        (code,) = blocks_of("python", text)
        self.assertLess(len(code.splitlines()), 20)
        (sender,) = [text for text in blocks_of("sh", text) if "gr-rdma send" in text]
        output = self.received(code, sender)
        self.assertEqual(output.splitlines()[-1], "3 spectra")

    def test_a_flowgraph_on_a_gpu(self):
        text = page("docs", "user", "gpu.md")
        (code,) = blocks_of("python", text)
        self.assertEqual(code.count('memory="cuda:0"'), 2)
        sender = re.search(r"`(gr-rdma send [^`]*)`", text).group(1)
        reason = gpu_missing()
        if reason:
            refused = subprocess.run([sys.executable, "-c", code], text=True, check=False,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertIn("ValueError: " + reason, refused.stderr)
            code = code.replace("cuda:0", "auto")
        output = " ".join(self.received(code, sender).split())
        self.assertTrue(output.endswith("3 spectra"), output)
        log = re.search(r"rdma_source :info: (softroce .*?) *\(NVIDIA H200",
                        " ".join(text.split())).group(1)
        if reason:
            self.assertIn("`ring of 16 x 64 KiB in host memory`", " ".join(text.split()))
            log = log.replace("ring of 32 x 64 KiB in cuda:0",
                              "ring of 16 x 64 KiB in host memory")
        self.assertIn(log, output)

    def test_what_is_said_where_there_is_no_driver(self):
        reason = gpu_missing()
        if "libcuda.so.1 was not found" not in reason:
            self.skipTest("there is a driver")
        rows = re.findall(r"^\| ([^|]*) \.\.\. \|", page("docs", "user", "gpu.md"), re.M)
        said = [reason]
        for given in dict(route="staged"), dict(memory="cuda:0", route="staged"):
            with self.assertRaises(ValueError) as caught:
                rdma.source(listen="127.5.7.1", **given)
            said.append(str(caught.exception))
        for words in said:
            self.assertEqual(sum(words.startswith(row) for row in rows), 1, words)
        rdma.source(listen="127.5.7.1")  # and the ring is in host memory

    def received(self, code, sender):
        """What the receiver prints while the sender sends."""
        command = shlex.split(sender.replace("\\\n", " "))
        self.assertTrue(command[0].endswith("gr-rdma"))
        own = re.search(r"[( ]listen=\"([^\"]*)\"", code).group(1)
        receiver = subprocess.Popen([sys.executable, "-c", code], text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(receiver.stderr.close)
        self.addCleanup(receiver.stdout.close)
        self.addCleanup(end_process, receiver)
        until(lambda: bound(own) or receiver.poll() is not None, "the receiver")
        sending = subprocess.Popen([program(), *command[1:]], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(end_process, sending)
        output, errors = receiver.communicate(timeout=60)
        self.assertEqual(receiver.returncode, 0, errors)
        return output

    def test_picture_is_what_the_demo_makes_in_a_clone(self):
        """Not to the point: fonts differ, and times of arrival."""
        picture = re.search(r"!\[.*synthetic.*\]\((.*\.png)\)", text_of("README.md")).group(1)
        demo = text_of("apps", "demo.sh").replace("\\\n", " ")
        what, samples, freq = re.search(
            r"what=\((--scene .*)\)\n *samples=\((.*)\) freq=(\S+)\n", demo).groups()
        cut = re.search(r"^cut=\((.*)\)$", demo, re.M).group(1)
        looks = re.search(r"(--fft-length .*?) --idle", demo).group(1)
        own, peer = ADDRESSES.values()
        with tempfile.TemporaryDirectory() as folder:
            made = os.path.join(folder, "made.png")
            receiver = subprocess.Popen(
                [program(), "spectrum", "--listen", own, "--freq", freq, "--out", made,
                 *shlex.split(" ".join((samples, cut, looks)))], stdout=subprocess.DEVNULL)
            self.addCleanup(end_process, receiver)
            until(lambda: bound(own) or receiver.poll() is not None, "the receiver")
            subprocess.run([program(), "send", "--quiet", "--source", peer, "--connect", own,
                            *shlex.split(" ".join((what, samples, cut)))], check=True, timeout=60)
            self.assertEqual(receiver.wait(timeout=60), 0)
            size, columns = waterfall_of(made)
        shown_size, shown = waterfall_of(os.path.join(os.environ["RDMA_SOURCE_DIR"], picture))
        self.assertEqual(shown_size, size)
        self.assertGreater(np.corrcoef(shown, columns)[0, 1], 0.99)


if __name__ == "__main__":
    main(*ADDRESSES.values(), with_program=True)
