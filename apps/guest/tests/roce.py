# SPDX-License-Identifier: GPL-3.0-or-later
"""RoCEv2 packets over IPv4 by hand, to send what no driver would."""
import ctypes
import glob
import os
import pathlib
import socket
import struct
import time
import zlib

PORT = 4791
PKEY = 0xffff
FIRST, MIDDLE, LAST, LAST_IMMEDIATE, ONLY, ONLY_IMMEDIATE = range(6)  # SEND, the lower five bits
RC, UC, UD = 0x00, 0x20, 0x60  # the upper three bits
ACKNOWLEDGE = 0x11
CLONE_NEWNET = 0x40000000


def packet(opcode, qpn, psn, payload=b"", ack=False, immediate=None, pkey=PKEY):
    """BTH to payload with its pad, without the ICRC."""
    pad = -len(payload) % 4
    head = struct.pack(">BBHII", opcode, 0x40 | pad << 4, pkey, qpn,
                       (psn & 0xffffff) | (0x80000000 if ack else 0))
    if immediate is not None:
        head += struct.pack(">I", immediate)
    return head + payload + bytes(pad)


def icrc(source, destination, data, source_port=PORT):
    """Of a datagram that Linux sends from an unconnected socket with DF: identification 0."""
    size = len(data) + 4
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0xff, 28 + size, 0, 0x4000, 0xff, 17, 0xffff,
                     socket.inet_aton(source), socket.inet_aton(destination))
    udp = struct.pack(">HHHH", source_port, PORT, 8 + size, 0xffff)
    masked = b"\xff" * 8 + ip + udp + data[:4] + b"\xff" + data[5:]
    return struct.pack("<I", zlib.crc32(masked))


class Socket:
    """The RoCE port of an address, in a network namespace made by `ip netns`."""

    def __init__(self, address, namespace):
        libc = ctypes.CDLL(None, use_errno=True)
        with open("/proc/self/ns/net") as own, open(f"/run/netns/{namespace}") as other:
            if libc.setns(other.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            if libc.setns(own.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
        self.socket.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER, IP_PMTUDISC_DO
        self.socket.bind((address, PORT))
        self.address = address

    def send(self, peer, data, crc=None):
        self.socket.sendto(data + (crc or icrc(self.address, peer, data)), (peer, PORT))

    def receive(self, peer, seconds):
        """The next datagram from the peer, or None."""
        self.socket.settimeout(seconds)
        try:
            while True:
                data, sender = self.socket.recvfrom(65536)
                if sender[0] == peer:
                    return data
        except TimeoutError:
            return None


class Acknowledge:
    """An ACK or NAK, without what each responder may choose: its credits."""

    def __init__(self, data):
        self.opcode, _, _, self.qpn, self.psn = struct.unpack_from(">BBHII", data)
        self.psn &= 0xffffff
        aeth = struct.unpack_from(">I", data, 12)[0]
        syndrome, self.msn = aeth >> 24, aeth & 0xffffff
        kind = {0: "ACK", 1: "RNR NAK", 3: "NAK"}.get(syndrome >> 5, "?")
        self.kind = kind + (f" {syndrome & 31}" if kind == "NAK" else "")

    def __repr__(self):
        return f"{self.kind} of PSN {self.psn:#x}, MSN {self.msn}"


def soft(*command):
    """The command line that runs in the namespace of softroce."""
    return ["ip", "netns", "exec", "soft", *command]


def program():
    return os.environ["GR_RDMA"]


def receives(process):
    """Has this gr-rdma receive posted its receives? The block's thread runs when it has."""
    names = glob.glob(f"/proc/{process.pid}/task/*/comm")
    return any("rdma_source" in pathlib.Path(name).read_text() for name in names)


def wait_for(seconds, condition, process):
    """Until condition() is true or the process has ended; raises at the end of its time."""
    end = time.monotonic() + seconds
    while not condition() and process.poll() is None:
        if time.monotonic() > end:
            raise TimeoutError(f"did not come about in {seconds} s: {process.args}")
        time.sleep(0.05)
