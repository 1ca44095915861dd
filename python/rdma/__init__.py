# SPDX-License-Identifier: GPL-3.0-or-later
"""RDMA streams into GNU Radio.

Blocks: `source` receives messages from an RDMA peer and streams their samples;
`spectrometer` turns samples into averaged power spectra; `convert` turns integer samples
into floats; `to_host` and `to_device` copy between host memory and a GPU's; `device_block` is
the base class of GPU blocks of your own, in C++. All parameters are keyword arguments;
help(rdma.source) lists them with units and limits. Importing this needs neither a network card nor a GPU.
"""

import atexit as _atexit
import gc as _gc
import os as _os
import time as _time
import warnings as _warnings

# Registers gr.block, the base class of ours, before our bindings name it.
from gnuradio import gr as _gr

from .build_info import GNURADIO_VERSION, LIBRARY, LIBRARY_DIR, VERSION

__version__ = VERSION


def _versions():
    return ("gnuradio.rdma %s was built against GNU Radio %s; this one is %s"
            % (VERSION, GNURADIO_VERSION, _gr.version()))


def _same_gnuradio():
    # GNU Radio's libraries keep their ABI within the first three numbers.
    return _gr.version().split(".")[:3] == GNURADIO_VERSION.split(".")[:3]


def _explain(error):
    """The loader's words, and what to do about them."""
    text = str(error)
    if LIBRARY in text and "cannot open" in text:
        folder = _os.path.normpath(_os.path.join(_os.path.dirname(__file__), LIBRARY_DIR))
        text += (
            "\nThe library of gnuradio.rdma is not where the loader looks. It belongs in %s: run "
            "`sudo ldconfig` if that is a system directory, otherwise "
            "`export LD_LIBRARY_PATH=%s:$LD_LIBRARY_PATH`." % (folder, folder))
    elif "undefined symbol" in text or "cannot open shared object" in text:
        text += "\n%s. Rebuild and install gnuradio.rdma against this GNU Radio." % _versions()
    return ImportError(text, name=error.name, path=error.path)


if not _same_gnuradio():
    _warnings.warn(_versions() + ": rebuild it if anything misbehaves", RuntimeWarning,
                  stacklevel=2)

try:
    from .rdma_python import (CudaError, _any_running, convert, device_block, source,
                              spectrometer, to_device, to_host)
except ImportError as _error:
    raise _explain(_error) from _error


@_atexit.register
def _stop_flowgraphs():
    """Without this, a flowgraph that Python never destroys (a daemon thread waits for it,
    say) would go on and use what the end of the process has already torn down."""
    if not _any_running():
        return
    for thing in _gc.get_objects():
        if issubclass(type(thing), _gr.top_block):
            thing.stop()
    end = _time.monotonic() + 2
    while _any_running() and _time.monotonic() < end:
        _time.sleep(0.005)


__all__ = ["CudaError", "convert", "device_block", "source", "spectrometer", "to_device", "to_host"]
