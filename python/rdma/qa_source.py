# SPDX-License-Identifier: GPL-3.0-or-later
"""The source in a flowgraph: the bytes, the tags, the status messages."""

import hashlib
import subprocess
import tempfile
import unittest

import numpy as np
from gnuradio import rdma
from qa_helper import flowgraph, main, messages, program, ready, tap, until
from qa_roce_peer import uc_peer

OWN, PEER = "127.5.3.1", "127.5.3.2"
QPN, PEER_QPN = 0x21, 0x22


def make_source(**parameters):
    base = dict(sample="sc16", message_bytes=4096, buffers=8, service="uc", source=OWN,
                connect=PEER, qpn=QPN, remote_qpn=PEER_QPN)
    return rdma.source(**{**base, **parameters})


def noise(count, seed=1):
    return np.random.default_rng(seed).integers(0, 256, count, dtype=np.uint8).tobytes()


class source_case(unittest.TestCase):
    def run_messages(self, send, items, item_bytes=4, **parameters):
        """Receive what send(peer) sends, until that many items came. -> source, tap"""
        source, sink = make_source(**parameters), tap(item_bytes)
        peer = uc_peer(PEER, OWN, QPN)
        self.addCleanup(peer.close)
        with flowgraph((source, sink)):
            until(lambda: ready(source), "ready")
            send(peer)
            until(lambda: sink.items >= items, "%d items" % items)
        self.assertEqual(sink.items, items)
        return source, sink


