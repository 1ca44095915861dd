# SPDX-License-Identifier: GPL-3.0-or-later
"""The README's flowgraph, run as it stands there against the sender that stands beside it; and
its picture, beside a fresh one."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from PyQt5.QtGui import QImage
from qa_helper import bound, end_process, main, program, until

# The README's addresses, and those of this test.
ADDRESSES = {"127.0.0.1": "127.5.7.1", "127.0.0.2": "127.5.7.2"}


def text_of(*path):
    with open(os.path.join(os.environ["RDMA_SOURCE_DIR"], *path), encoding="utf-8") as file:
        return file.read()


def blocks_of(language):
    found = re.findall(r"```%s\n(.*?)```" % language, text_of("README.md"), re.S)
    for old, new in ADDRESSES.items():
        found = [text.replace(old, new) for text in found]
    return found


def waterfall_of(path):
    """Size of the picture, and brightness of its waterfall's columns."""
    image = QImage(path).convertToFormat(QImage.Format_Grayscale8)
    bits = image.constBits()
    bits.setsize(image.sizeInBytes())
    grey = np.frombuffer(bits, np.uint8).reshape(image.height(), image.bytesPerLine())
    return grey[:, :image.width()].shape, grey[245:755, 100:1115].astype(float).mean(axis=0)


class readme(unittest.TestCase):
    def test_spectra_in_under_twenty_lines(self):
        (code,) = blocks_of("python")
        self.assertLess(len(code.splitlines()), 20)
        (sender,) = [text for text in blocks_of("sh") if "gr-rdma send" in text]
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
        self.assertEqual(output.splitlines()[-1], "3 spectra")

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
