# SPDX-License-Identifier: GPL-3.0-or-later
"""A sender of RoCEv2 UC messages for the tests. It shares no code with the library, so that
both would have to be wrong in the same way. InfiniBand spec vol. 1, 9.2 (BTH) and annexes
A17 (RoCEv2: UDP 4791, ICRC)."""

import socket
import struct
import sys
import time
import zlib

PORT = 4791
FIRST, MIDDLE, LAST, LAST_IMMEDIATE, ONLY, ONLY_IMMEDIATE = range(0x20, 0x26)


class uc_peer:
    """Sends messages from one address to the queue pair remote_qpn at another."""

    def __init__(self, source, connect, remote_qpn, psn=0, mtu=1024):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((source, 0))
        # Unconnected, with Don't Fragment: Linux then sends IP identification 0.
        self.source, self.destination = source, (connect, PORT)
        self.remote_qpn, self.psn, self.mtu = remote_qpn, psn, mtu

    def close(self):
        self.socket.close()

    def icrc(self, packet):
        """CRC-32 over the headers with what routers change set to ones."""
        udp_bytes = 8 + len(packet) + 4
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0xff, 20 + udp_bytes, 0, 0x4000, 0xff, 17,
                         0xffff, socket.inet_aton(self.source),
                         socket.inet_aton(self.destination[0]))
        udp = struct.pack("!HHHH", self.socket.getsockname()[1], PORT, udp_bytes, 0xffff)
        masked = packet[:4] + b"\xff" + packet[5:]
        return struct.pack("<I", zlib.crc32(b"\xff" * 8 + ip + udp + masked))

    def send_packet(self, opcode, payload, immediate=None, damage=False):
        pad = -len(payload) % 4
        header = struct.pack("!BBHII", opcode, 0x40 | pad << 4, 0xffff, self.remote_qpn, self.psn)
        if immediate is not None:
            header += struct.pack("!I", immediate)
        packet = header + payload + b"\0" * pad
        icrc = self.icrc(packet)
        if damage:
            icrc = bytes(byte ^ 0xff for byte in icrc)
        self.socket.sendto(packet + icrc, self.destination)
        self.psn = (self.psn + 1) & 0xffffff

    def send(self, message, immediate=None):
        """One message, in packets of the MTU."""
        pieces = [message[at:at + self.mtu] for at in range(0, len(message), self.mtu)] or [b""]
        if len(pieces) == 1:
            self.send_packet(ONLY if immediate is None else ONLY_IMMEDIATE, message, immediate)
            return
        self.send_packet(FIRST, pieces[0])
        for piece in pieces[1:-1]:
            self.send_packet(MIDDLE, piece)
        self.send_packet(LAST if immediate is None else LAST_IMMEDIATE, pieces[-1], immediate)

    def lose(self, packets):
        """As if the network had dropped them."""
        self.psn = (self.psn + packets) & 0xffffff


def main():
    """qa_roce_peer.py SOURCE CONNECT QPN MESSAGE_BYTES: a ramp of bytes until killed."""
    source, connect, qpn, message_bytes = sys.argv[1:]
    peer = uc_peer(source, connect, int(qpn))
    message = (bytes(range(256)) * (int(message_bytes) // 256 + 1))[:int(message_bytes)]
    while True:
        peer.send(message)
        time.sleep(0.001)


if __name__ == "__main__":
    main()