class bytes_through_the_program(source_case):
    """From `gr-rdma send`, another implementation of sending than uc_peer."""

    def receive_file(self, connection, sending, **parameters):
        slot = parameters["message_bytes"]
        data = noise(3 * slot + 2 * slot // 3 // 4 * 4)
        slots = -(-len(data) // slot)
        source, sink = rdma.source(**connection, **parameters), tap(4)
        with tempfile.NamedTemporaryFile(suffix=".bin") as file:
            file.write(data)
            file.flush()
            with flowgraph((source, sink)) as top:
                until(lambda: ready(source), "ready")
                subprocess.run([program(), "send", "--quiet", "--file", file.name, "--sample",
                                "sc16", "--message-bytes", str(slot), "--rate", "20e6", *sending],
                               check=True, timeout=60)
                until(lambda: sink.items * 4 >= slots * slot, "all messages")
                if "listen" in connection:
                    top.wait()  # ends by itself: the sender has hung up
        received = sink.bytes()
        self.assertEqual(hashlib.sha256(received[:len(data)]).hexdigest(),
                         hashlib.sha256(data).hexdigest())
        self.assertEqual(received[len(data):], bytes(slots * slot - len(data)))
        self.assertEqual(sink.values("packet_len"),
                         {(slots - 1) * slot // 4: len(data) % slot // 4})
        self.assertEqual(sink.values("rx_gap"), {})

    def receive_static(self, service, message_bytes, mtu):
        self.receive_file(
            dict(source=OWN, connect=PEER, qpn=QPN, remote_qpn=PEER_QPN),
            ["--source", PEER, "--connect", OWN, "--qpn", str(PEER_QPN), "--remote-qpn", str(QPN),
             "--mtu", str(mtu), "--service", service],
            service=service, message_bytes=message_bytes, mtu=mtu)

    def test_reliable(self):
        self.receive_static("rc", 65536, 1024)
        self.receive_static("rc", 100000, 4096)

    def test_unreliable(self):
        self.receive_static("uc", 65536, 1024)
        self.receive_static("uc", 4096, 256)

    def test_listening(self):
        for service in ("rc", "uc"):
            with self.subTest(service):
                self.receive_file(dict(listen=OWN, peers=PEER),
                                  ["--source", PEER, "--connect", OWN, "--service", service],
                                  service=service, message_bytes=65536)


class tags(source_case):
    def test_address_is_that_of_the_first_item_for_every_reader(self):
        count, slot, buffers = 40, 4096, 8
        source, sinks = make_source(message_bytes=slot, buffers=buffers), [tap(4), tap(4)]
        peer = uc_peer(PEER, OWN, QPN)
        self.addCleanup(peer.close)
        with flowgraph(*((source, sink) for sink in sinks)):
            until(lambda: ready(source), "ready")
            for message in range(count):
                peer.send(noise(slot, message))
                until(lambda: min(s.items for s in sinks) >= (message + 1) * slot // 4, "message")
        for sink in sinks:
            found = [tag for tag in sink.tags if tag.key == "rx_buffer"]
            self.assertEqual([tag.offset for tag in found],
                             [n * slot // 4 for n in range(count)])
            first = found[0].value["address"] - found[0].value["slot"] * slot
            for sequence, tag in enumerate(found):
                # A reader may look through the second mapping of the same memory.
                self.assertIn(tag.address - tag.value["address"], (0, slot * buffers))
                self.assertEqual(tag.value["address"], first + tag.value["slot"] * slot)
                self.assertEqual(tag.value["bytes"], slot)
                self.assertEqual(tag.value["device"], "host")
                self.assertEqual(tag.value["sequence"], sequence)
                self.assertNotIn("immediate", tag.value)
                self.assertNotIn("header", tag.value)
            self.assertEqual(sink.bytes(), b"".join(noise(slot, n) for n in range(count)))

    def test_time_rate_and_frequency_on_the_first_item(self):
        _, sink = self.run_messages(lambda peer: [peer.send(noise(4096)) for _ in range(3)],
                                    3 * 1024, rate=2e6, freq=1090e6)
        self.assertEqual(sink.values("rx_rate"), {0: 2e6})
        self.assertEqual(sink.values("rx_freq"), {0: 1090e6})
        ((offset, (seconds, fraction)),) = sink.values("rx_time").items()
        self.assertEqual(offset, 0)
        self.assertIsInstance(seconds, int)
        self.assertGreaterEqual(fraction, 0)
        self.assertLess(fraction, 1)

    def test_unknown_rate_gives_no_rate_tag(self):
        _, sink = self.run_messages(lambda peer: peer.send(noise(4096)), 1024)
        self.assertEqual(sink.values("rx_rate"), {})

    def test_rate_and_frequency_may_change_on_the_way(self):
        source, sink = make_source(rate=1e6), tap(4)
        peer = uc_peer(PEER, OWN, QPN)
        self.addCleanup(peer.close)
        with flowgraph((source, sink)):
            until(lambda: ready(source), "ready")
            for message in range(3):
                peer.send(noise(4096))
                until(lambda: sink.items >= (message + 1) * 1024, "message")
                source.set_freq(100e6 + message)
                if message == 1:
                    source.set_rate(2e6)
            with self.assertRaises(ValueError):
                source.set_rate(-1)
        self.assertEqual(sink.values("rx_freq"), {1024: 100e6, 2048: 100e6 + 1})
        self.assertEqual(sink.values("rx_rate"), {0: 1e6, 2048: 2e6})

    def test_short_message_is_zero_filled_and_says_its_length(self):
        def send(peer):
            peer.send(b"\1" * 4096)
            peer.send(b"\2" * 100)
            peer.send(b"\3" * 4096)

        _, sink = self.run_messages(send, 3 * 1024)
        self.assertEqual(sink.bytes(),
                         b"\1" * 4096 + b"\2" * 100 + bytes(3996) + b"\3" * 4096)
        # The one behind it says its length too: there the zeros end.
        self.assertEqual(sink.values("packet_len"), {1024: 25, 2048: 1024})
        self.assertEqual([value["bytes"] for value in sink.values("rx_buffer").values()],
                         [4096, 100, 4096])

    def test_immediate(self):
        def send(peer):
            peer.send(noise(4096), immediate=0xdeadbeef)
            peer.send(noise(100), immediate=0)
            peer.send(noise(4096))

        _, sink = self.run_messages(send, 3 * 1024)
        found = list(sink.values("rx_buffer").values())
        self.assertEqual([value.get("immediate") for value in found], [0xdeadbeef, 0, None])

    def test_header_is_split_off(self):
        def send(peer):
            for n in range(20):
                peer.send(bytes([n]) * 28 + noise(4096, n))

        _, sink = self.run_messages(send, 20 * 1024, header_bytes=28, buffers=32)
        self.assertEqual(sink.bytes(), b"".join(noise(4096, n) for n in range(20)))
        self.assertEqual([bytes(value["header"]) for value in sink.values("rx_buffer").values()],
                         [bytes([n]) * 28 for n in range(20)])

    def test_gap_is_tagged_and_counted_and_gives_the_time_anew(self):
        def send(peer):
            peer.send(b"\1" * 4096)
            peer.lose(8)
            peer.send(b"\2" * 4096)

        source, sink = self.run_messages(send, 2 * 1024, rate=1e6)
        self.assertEqual(sink.bytes(), b"\1" * 4096 + b"\2" * 4096)
        ((offset, gap),) = sink.values("rx_gap").items()
        self.assertEqual(offset, 1024)
        self.assertEqual(gap["reason"], "packet_loss")
        self.assertEqual(set(gap), {"messages", "bytes", "reason"})
        self.assertEqual(sorted(sink.values("rx_time")), [0, 1024])
        self.assertEqual(source.counters()["gaps"], 1)
        self.assertEqual(source.counters()["packets_lost"], 8)

    def test_torn_message_never_appears(self):
        def send(peer):
            peer.send(b"\1" * 4096)
            peer.send_packet(0x20, b"\7" * 1024)  # first of four; the rest is lost
            peer.lose(3)
            peer.send(b"\2" * 4096)

        _, sink = self.run_messages(send, 2 * 1024)
        self.assertEqual(sink.bytes(), b"\1" * 4096 + b"\2" * 4096)
        self.assertEqual(list(sink.values("rx_gap")), [1024])

    def test_damaged_packet_is_counted_and_leaves_a_gap(self):
        def send(peer):
            peer.send(b"\1" * 4096)
            peer.send_packet(0x24, b"\7" * 1024, damage=True)
            peer.send(b"\2" * 4096)

        source, sink = self.run_messages(send, 2 * 1024)
        self.assertEqual(sink.bytes(), b"\1" * 4096 + b"\2" * 4096)
        self.assertEqual(source.counters()["dropped_icrc"], 1)
        self.assertEqual(list(sink.values("rx_gap")), [1024])

    def test_too_long_message_never_appears(self):
        def send(peer):
            peer.send(b"\1" * 4096)
            peer.send(b"\7" * 8192)
            peer.send(b"\2" * 4096)

        _, sink = self.run_messages(send, 2 * 1024)
        self.assertEqual(sink.bytes(), b"\1" * 4096 + b"\2" * 4096)
        ((offset, gap),) = sink.values("rx_gap").items()
        self.assertEqual((offset, gap["reason"]), (1024, "length_error"))

    def test_tags_can_be_thinned(self):
        def send(peer):
            for n in range(12):
                if n == 7:
                    peer.lose(4)
                peer.send(noise(4096, n))

        for tag_every, expected in ((3, {0, 3, 6, 7, 9}), (0, {0, 7})):
            _, sink = self.run_messages(send, 12 * 1024, tag_every=tag_every, buffers=16)
            found = {offset // 1024 for offset in sink.values("rx_buffer")}
            self.assertEqual(expected - found, set(), "tag_every=%d" % tag_every)
            self.assertLess(len(found), 8)


class status_port(source_case):
    def test_a_dict_once_a_second(self):
        source, sink, inbox = make_source(), tap(4), messages()
        peer = uc_peer(PEER, OWN, QPN)
        self.addCleanup(peer.close)
        with flowgraph((source, sink), status=(source, inbox)):
            until(lambda: ready(source), "ready")
            for n in range(5):
                peer.send(noise(4096, n))
            until(lambda: any(m["messages"] == 5 for m in inbox.received), "a status message")
            until(lambda: len(inbox.received) >= 2, "a second one")
            description = source.description()
        status = next(m for m in inbox.received if m["messages"] == 5)
        self.assertEqual(set(status), {"messages", "bytes", "gaps", "rnr", "queue_depth", "route",
                                       "state", "status_text", "description", "latency",
                                       "counters"})
        self.assertEqual((status["bytes"], status["gaps"], status["rnr"]), (5 * 4096, 0, 0))
        self.assertEqual(status["state"], "connected")
        self.assertEqual(status["description"], description)
        self.assertIn(OWN, description)
        self.assertEqual(status["counters"]["bytes_received"], 5 * 4096)
        self.assertEqual(set(status["counters"]), set(source.counters()))


if __name__ == "__main__":
    main(OWN, PEER, with_program=True)
