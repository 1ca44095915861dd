#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""rdma.source on rxe, hundreds of beginnings and ends: descriptors, memory, and what the device holds
stay level. RDMA_TURNS is how many; a connection takes half a second on an emulated processor, so
there are fewer of these unless it is given."""

import os
import re
import subprocess
import time
import unittest

import guest_helper
from guest_helper import RXE, RXE_TOO, listening
from gnuradio import blocks
import pyverbs.cm_enums as cm
from pyverbs.cmid import AddrInfo, CMID
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QPCap, QPInitAttr
from qa_helper import until

WARM_UP = 20
STARTS = int(os.environ.get("RDMA_TURNS", 500))
CONNECTIONS = int(os.environ.get("RDMA_TURNS", 50))


def resident_kib():
    with open("/proc/self/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s*(\d+)", status.read())[1])


def on_device():
    """How many queue pairs, memory regions and so on it holds."""
    return subprocess.run(["rdma", "resource", "show"], capture_output=True, text=True, check=True).stdout


def level():
    return {"descriptors": len(os.listdir("/proc/self/fd")),
            "threads": len(os.listdir("/proc/self/task")), "device": on_device()}


def settled(measure):
    """What is measured, once it has stayed the same for a while: threads come and go at a new
    connection."""
    seen = [measure()]

    def same():
        time.sleep(0.02)
        seen.append(measure())
        return len(seen) > 10 and all(value == seen[-1] for value in seen[-10:])
    until(same, "a level that stays")
    return seen[-1]


class again_and_again(unittest.TestCase):
    def turns(self, count, turn):
        """What was held after the first few turns is what is held after the last."""
        for _ in range(WARM_UP):
            turn()
        before, memory = settled(level), resident_kib()
        for _ in range(count - WARM_UP):
            turn()
        self.assertEqual(settled(level), before)
        # A leak of one page a turn would be 2 MiB.
        self.assertLess(resident_kib() - memory, 1024)

    def test_start_and_stop(self):
        at = listening(sink=blocks.null_sink(1))

        def turn():
            with at:
                self.assertIn(at.source.state(), ("connecting", "connected"))
        self.turns(STARTS, turn)

    def test_connect_and_disconnect(self):
        # Each time with a message, so that the block does not wait longer and longer.
        def turn():
            done = at.source.counters()["messages_received"]
            caller = self.call()
            region = caller.reg_msgs(64)
            caller.post_send(region)
            self.assertEqual(caller.get_send_comp().status, 0)
            until(lambda: at.source.counters()["messages_received"] > done, "the message")
            begun = at.source.counters()["reconnects"]
            caller.disconnect()
            region.close()
            caller.close()
            until(lambda: at.source.counters()["reconnects"] > begun, "the next connection's beginning")
        with listening(sink=blocks.null_sink(1)) as at:
            self.turns(CONNECTIONS, turn)

    def call(self):
        """A connection, as soon as the block listens again."""
        def attempt():
            to = AddrInfo(src=RXE_TOO, dst=RXE, dst_service="18515", port_space=cm.RDMA_PS_TCP)
            caller = CMID(creator=to, qp_init_attr=QPInitAttr(cap=QPCap(max_recv_wr=1)))
            try:
                caller.connect()
            except PyverbsRDMAError:
                caller.close()
                return None
            return caller
        return until(attempt, "a connection")


if __name__ == "__main__":
    guest_helper.second_address()
    unittest.main(verbosity=2)
