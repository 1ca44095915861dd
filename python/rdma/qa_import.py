# SPDX-License-Identifier: GPL-3.0-or-later
"""`import gnuradio.rdma`: on any machine, and in words that help where it cannot work."""

import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import gnuradio.rdma
from gnuradio import gr
from gnuradio.rdma import build_info

PACKAGE = os.path.dirname(gnuradio.rdma.__file__)


def run(code, modules, *options):
    """A fresh interpreter that finds the module in this folder."""
    environment = dict(os.environ, PYTHONPATH=modules)
    environment.pop("LD_LIBRARY_PATH", None)
    return subprocess.run([sys.executable, *options, "-c", code], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)


class copies_of_the_package(unittest.TestCase):
    """Each case spoils a copy in its own way."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.package = os.path.join(self.folder.name, "gnuradio", "rdma")
        shutil.copytree(PACKAGE, self.package, ignore=shutil.ignore_patterns("__pycache__"))

    def replace(self, pattern, old, new):
        (path,) = glob.glob(os.path.join(self.package, pattern))
        with open(path, "rb") as file:
            content = file.read()
        self.assertIn(old, content)
        with open(path, "wb") as file:
            file.write(content.replace(old, new))

    def imports(self, *options):
        return run("import gnuradio.rdma; print(gnuradio.rdma.__file__)", self.folder.name,
                   *options)

    def test_a_private_prefix_on_pythonpath_works(self):
        result = self.imports("-W", "error")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(os.path.dirname(result.stdout.strip()), self.package)
        self.assertEqual(result.stderr, "")

    def test_missing_library_tells_how_to_find_it(self):
        name = build_info.LIBRARY.encode()
        self.replace("rdma_python.*.so", name, name.replace(b"rdma", b"rmda"))
        self.replace("build_info.py", name, name.replace(b"rdma", b"rmda"))
        result = self.imports()
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("cannot open shared object", result.stderr)
        self.assertIn("sudo ldconfig", result.stderr)
        self.assertIn("export LD_LIBRARY_PATH=%s:" % os.path.normpath(
            os.path.join(self.package, build_info.LIBRARY_DIR)), result.stderr)

    def test_library_of_another_gnuradio_names_both_versions(self):
        self.replace("rdma_python.*.so", b"libgnuradio-runtime.so.3", b"libgnuradio-runtime.so.9")
        self.replace("build_info.py", build_info.GNURADIO_VERSION.encode(), b"9.10.5.1")
        result = self.imports()
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("built against GNU Radio 9.10.5.1; this one is " + gr.version(),
                      result.stderr)
        self.assertIn("Rebuild", result.stderr)

    def test_other_gnuradio_that_still_loads_is_warned_about(self):
        self.replace("build_info.py", build_info.GNURADIO_VERSION.encode(), b"3.9.8.0")
        result = self.imports()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("built against GNU Radio 3.9.8.0; this one is " + gr.version(),
                      result.stderr)


class import_itself(unittest.TestCase):
    def test_gnuradio_fft_is_not_needed(self):
        result = run("import sys, gnuradio.rdma as r; r.spectrometer();"
                     "assert 'gnuradio.fft' not in sys.modules", os.path.dirname(
                         os.path.dirname(PACKAGE)))
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_no_device_is_opened(self):
        code = ("import os, gnuradio.rdma as r; r.source(**%r);"
                "print([os.readlink('/proc/self/fd/' + n) for n in os.listdir('/proc/self/fd')"
                " if os.path.exists('/proc/self/fd/' + n)])"
                % dict(source="127.5.1.1", connect="127.5.1.2", qpn=17, remote_qpn=18))
        result = run(code, os.path.dirname(os.path.dirname(PACKAGE)))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("/dev/infiniband", result.stdout)
        self.assertNotIn("/dev/nvidia", result.stdout)

    def test_public_names(self):
        self.assertEqual(sorted(gnuradio.rdma.__all__), ["CudaError", "convert", "device_block",
                                                            "source", "spectrometer", "to_device",
                                                            "to_host"])
        self.assertTrue(issubclass(gnuradio.rdma.CudaError, RuntimeError))
        self.assertEqual(gnuradio.rdma.__version__, build_info.VERSION)


if __name__ == "__main__":
    unittest.main(verbosity=2)
