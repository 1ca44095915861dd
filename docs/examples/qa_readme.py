# SPDX-License-Identifier: GPL-3.0-or-later
"""The README's flowgraph, run as it stands there against the sender that stands beside it."""

import os
import re
import shlex
import subprocess
import sys
import unittest

from qa_helper import bound, end_process, main, program, until

# The README's addresses, and those of this test.
ADDRESSES = {"127.0.0.1": "127.5.7.1", "127.0.0.2": "127.5.7.2"}


def blocks_of(language):
    path = os.path.join(os.environ["RDMA_SOURCE_DIR"], "README.md")
    with open(path, encoding="utf-8") as file:
        found = re.findall(r"```%s\n(.*?)```" % language, file.read(), re.S)
    for old, new in ADDRESSES.items():
        found = [text.replace(old, new) for text in found]
    return found


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


if __name__ == "__main__":
    main(*ADDRESSES.values(), with_program=True)
