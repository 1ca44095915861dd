#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fail if a file includes a layer, or a system header, that its own layer may not see.

usage: check_layers.py [TREE]        check a tree (default: the one this script is in)
       check_layers.py --self-test   prove on good and bad samples that each rule bites

docs/dev/layout.md states the rules in words.
"""
import pathlib
import re
import sys
import tempfile

# Folder under lib/ -> folders that it may include besides itself.
MAY = {
    "core": set(),
    "wire": {"core"},
    "mem": {"core"},
    "dsp": {"core"},
    "cuda": {"core", "dsp"},
    "io": {"core", "wire", "mem"},
    "probe": {"core", "wire", "mem", "io"},
    "testing": {"core", "wire", "mem", "io", "cuda", "dsp"},
    "fuzz": {"core", "wire", "mem", "io"},
    "(blocks)": {"core", "wire", "mem", "io", "cuda", "dsp"},
    "(apps)": {"core", "mem", "io", "probe", "cuda"},
}
ALL = ("lib/", "include/", "python/", "apps/")
# System header -> the only places that may include it.
OWNED = {
    r"(infiniband|rdma)/": ("lib/io/verbs/", "lib/testing/fake_"),
    r"(cuda|cufft|cublas|nvrtc|nvml|cuComplex)|thrust/|cub/": ("lib/mem/cuda_", "lib/cuda/"),
    r"sys/(socket|un|epoll)|netinet/|arpa/|net/if|ifaddrs|netdb|linux/(if|udp|net|errqueue)":
        ("lib/io/softroce/", "lib/io/verbs/", "lib/testing/fake_", "lib/probe/", "apps/bench"),
    r"gnuradio/(?!rdma/)|pmt/": ("lib/(blocks)/", "include/", "python/", "apps/"),
    r"volk/|fftw3": ("lib/dsp/",),
    r"pybind11/": ("python/",),
    r"boost/": ("apps/", "lib/testing/"),
    r"spdlog/|fmt/": ("apps/",),
}
TESTS = ("qa_", "bench_verbs")  # these may include anything
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.M)
# The installed headers see the standard library, GNU Radio and themselves, nothing else.
PUBLIC = re.compile(r"gnuradio/|pmt/|volk/volk_alloc|[a-z_]+$")


def files(root):
    for top in ALL:
        for file in sorted((root / top).rglob("*")):
            if file.suffix in {".h", ".cc", ".cu", ".cuh"} and not file.name.startswith(TESTS):
                yield file


def layer_of(parts):
    if parts[0] == "lib":
        return parts[1] if len(parts) > 2 else "(blocks)"
    return "(apps)" if parts[0] == "apps" else None


def check(root):
    """The faults of a tree, one line each."""
    bad = []
    for file in files(root):
        path = file.relative_to(root).as_posix()
        parts = path.split("/")
        layer = layer_of(parts)
        if layer is not None and layer not in MAY:
            bad.append(f"{path}: lib/{layer}/ is no layer; see docs/dev/layout.md")
            continue
        place = f"lib/(blocks)/{file.name}" if layer == "(blocks)" else path
        for name in INCLUDE.findall(file.read_text(encoding="utf-8")):
            first = name.split("/")[0]
            if "/" in name and first in MAY:
                if layer is None:
                    bad.append(f"{path}: {parts[0]}/ may not include the private {name}")
                elif first in {"testing", "fuzz"} and layer != first:
                    bad.append(f"{path}: {first}/ is for QA only, not for {layer}/")
                elif first != layer and first not in MAY[layer]:
                    bad.append(f"{path}: {layer}/ may not include {first}/")
                continue
            if "../" in name:
                bad.append(f"{path}: {name}: include from lib/ or include/, not by ../")
            if parts[0] == "include" and not PUBLIC.match(name):
                bad.append(f"{path}: an installed header may not include <{name}>")
            for pattern, owners in OWNED.items():
                if re.match(pattern, name) and not place.startswith(owners):
                    bad.append(f"{path}: <{name}> belongs to {', '.join(owners)}")
    return bad


# (file, include, refused)
SAMPLES = (
    ("lib/core/a.h", "<vector>", False),
    ("lib/core/a.h", '"wire/b.h"', True),
    ("lib/core/a.h", "<gnuradio/block.h>", True),
    ("lib/core/a.cc", "<spdlog/spdlog.h>", True),
    ("lib/wire/a.h", '"core/b.h"', False),
    ("lib/wire/a.h", '"io/b.h"', True),
    ("lib/mem/a.cc", '"wire/b.h"', True),
    ("lib/mem/a.cc", "<infiniband/verbs.h>", True),
    ("lib/mem/cuda_ring.cc", "<cuda.h>", False),
    ("lib/mem/host_ring.cc", "<cuda.h>", True),
    ("lib/dsp/a.cc", "<fftw3.h>", False),
    ("lib/dsp/a.cc", '"mem/b.h"', True),
    ("lib/cuda/a.cu", '"dsp/b.h"', False),
    ("lib/cuda/a.cu", '"mem/b.h"', True),
    ("lib/io/a.cc", '"mem/b.h"', False),
    ("lib/io/a.cc", "<sys/socket.h>", True),
    ("lib/io/a.cc", "<gnuradio/block.h>", True),
    ("lib/io/softroce/a.cc", "<sys/socket.h>", False),
    ("lib/io/verbs/a.cc", "<infiniband/verbs.h>", False),
    ("lib/io/softroce/a.cc", "<rdma/rdma_cma.h>", True),
    ("lib/io/verbs/a.cc", "<sys/socket.h>", False),
    ("lib/testing/fake_a.cc", "<rdma/rdma_cma.h>", False),
    ("lib/testing/a.h", "<rdma/rdma_cma.h>", True),
    ("lib/probe/a.cc", '"io/b.h"', False),
    ("lib/probe/a.cc", '"dsp/b.h"', True),
    ("lib/source_impl.cc", '"io/b.h"', False),
    ("lib/source_impl.cc", "<gnuradio/block.h>", False),
    ("lib/source_impl.cc", "<volk/volk.h>", True),
    ("lib/source_impl.cc", '"testing/b.h"', True),
    ("lib/stuff/a.cc", "<vector>", True),
    ("lib/io/inproc/a.cc", '"../endpoint.h"', True),
    ("include/gnuradio/rdma/a.h", "<gnuradio/block.h>", False),
    ("include/gnuradio/rdma/a.h", '"core/b.h"', True),
    ("include/gnuradio/rdma/a.h", "<infiniband/verbs.h>", True),
    ("include/gnuradio/rdma/a.h", "<nlohmann/json.hpp>", True),
    ("python/rdma/bindings/a.cc", "<pybind11/pybind11.h>", False),
    ("python/rdma/bindings/a.cc", '"core/b.h"', True),
    ("apps/send.cc", '"io/b.h"', False),
    ("apps/send.cc", '"wire/b.h"', True),
    ("apps/bench_gpu.cc", '"cuda/b.h"', False),
    ("apps/bench_gpu.cc", "<cuda_runtime_api.h>", True),
    ("apps/send.cc", "<sys/socket.h>", True),
    ("apps/bench_udp.cc", "<sys/socket.h>", False),
    ("lib/core/qa_a.cc", '"wire/b.h"', False),
    ("lib/testing/a.h", "<boost/test/unit_test.hpp>", False),
    ("lib/core/a.h", "<boost/crc.hpp>", True),
    ("lib/fuzz/a.cc", '"io/b.h"', False),
    ("lib/fuzz/a.cc", "<gnuradio/block.h>", True),
    ("lib/io/a.cc", '"fuzz/b.h"', True),
)


def self_test():
    wrong = 0
    for path, include, refused in SAMPLES:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / path).parent.mkdir(parents=True)
            (root / path).write_text(f"#include {include}\n", encoding="utf-8")
            if bool(check(root)) != refused:
                print(f"self-test: {path} with {include}: expected refused={refused}")
                wrong += 1
    print(f"layers: self-test of {len(SAMPLES)} samples: {'failed' if wrong else 'ok'}")
    return wrong


def main(arguments):
    if arguments == ["--self-test"]:
        return bool(self_test())
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).parent.parent
    checked = sum(1 for _ in files(root))
    if checked == 0:
        print(f"layers: no sources under {root}")
        return True
    bad = check(root)
    print("\n".join(bad) or f"layers: {checked} files ok")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
