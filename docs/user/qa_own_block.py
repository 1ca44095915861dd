# SPDX-License-Identifier: GPL-3.0-or-later
"""A user's own GPU block and its binding (own-cuda-block.md) beside this module's base class.

usage: qa_own_block.py [--gpu] EXAMPLE     with --gpu, the page's example itself
"""

import runpy
import sys
import unittest

from gnuradio import gr, rdma
from qa_helper import skip
from scale_python import scale


def make():
    """The block, or None and why there is no GPU."""
    try:
        return scale(factor=0.5), ""
    except (ValueError, rdma.CudaError) as error:
        return None, str(error)


class own_block(unittest.TestCase):
    def test_base_class_is_ours(self):
        self.assertTrue(issubclass(scale, rdma.device_block))
        self.assertTrue(issubclass(scale, gr.block))
        with self.assertRaisesRegex(TypeError, "No constructor"):
            rdma.device_block()

    def test_help_tells_the_two_methods(self):
        self.assertIn("own binding", rdma.device_block.__doc__)
        self.assertIn("cuda:0", rdma.device_block.device.__doc__)
        self.assertIn("ended its stream", rdma.device_block.failure.__doc__)

    def test_our_exceptions_come_out_of_its_constructor(self):
        with self.assertRaisesRegex(ValueError, "memory='host': this block needs a GPU"):
            scale(factor=0.5, memory="host")
        with self.assertRaisesRegex(ValueError, "memory='gpu7': auto, host, or cuda:"):
            scale(factor=0.5, memory="gpu7")

    def test_tells_its_gpu_or_why_there_is_none(self):
        block, why = make()
        if block is None:
            self.assertRegex(why, "memory='auto': this block needs a GPU: .+")
        else:
            self.assertEqual(block.device(), "cuda:0")
            self.assertEqual(block.failure(), "")


if __name__ == "__main__":
    example = sys.argv.pop()
    if "--gpu" in sys.argv:
        reason = make()[1]
        if reason:
            skip("gpu", reason)
        runpy.run_path(example, run_name="__main__")
    else:
        unittest.main(verbosity=2)
