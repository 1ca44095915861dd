# SPDX-License-Identifier: GPL-3.0-or-later
"""Every example runs and prints what it says: by hand in Python, and compiled by grcc."""

import glob
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from qa_helper import bound, end_process, main, program, until

OWN, PEER = "127.5.6.1", "127.5.6.2"
EXAMPLES = os.path.dirname(os.path.abspath(__file__))
RATE, FREQ, TONE = 2e6, 100e6, 250e3
COMMAND = ("gr-rdma send --scene --sample sc16 --rate 2e6 --source 127.0.0.2 --connect 127.0.0.1 "
           "--qpn 18 --remote-qpn 17")
NEW_SOURCE = """
options:
  parameters: {id: new_source, generate_options: no_gui, output_language: python, run_options: run}
  states: {state: enabled}
blocks:
- name: samp_rate
  id: variable
  parameters: {value: '32000'}
  states: {state: enabled}
- name: source
  id: rdma_source
  parameters:%s
  states: {state: enabled}
- name: convert
  id: rdma_convert
  parameters: {}
  states: {state: enabled}
- name: head
  id: blocks_head
  parameters: {type: complex, num_items: '100000'}
  states: {state: enabled}
- name: sink
  id: blocks_file_sink
  parameters: {type: complex, file: %s}
  states: {state: enabled}
connections:
- [source, '0', convert, '0']
- [convert, '0', head, '0']
- [head, '0', sink, '0']
metadata: {file_format: 1}
"""
LINE = re.compile(r"^(\d+)\.\d{6} +(\d+\.\d{6}) MHz +(-?\d+\.\d) dB$", re.M)


