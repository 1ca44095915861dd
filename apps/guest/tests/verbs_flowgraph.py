#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A flowgraph whose rdma.source is on rxe: bit for bit from either kind of sender, over a bad wire,
and what happens when the peer, the port or the address goes."""

import os
import tempfile
import unittest

import guest_helper
from guest_helper import MESSAGE, RXE, SOFT, awaits_a_sender, has_gid, listening, qpn, run, sender
from qa_helper import until


class with_a_file(unittest.TestCase):
    def setUp(self):
        guest_helper.second_address()
        file = tempfile.NamedTemporaryFile()
        self.addCleanup(file.close)
        self.file = file.name
        self.data = os.urandom(20 * MESSAGE)
        file.write(self.data)
        file.flush()

    def send(self, *arguments, **place):
        made = sender(*arguments, **place)
        self.addCleanup(made.close)
        return made

    def send_file(self, **place):
        self.send("--file", self.file, **place).ends()

    def arrives(self, at, size, seconds=30):
        try:
            until(lambda: at.sink.items >= size, f"{size} bytes", seconds)
        except AssertionError as error:
            self.fail(f"{error}; {at.sink.items} bytes came; {at.says()}")


class bit_for_bit(with_a_file):
    def test_from_softroce_and_from_rxe(self):
        with listening() as at:  # endpoint is "auto"
            self.assertRegex(at.source.description(), "verbs.*rxe0")
            self.send_file()
            self.arrives(at, len(self.data))
            until(awaits_a_sender, "another connection's beginning")
            self.send_file(on_rxe=True)
            self.arrives(at, 2 * len(self.data))
            self.assertEqual(at.sink.bytes(), 2 * self.data)
            gaps = [gap["reason"] for gap in at.sink.values("rx_gap").values()]
            self.assertEqual(gaps, ["reconnect"])

    def test_over_a_bad_wire(self):
        words = "root netem delay 1ms loss 3% duplicate 2% reorder 98% corrupt 2%".split()
        for place in ([], ["ip", "netns", "exec", "soft"]):
            device = "v1" if place else "v0"
            run(*place, "tc", "qdisc", "add", "dev", device, *words)
            self.addCleanup(run, *place, "tc", "qdisc", "del", "dev", device, "root")
        with listening() as at:
            self.send_file()
            self.arrives(at, len(self.data))
            self.assertEqual(at.sink.bytes(), self.data)


class coming_and_going(with_a_file):
    """The stream goes on with the next sender, behind a gap; the flowgraph has never stopped."""

    def endless(self, at, **place):
        made = self.send("--file", self.file, "--repeat", "0", **place)
        self.arrives(at, at.sink.items + 3 * MESSAGE)
        return made

    def goes_on(self, at, **place):
        """The next sender's file comes whole, and its first item carries the gap."""
        begin = at.sink.items
        self.assertEqual(begin % MESSAGE, 0)
        self.send_file(**place)
        self.arrives(at, begin + len(self.data))
        self.assertEqual(at.sink.bytes()[begin:], self.data)
        self.assertEqual(at.sink.values("rx_gap")[begin]["reason"], "reconnect")

    def test_sender_on_rxe_killed(self):
        with listening() as at:
            self.endless(at, on_rxe=True).close()
            until(awaits_a_sender, "another connection's beginning", 40)
            self.goes_on(at)

    def test_sender_on_softroce_killed(self):
        # Nothing tells: the receiver finds out when the next one calls.
        with listening() as at:
            self.endless(at).close()
            self.goes_on(at)

    def test_port_down_and_up(self):
        # Static: what rxe of Linux 6.1 has to send for the connection manager while its port is
        # down breaks that for good.
        own, pair = 0x11, dict(listen="", source=RXE, connect=SOFT, qpn=1, remote_qpn=0x11, mtu=4096)
        with listening(**pair) as at:
            first = qpn()
            words = ["--qpn", hex(own), "--mtu", "4096"]
            made = self.endless(at, static=[*words, "--remote-qpn", str(first)])
            run("ip", "link", "set", "v0", "down")
            try:
                until(lambda: at.source.counters()["reconnects"] > 0, "another connection", 40)
            finally:
                run("ip", "link", "set", "v0", "up")
            made.ends(status=1)
            until(lambda: qpn() not in (0, first), "another queue pair")
            until(lambda: at.source.state() == "connecting", "being ready")
            self.goes_on(at, static=[*words, "--remote-qpn", str(qpn())])

    def test_address_removed_and_given_back(self):
        with listening() as at:
            self.send_file()
            self.arrives(at, len(self.data))
            until(awaits_a_sender, "another connection's beginning", 40)
            run("ip", "addr", "del", RXE + "/24", "dev", "v0")
            until(lambda: not has_gid(RXE), "no GID of " + RXE)
            run("ip", "addr", "add", RXE + "/24", "dev", "v0")
            until(lambda: has_gid(RXE), "the GID again")
            until(awaits_a_sender, "a listener")
            self.goes_on(at)


if __name__ == "__main__":
    unittest.main(verbosity=2)
