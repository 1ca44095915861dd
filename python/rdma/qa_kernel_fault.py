# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel that faults in a flowgraph of Python's: it ends, and the block is named.

usage: qa_kernel_fault.py              the tests
       qa_kernel_fault.py run ITEM     the flowgraph, whose kernel at that item faults; prints
                                       what each block says of it
"""

import os
import subprocess
import sys
import unittest

from gnuradio import blocks, gr, rdma

from qa_faulty_block import faulty
from qa_helper import PATIENCE, skip


def run(fault_at):
    top = gr.top_block()
    chain = (rdma.to_device(sample="byte", vlen=4, memory="cuda:0"),
             faulty(fault_at=fault_at, memory="cuda:0"),
             rdma.to_host(sample="byte", vlen=4, memory="cuda:0"))
    top.connect(blocks.null_source(4), *chain, blocks.null_sink(4))
    top.run()
    for block in chain:
        print(block.name(), block.failure(), sep="|", flush=True)
    os._exit(0)  # no driver's farewell from a process that has lost its GPU


class kernel_fault(unittest.TestCase):
    def told(self, fault_at, in_turns=False):
        """What the three blocks say in a process of their own, and all that it logged."""
        environment = dict(os.environ, RDMA_CHECK_KERNELS="1" if in_turns else "")
        if not in_turns:
            del environment["RDMA_CHECK_KERNELS"]
        done = subprocess.run([sys.executable, __file__, "run", str(fault_at)], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60 * PATIENCE,
                              universal_newlines=True, check=False)
        print(done.stdout, done.stderr)
        self.assertEqual(done.returncode, 0)
        said = dict(line.split("|", 1) for line in done.stdout.splitlines() if "|" in line)
        self.assertEqual(sorted(said), ["faulty", "rdma_to_device", "rdma_to_host"])
        return said, done.stdout + done.stderr

    def test_block_is_named_at_the_first_kernel(self):
        for in_turns in (False, True):
            said, logged = self.told(0, in_turns)
            self.assertRegex(said["faulty"],
                             r"faulty\(\d+\) on cuda:0 .* failed with CUDA_ERROR_\w+ \(\d+\)"
                             r".* in a kernel of .*faulty\(\d+\)")
            self.assertIn(said["faulty"], logged.replace(said["faulty"], "", 1))

    def test_block_is_named_alone_where_kernels_take_turns(self):
        said, _ = self.told(50000000 // PATIENCE, in_turns=True)
        for block, why in said.items():
            self.assertRegex(why, r"in a kernel of faulty\(\d+\)$", block)

    def test_block_is_among_the_named_at_full_rate(self):
        said, _ = self.told(500000000 // PATIENCE)
        self.assertRegex(said["faulty"], r"in a kernel of .*faulty\(\d+\)")


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(int(sys.argv[2]))
    # Not in this process: what comes of its fork() could not use CUDA.
    state = subprocess.run([sys.executable, "-c", "from gnuradio import rdma\n"
                            "rdma.to_host(memory='cuda:0')"],
                           stderr=subprocess.PIPE, universal_newlines=True, check=False)
    if state.returncode:
        skip("gpu", state.stderr.strip().splitlines()[-1])
    unittest.main(verbosity=2)
