# SPDX-License-Identifier: GPL-3.0-or-later
"""What the Python tests share: skips that show, waiting for conditions, small blocks."""

import collections
import os
import socket
import subprocess
import sys
import threading
import time
import unittest

import numpy as np
import pmt
from gnuradio import gr

# How many times slower than usual all is here, as under a tool.
PATIENCE = max(1, int(os.environ.get("RDMA_PATIENCE") or 1))

ROCE_PORT = 4791


def skip(need, reason):
    """End as skipped (77); as failed if RDMA_REQUIRE names what is needed."""
    print("SKIP (%s): %s" % (need, reason), flush=True)
    sys.exit(1 if need in os.environ.get("RDMA_REQUIRE", "").split(",") else 77)


def free(address):
    """True if the RoCEv2 port of the address can be had."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, ROCE_PORT))
        except OSError:
            return False
    return True


def need_addresses(*addresses):
    """Loopback addresses of the test's own. Another build may be running the same test."""
    for address in addresses:
        try:
            until(lambda: free(address), "%s is free" % address, timeout=60)
        except AssertionError as error:
            skip("loopback", str(error))


def program():
    """Path of gr-rdma."""
    return os.environ.get("RDMA_PROGRAM", "")


def until(condition, what, timeout=20):
    """Wait for condition() to be true; its value."""
    timeout *= PATIENCE
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("not within %g s: %s" % (timeout, what))
        time.sleep(0.002)


def ready(source):
    """Slots are on offer. A static connection is connected once its peer has spoken."""
    return source.state() in ("connecting", "connected")


def bound(address):
    """True if a process of this machine holds the RoCEv2 port of the address."""
    wanted = "%08X:%04X" % (int.from_bytes(socket.inet_aton(address), sys.byteorder), ROCE_PORT)
    with open("/proc/net/udp", encoding="ascii") as table:
        return any(line.split()[1] == wanted for line in table)


def start_peer(*arguments):
    """qa_roce_peer.py in a process of its own, sending until it is killed."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "qa_roce_peer.py")
    return subprocess.Popen([sys.executable, script, *map(str, arguments)])


def end_process(process):
    process.kill()
    process.wait()


seen_tag = collections.namedtuple("seen_tag", "offset key value address")


class tap(gr.sync_block):
    """Keeps a stream's bytes and tags, and the address at which each tagged item was read."""

    def __init__(self, item_bytes, hold=False):
        self.item = np.dtype((np.void, item_bytes)) if item_bytes > 1 else np.dtype(np.uint8)
        gr.sync_block.__init__(self, "tap", [(np.uint8, item_bytes)], None)
        self.item_bytes = item_bytes
        self.chunks = []
        self.tags = []
        self.items = 0
        self.open = threading.Event()
        if not hold:
            self.open.set()

    def work(self, input_items, output_items):
        data = input_items[0]
        count = len(data)
        if not self.open.wait(0.01):
            return 0
        begin = self.nitems_read(0)
        base = data.__array_interface__["data"][0]
        for tag in self.get_tags_in_window(0, 0, count):
            self.tags.append(seen_tag(tag.offset, str(tag.key), pmt.to_python(tag.value),
                                      base + (tag.offset - begin) * self.item_bytes))
        self.chunks.append(data.tobytes())
        self.items += count
        return count

    def bytes(self):
        return b"".join(self.chunks)

    def values(self, key):
        """{offset: value} of one key."""
        return {tag.offset: tag.value for tag in self.tags if tag.key == key}


class messages(gr.basic_block):
    """Keeps what arrives on its message port, as Python objects."""

    def __init__(self):
        gr.basic_block.__init__(self, "messages", None, None)
        self.received = []
        self.message_port_register_in(pmt.intern("in"))
        self.set_msg_handler(pmt.intern("in"), self.handle)

    def handle(self, message):
        self.received.append(pmt.to_python(message))


class flowgraph:
    """`with flowgraph((source, tap), ...)`: runs while the block runs."""

    def __init__(self, *connections, status=None):
        self.top = gr.top_block()
        for source, sink in connections:
            self.top.connect(source, sink)
        if status:
            self.top.msg_connect(status[0], "status", status[1], "in")

    def __enter__(self):
        self.top.start()
        return self.top

    def __exit__(self, *exception):
        self.top.stop()
        self.top.wait()


def main(*addresses, with_program=False):
    """Run the caller's tests, once it is certain that what they need can be had."""
    need_addresses(*addresses)
    if with_program and not os.path.exists(program()):
        skip("loopback", "RDMA_PROGRAM does not name the program gr-rdma: '%s'" % program())
    unittest.main(verbosity=2)
