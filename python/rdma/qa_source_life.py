# SPDX-License-Identifier: GPL-3.0-or-later
"""The source's beginnings and ends: stop from any state, again and again, with the
interpreter, and beside child processes."""

import errno
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

from gnuradio import blocks, gr, rdma
from qa_helper import ROCE_PORT, end_process, flowgraph, main, ready, start_peer, tap, until
from qa_roce_peer import uc_peer

OWN, PEER = "127.5.4.1", "127.5.4.2"
QPN, PEER_QPN = 0x31, 0x32
BASE = dict(message_bytes=4096, buffers=4, source=OWN, connect=PEER, qpn=QPN,
            remote_qpn=PEER_QPN, service="uc")


def plus_one(number):
    return number + 1


class with_a_peer(unittest.TestCase):
    """A peer that sends until the case ends."""

    def setUp(self):
        self.peer = start_peer(PEER, OWN, QPN, 4096)
        self.addCleanup(end_process, self.peer)


class stopping(with_a_peer):
    def stops(self, condition, what, sink, **parameters):
        """Within the second that the block promises."""
        source, top = rdma.source(**{**BASE, **parameters}), gr.top_block()
        top.connect(source, sink)
        top.start()
        until(lambda: condition(source), what)
        begin = time.monotonic()
        top.stop()
        top.wait()
        self.assertLess(time.monotonic() - begin, 1)
        return source

    def test_before_anything_came(self):
        end_process(self.peer)
        for service in ("uc", "rc"):
            for wait in ("hybrid", "busy", "event"):
                with self.subTest(service=service, wait=wait):
                    source = self.stops(ready, "ready", blocks.null_sink(4), service=service,
                                        wait=wait)
                    self.assertEqual(source.state(), "idle")

    def test_mid_stream(self):
        self.stops(lambda s: s.counters()["messages_received"] > 3, "messages",
                   blocks.null_sink(4))

    def test_mid_message(self):
        end_process(self.peer)
        self.peer = start_peer(PEER, OWN, QPN, 64 << 20)
        self.addCleanup(end_process, self.peer)
        self.stops(lambda s: s.counters()["packets_received"] > 3, "packets",
                   blocks.null_sink(4), message_bytes=64 << 20, buffers=2)

    def test_downstream_full(self):
        self.stops(lambda s: s.counters()["receive_queue_empty"] > 0, "a full ring",
                   tap(4, hold=True))

    def test_before_start_and_twice(self):
        source, top = rdma.source(**BASE), gr.top_block()
        top.connect(source, blocks.null_sink(4))
        top.stop()
        top.start()
        top.stop()
        top.stop()
        top.wait()
        source.stop()
        source.stop()


class ending(with_a_peer):
    """The flowgraph ends by itself when its sink has had enough."""

    def ends(self, source, items):
        top = gr.top_block()
        top.connect(source, blocks.head(4, items), blocks.null_sink(4))
        top.start()
        ended = threading.Thread(target=top.wait, daemon=True)
        ended.start()
        ended.join(20)
        self.assertFalse(ended.is_alive())

    def test_inside_a_message(self):
        source = rdma.source(**BASE)
        self.ends(source, 10000)
        self.ends(source, 10000)

    def test_at_the_end_of_a_message(self):
        self.ends(rdma.source(**BASE), 1024)

    def test_while_the_peer_is_silent(self):
        end_process(self.peer)
        source = rdma.source(**BASE)
        peer = uc_peer(PEER, OWN, QPN)
        self.addCleanup(peer.close)
        sender = threading.Thread(target=lambda: until(lambda: ready(source), "ready") and
                                  peer.send(bytes(4096)))
        sender.start()
        self.ends(source, 100)
        sender.join()


class starting_again(with_a_peer):
    def test_twenty_times(self):
        source, sink = rdma.source(**BASE), tap(4)
        top = gr.top_block()
        top.connect(source, sink)
        descriptors = []
        for round_ in range(20):
            begin = sink.items
            top.start()
            until(lambda: sink.items >= begin + 2048, "items in round %d" % round_)
            top.stop()
            top.wait()
            descriptors.append(len(os.listdir("/proc/self/fd")))
        self.assertEqual(descriptors[1:], descriptors[:1] * 19)

    def test_the_restart_is_a_tagged_gap(self):
        end_process(self.peer)
        source = rdma.source(**BASE)
        for restart in (False, True):
            sink, top = tap(4), gr.top_block()
            top.connect(source, sink)
            top.start()
            until(lambda: ready(source), "ready")
            peer = uc_peer(PEER, OWN, QPN)
            peer.send(bytes(4096))
            until(lambda: sink.items >= 1024, "items")
            peer.close()
            top.stop()
            top.wait()
            reasons = {offset: gap["reason"] for offset, gap in sink.values("rx_gap").items()}
            self.assertEqual(reasons, {0: "reconnect"} if restart else {})
        self.assertEqual(source.counters()["messages_received"], 2)

    def test_dropping_a_running_flowgraph(self):
        for _ in range(5):
            source, top = rdma.source(**BASE), gr.top_block()
            top.connect(source, blocks.null_sink(4))
            top.start()
            until(lambda: source.counters()["messages_received"] > 0, "messages")
            del top, source