def compile_grc(folder, *files):
    """grcc, as in a home that has never seen GNU Radio."""
    environment = dict(os.environ, HOME=folder)
    result = subprocess.run(["grcc", "-o", folder, *files], env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    return result.returncode, result.stdout


# The window as main() makes it: its size, and by how much its content is scrolled off.
WINDOW = """
import sys
from PyQt5 import Qt
application = Qt.QApplication(sys.argv)
import spectrum_qt
window = spectrum_qt.spectrum_qt()
if hasattr(spectrum_qt, "snippets_main_after_init"):
    spectrum_qt.snippets_main_after_init(window)
window.show()
application.processEvents()
scroll = window.top_scroll
print(window.width(), window.height(), scroll.horizontalScrollBar().maximum(),
      scroll.verticalScrollBar().maximum())
"""


def catches(pid, number):
    with open("/proc/%d/status" % pid, encoding="ascii") as status:
        caught = int(re.search(r"SigCgt:\t(\w+)", status.read()).group(1), 16)
    return caught >> (number - 1) & 1


class examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        time = np.arange(1 << 16) / RATE
        tone = 0.5 * 32767 * np.exp(2j * np.pi * TONE * time)
        cls.tone = os.path.join(cls.folder.name, "tone.sc16")
        np.stack([tone.real, tone.imag], -1).round().astype("<i2").tofile(cls.tone)
        cls.grc = sorted(glob.glob(os.path.join(EXAMPLES, "*", "*.grc")))
        cls.compiled, cls.output = compile_grc(cls.folder.name, *cls.grc)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def start(self, *command, **environment):
        process = subprocess.Popen([sys.executable, *command], text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=dict(os.environ, **environment))
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(end_process, process)
        until(lambda: bound(OWN) or process.poll() is not None, "a receiver")
        return process

    def run_sender(self, command, *more):
        """What a text says, with this test's addresses."""
        command = command.replace("127.0.0.1", OWN).replace("127.0.0.2", PEER)
        words = shlex.split(command.replace("\\\n", " "))
        self.assertEqual(words[:2], ["gr-rdma", "send"])
        sender = subprocess.Popen([program(), *words[1:], "--quiet", *more],
                                  stderr=subprocess.DEVNULL)
        self.addCleanup(end_process, sender)
        return sender

    def send(self):
        """The tone in place of the scene, until the receiver has had enough."""
        command = COMMAND.replace("--scene", "--repeat 0 --file " + self.tone)
        return self.run_sender(command)

    def prints_the_tone(self, process, count):
        self.send()
        output, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, errors)
        lines = LINE.findall(output)
        self.assertEqual(len(lines), count, output)
        for seconds, frequency, power in lines:
            self.assertGreater(int(seconds), 1_600_000_000)
            self.assertAlmostEqual(float(frequency), (FREQ + TONE) / 1e6, delta=RATE / 1024 / 1e6)
            # Half of full scale is -6.02 dB.
            self.assertAlmostEqual(float(power), -6.0, delta=0.1)
        return output

    def test_grcc_compiles_every_flowgraph(self):
        self.assertEqual(self.compiled, 0, self.output)
        self.assertGreaterEqual(len(self.grc), 2)
        self.assertNotIn("Warning", self.output.replace("log :warning: Matplotlib", ""))

    def test_every_example_says_what_to_send(self):
        texts = sorted(glob.glob(os.path.join(EXAMPLES, "*", "*.grc")))
        texts.append(os.path.join(EXAMPLES, "spectrum", "spectrum.py"))
        texts.append(os.path.join(os.environ["RDMA_SOURCE_DIR"], "README.md"))
        for path in texts:
            with open(path, encoding="utf-8") as file:
                words = " ".join(file.read().replace("\\", " ").split())
            with self.subTest(path=path):
                self.assertIn(COMMAND, words)

    def test_senders_in_the_sources_documentation(self):
        with open(os.path.join(os.environ["RDMA_SOURCE_DIR"], "grc", "rdma_source.block.yml"),
                  encoding="utf-8") as file:
            commands = re.findall(r"^ +(gr-rdma send .*)$", file.read(), re.M)
        self.assertEqual(len(commands), 3)
        for command in commands:
            with self.subTest(command=command):
                self.reaches_the_block(command)

    def reaches_the_block(self, command):
        """A flowgraph of the block as it is when it is new, but for its connection."""
        given = dict(listen=OWN, source=OWN, connect=PEER)
        called = "--listen" in command
        given["connection"] = ("static" if "--qpn" in command else
                               "connect" if called else "listen")
        path, received = self.path("new_source.grc"), self.path("new_source.bin")
        with open(path, "w", encoding="utf-8") as file:
            file.write(NEW_SOURCE % ("".join("\n    %s: %s" % item for item in given.items()),
                                     received))
        result, output = compile_grc(self.folder.name, path)
        self.assertEqual(result, 0, output)
        if called:
            sender = self.run_sender(command)
            until(lambda: bound(PEER), "the sender")
        receiver = self.start(self.path("new_source.py"))
        if not called:
            sender = self.run_sender(command)
        output, errors = receiver.communicate(timeout=60)
        self.assertEqual(receiver.returncode, 0, errors)
        end_process(sender)
        self.assertEqual(os.path.getsize(received), 8 * 100000, output)
        os.remove(received)

    def test_spectrum_py(self):
        output = self.prints_the_tone(self.start(
            os.path.join(EXAMPLES, "spectrum", "spectrum.py"), "--source", OWN, "--connect", PEER,
            "--rate", str(RATE), "--freq", str(FREQ), "--average", "20", "--count", "7"), 7)
        self.assertRegex(output, r"\n\d+ messages, \d+ bytes, gaps=0\n$")

    def test_spectrum_grc(self):
        self.prints_the_tone(self.start(
            self.path("spectrum_grc.py"), "--own-address", OWN, "--peer-address", PEER,
            "--samp-rate", str(RATE), "--center-freq", str(FREQ), "--count", "3"), 3)

    def test_signals_end_spectrum_py(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start(os.path.join(EXAMPLES, "spectrum", "spectrum.py"),
                                 "--source", OWN, "--connect", PEER, "--count", "1000000")
            sender = self.send()
            self.assertTrue(any(LINE.match(line) for line in process.stdout))
            process.send_signal(number)
            output, errors = process.communicate(timeout=5)
            self.assertEqual(process.returncode, 0, errors)
            self.assertIn("gaps=0", output)
            end_process(sender)

    def test_spectrum_qt_starts_and_ends(self):
        process = self.start(self.path("spectrum_qt.py"), "--own-address", OWN,
                             "--peer-address", PEER, QT_QPA_PLATFORM="offscreen",
                             XDG_RUNTIME_DIR=self.folder.name)
        self.send()
        until(lambda: catches(process.pid, signal.SIGTERM), "a signal handler")
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 0, errors)

    def test_spectrum_qt_shows_all_of_it_and_fits_a_small_screen(self):
        environment = dict(os.environ, HOME=self.folder.name, XDG_CONFIG_HOME=self.folder.name,
                           XDG_RUNTIME_DIR=self.folder.name, QT_QPA_PLATFORM="offscreen")
        output = subprocess.run([sys.executable, "-c", WINDOW], cwd=self.folder.name,
                                env=environment, text=True, stdout=subprocess.PIPE,
                                timeout=60, check=True).stdout
        width, height, *scrolled_off = map(int, output.splitlines()[-1].split())
        self.assertEqual(scrolled_off, [0, 0])
        self.assertTrue(900 <= width <= 1280 and 600 <= height <= 768, output)

    def test_header_says_what_to_expect(self):
        for path in glob.glob(os.path.join(EXAMPLES, "*", "*.py")):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.assertIn("Expect", text.split('"""')[1])
            self.assertLessEqual(text.count("\n"), 150)


if __name__ == "__main__":
    main(OWN, PEER, with_program=True)