class failing_to_start(unittest.TestCase):
    """In the thread that asked for it, as Python's own kind of exception."""

    def failed(self, error, *texts, **parameters):
        top = gr.top_block()
        with self.assertRaises(error) as raised:
            source = rdma.source(**{**BASE, **parameters})
            top.connect(source, blocks.null_sink(source.output_signature().sizeof_stream_item(0)))
            top.start()
        for expected in texts:
            self.assertIn(expected, str(raised.exception))
        top.stop()
        top.wait()
        return raised.exception

    def test_port_in_use(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind((OWN, ROCE_PORT))
            error = self.failed(OSError, OWN, str(ROCE_PORT), "in use")
            self.assertEqual(error.errno, errno.EADDRINUSE)
        with flowgraph((rdma.source(**BASE), blocks.null_sink(4))):
            pass

    def test_address_of_another_machine(self):
        self.failed(ValueError, "source", "192.0.2.1", "127.0.0.1", source="192.0.2.1")

    def test_no_address_at_all(self):
        self.failed(ValueError, "source='127..1'", "address", source="127..1")
        self.failed(ValueError, "connect='no..where'", "address",
                    connect="no..where")

    def test_more_memory_than_there_is(self):
        self.failed(MemoryError, "4398046511104 bytes", "fewer or smaller buffers",
                    message_bytes=1 << 30, buffers=4096, sample="byte", vlen=1 << 20)


PROGRAM = """
import sys
from gnuradio import blocks, gr, rdma
source, top = rdma.source(**%r), gr.top_block()
top.connect(source, blocks.null_sink(4))
top.start()
while source.counters()["messages_received"] < 3:
    pass
%s
"""


class leaving_python(with_a_peer):
    """The flowgraph runs on when the interpreter ends, each time in a process of its own."""

    def leave(self, ending, code, text=""):
        result = subprocess.run([sys.executable, "-c", PROGRAM % (BASE, ending)],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                timeout=60)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(text, result.stderr)
        for bad in ("terminate called", "Segmentation", "AddressSanitizer", "Fatal Python"):
            self.assertNotIn(bad, result.stderr)

    def test_end_of_script(self):
        self.leave("", 0)

    def test_sys_exit(self):
        self.leave("sys.exit(3)", 3)

    def test_exception(self):
        self.leave("raise RuntimeError('on purpose')", 1, "on purpose")

    def test_exception_that_holds_the_flowgraph(self):
        self.leave("def main(top):\n    raise RuntimeError('on purpose')\nmain(top)", 1,
                   "on purpose")

    def test_flowgraph_that_a_daemon_thread_waits_for(self):
        self.leave("import threading\n"
                   "threading.Thread(target=top.wait, daemon=True).start()", 0)

    def test_flowgraph_that_python_never_destroys(self):
        self.leave("import ctypes; ctypes.pythonapi.Py_IncRef(ctypes.py_object(top))", 0)

    def test_flowgraph_in_a_cycle(self):
        self.leave("top.mine = [top, source]; del top, source", 0)

    def test_sigterm_ends_it_and_frees_the_address(self):
        process = subprocess.Popen([sys.executable, "-c",
                                    PROGRAM % (BASE, "print('up', flush=True); top.wait()")],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(end_process, process)
        self.addCleanup(process.stdout.close)
        self.assertIn("up\n", process.stdout)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(5), -signal.SIGTERM)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind((OWN, ROCE_PORT))


class beside_children(with_a_peer):
    """Child processes leave the stream alone, however they are made."""

    def streams_on(self, make_child):
        source, sink = rdma.source(**BASE), tap(4)
        with flowgraph((source, sink)):
            until(lambda: sink.items > 4096, "items")
            make_child()
            begin = sink.items
            until(lambda: sink.items > begin + 4096, "items after the child")
            self.assertEqual(source.state(), "connected")
        received = sink.bytes()
        self.assertEqual(received, bytes(range(256)) * (len(received) // 256))

    def test_subprocess(self):
        self.streams_on(lambda: subprocess.run(["true"], check=True))

    def test_fork(self):
        def fork():
            child = os.fork()
            if child == 0:
                os._exit(7)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)

        self.streams_on(fork)

    def test_spawn(self):
        def spawn():
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                self.assertEqual(pool.apply(plus_one, (41,)), 42)

        self.streams_on(spawn)


if __name__ == "__main__":
    main(OWN, PEER)
