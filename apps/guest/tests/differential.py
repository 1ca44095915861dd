#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""One sender, two responders: the kernel's rxe and softroce get the same packets one by one, and
have to answer alike and to deliver the same bytes.

Credits apart, each answer is compared in kind, PSN and MSN. rxe is driven by pyverbs, softroce
by the program's receive.
"""
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time

import roce
from pyverbs import enums
from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import RecvWR, SGE

SENDER, RXE, SOFTROCE = "10.0.0.2", "10.0.0.1", "10.0.0.3"
OWN_QPN = 0x77  # the sender's, which nobody asks about
MTU = 1024
SLOT = 8192
SLOTS = 16
QUIET_S = 0.1  # silence: that long nothing comes after a packet that asks for no answer
DEADLINE_S = 20


def gid_text(address):
    numbers = [int(number) for number in address.split(".")]
    return "0000:" * 5 + "ffff:{:02x}{:02x}:{:02x}{:02x}".format(*numbers)


class Rxe:
    """A queue pair of rxe0 with receives posted."""
    address = RXE

    def __init__(self, context, service, psn):
        kind = {"rc": enums.IBV_QPT_RC, "uc": enums.IBV_QPT_UC}[service]
        self.pd = PD(context)
        self.cq = CQ(context, SLOTS)
        self.mr = MR(self.pd, SLOT * SLOTS, enums.IBV_ACCESS_LOCAL_WRITE)
        self.qp = QP(self.pd, QPInitAttr(qp_type=kind, scq=self.cq, rcq=self.cq,
                                         cap=QPCap(max_recv_wr=SLOTS)), QPAttr())
        self.qpn = self.qp.qp_num
        for slot in range(SLOTS):
            sge = SGE(self.mr.buf + slot * SLOT, SLOT, self.mr.lkey)
            self.qp.post_recv(RecvWR(slot, sg=[sge], num_sge=1))
        attributes = QPAttr(port_num=1)
        attributes.path_mtu = enums.IBV_MTU_1024
        attributes.dest_qp_num = OWN_QPN
        attributes.rq_psn = psn
        attributes.min_rnr_timer = 12
        attributes.max_dest_rd_atomic = 1
        route = GlobalRoute(dgid=GID(gid_text(SENDER)), sgid_index=self.gid_index(context))
        attributes.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
        self.qp.to_rtr(attributes)

    @staticmethod
    def gid_index(context):
        for index in range(16):
            if context.query_gid(1, index).gid == gid_text(RXE):
                return index
        raise LookupError("rxe0 has no GID of " + RXE)

    def delivered(self):
        data = b""
        while True:
            count, completions = self.cq.poll()
            if count == 0:
                return data
            for completion in completions:
                if completion.status == enums.IBV_WC_SUCCESS:
                    data += self.mr.read(completion.byte_len, completion.wr_id * SLOT)

    def close(self):
        for thing in (self.qp, self.cq, self.mr, self.pd):
            thing.close()


class Softroce:
    """The program in its namespace, on a second address."""
    address = SOFTROCE
    qpn = 0x12

    def __init__(self, service, psn):
        self.folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.folder.name, "got")
        self.log = open(os.path.join(self.folder.name, "log"), "w+")
        self.process = subprocess.Popen(
            roce.soft(roce.program(), "receive", "--json", "--sample", "byte", "--source", SOFTROCE,
                      "--connect", SENDER, "--qpn", hex(self.qpn), "--remote-qpn", hex(OWN_QPN),
                      "--remote-psn", hex(psn), "--service", service, "--mtu", str(MTU),
                      "--message-bytes", str(SLOT), "--buffers", str(SLOTS), "--out", self.file),
            stdout=self.log, stderr=self.log)

    def ready(self):
        roce.wait_for(DEADLINE_S, lambda: roce.receives(self.process), self.process)
        if self.process.poll() is not None:
            raise RuntimeError("softroce did not start: " + self.said())

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def delivered(self, size, seconds):
        """The file when it has that many bytes, or after that time: the program's writes are
        buffered."""
        with contextlib.suppress(TimeoutError):
            roce.wait_for(seconds, lambda: os.path.getsize(self.file) >= size, self.process)
        self.process.send_signal(signal.SIGINT)
        self.process.wait(DEADLINE_S)
        with open(self.file, "rb") as file:
            return file.read()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.folder.cleanup()


def fill(seed, size):
    return bytes((seed * 37 + i * 7 + (i >> 8)) & 255 for i in range(size))


def play(port, responder, steps):
    """Sends the steps one by one, waiting where one asks for an answer. Returns the answers."""
    answers = []
    for opcode, psn, size, options in steps:
        options = dict(options)
        wrong_crc = options.pop("wrong_crc", False)
        qpn = options.pop("qpn", responder.qpn)
        data = roce.packet(opcode, qpn, psn, fill(psn, size), **options)
        port.send(responder.address, data, b"\0\1\2\3" if wrong_crc else None)
        got = []
        asked = options.get("ack")
        while answer := port.receive(responder.address, DEADLINE_S if asked else QUIET_S):
            got.append(repr(roce.Acknowledge(answer)))
            if asked:
                break
        answers.append(", ".join(got) or "silence")
    return answers


def rc(kind, psn, size, **options):
    return (roce.RC | kind, psn, size, options)


def uc(kind, psn, size, **options):
    return (roce.UC | kind, psn, size, options)


def message(make, psn, packets=3, last=100, ack=True):
    """FIRST, MIDDLEs, LAST, the last one asking for an acknowledgement."""
    return [make(roce.FIRST, psn, MTU),
            *[make(roce.MIDDLE, psn + i, MTU) for i in range(1, packets - 1)],
            make(roce.LAST, psn + packets - 1, last, ack=ack)]


# (what, service, first PSN, steps, what softroce has to do otherwise: {step: answer, "bytes": ...})
# Cases with "ends" leave a dead connection; after the others a last, long message has to come
# through, which also pushes all that was delivered before it out of the program's buffer.
CASES = (
    ("messages of one and of several packets", "rc", 10,
     [rc(roce.ONLY, 10, 4, ack=True), *message(rc, 11), rc(roce.ONLY, 14, MTU, ack=True),
      *message(rc, 15, packets=4, last=MTU)], {}),
    ("lengths that need a pad, and none at all", "rc", 0,
     [rc(roce.ONLY, 0, 1, ack=True), rc(roce.ONLY, 1, 2, ack=True), rc(roce.ONLY, 2, 3, ack=True),
      rc(roce.ONLY, 3, 0, ack=True), *message(rc, 4, last=1)], {}),
    ("immediate data", "rc", 5,
     [rc(roce.ONLY_IMMEDIATE, 5, 64, ack=True, immediate=0x01020304),
      rc(roce.FIRST, 6, MTU), rc(roce.LAST_IMMEDIATE, 7, 8, ack=True, immediate=7)], {}),
    ("PSNs that wrap", "rc", 0xfffffe,
     [*message(rc, 0xfffffe, packets=4), *message(rc, 0x1000002)], {}),
    ("duplicates", "rc", 100,
     [rc(roce.ONLY, 100, 16, ack=True), rc(roce.ONLY, 100, 16, ack=True), *message(rc, 101),
      rc(roce.LAST, 103, 100, ack=True), rc(roce.ONLY, 104, 20, ack=True)], {}),
    ("a gap: one NAK, then silence until it is filled", "rc", 50,
     [rc(roce.ONLY, 50, 16, ack=True), rc(roce.ONLY, 52, 16, ack=True), rc(roce.ONLY, 53, 16),
      rc(roce.ONLY, 51, 16, ack=True), rc(roce.ONLY, 52, 16, ack=True)], {}),
    ("a gap within a message", "rc", 50,
     [rc(roce.FIRST, 50, MTU), rc(roce.LAST, 52, 10, ack=True), rc(roce.MIDDLE, 51, MTU),
      rc(roce.LAST, 52, 10, ack=True)], {}),
    ("a MIDDLE without a FIRST", "rc", 20,
     [rc(roce.ONLY, 20, 8, ack=True), rc(roce.MIDDLE, 21, MTU, ack=True),
      rc(roce.ONLY, 22, 8)], {"ends": True}),
    ("a FIRST within a message", "rc", 20,
     [rc(roce.FIRST, 20, MTU), rc(roce.FIRST, 21, MTU, ack=True), rc(roce.ONLY, 22, 8)],
     {"ends": True}),
    # The specification wants MIDDLEs to be full; rxe does not look.
    ("a MIDDLE that is short is refused", "rc", 20,
     [rc(roce.FIRST, 20, MTU), rc(roce.MIDDLE, 21, 100, ack=True), rc(roce.LAST, 22, 8)],
     {1: "NAK 1 of PSN 0x15, MSN 0", "bytes": b"", "ends": True}),
    # rxe says "remote operational error" where the specification, and NICs, call it invalid.
    ("a message longer than its buffer is refused", "rc", 0,
     [*[rc(roce.FIRST if i == 0 else roce.MIDDLE, i, MTU) for i in range(8)],
      rc(roce.LAST, 8, 4, ack=True), rc(roce.ONLY, 9, 4)],
     {8: "NAK 1 of PSN 0x8, MSN 0", "ends": True}),
    ("a wrong ICRC, then the right one", "rc", 30,
     [rc(roce.ONLY, 30, 40, wrong_crc=True), rc(roce.ONLY, 30, 40, ack=True)], {}),
    ("a queue pair that is not there", "rc", 30,
     [rc(roce.ONLY, 30, 40, qpn=0xabcde), rc(roce.ONLY, 30, 40, ack=True)], {}),
    ("another partition's P_Key, then a limited member's of the default one", "rc", 30,
     [rc(roce.ONLY, 30, 40, pkey=0x1234), rc(roce.ONLY, 30, 40, pkey=0x8000),
      rc(roce.ONLY, 30, 40, ack=True, pkey=0x7fff)], {}),
    ("UC's opcodes on an RC connection", "rc", 30,
     [uc(roce.ONLY, 30, 40), rc(roce.ONLY, 30, 40, ack=True)], {}),
    ("UC in order", "uc", 7,
     [uc(roce.ONLY, 7, 9), *message(uc, 8, ack=False), uc(roce.ONLY, 11, 3)], {}),
    # rxe loses the message behind a broken one: its first packet ends the broken one.
    ("UC, a gap within a message: it is dropped, the next one is not", "uc", 7,
     [uc(roce.FIRST, 7, MTU), uc(roce.LAST, 9, 30), *message(uc, 20, ack=False),
      uc(roce.ONLY, 23, 3)],
     {"bytes": fill(20, MTU) + fill(21, MTU) + fill(22, 100) + fill(23, 3)}),
    ("UC, a message that nothing has ended is followed by another", "uc", 7,
     [uc(roce.FIRST, 7, MTU), uc(roce.ONLY, 9, 30), uc(roce.ONLY, 10, 3)],
     {"bytes": fill(9, 30) + fill(10, 3)}),
)


def with_last(service, steps, own):
    """The case's steps with its last message, and the bytes of that."""
    if own.get("ends"):
        return steps, b""
    make = rc if service == "rc" else uc
    more = message(make, steps[-1][1] + 1, packets=6, ack=make is rc)
    return steps + more, b"".join(fill(psn, size) for _, psn, size, _ in more)


def run(context, port, case):
    """Returns the lines that say where softroce did not do as it has to; none if it did."""
    what, service, psn, steps, own = case
    steps, last = with_last(service, steps, own)
    softroce = Softroce(service, psn)  # gets ready meanwhile
    rxe = Rxe(context, service, psn)
    answers = play(port, rxe, steps)
    delivered = rxe.delivered()
    rxe.close()
    wanted = [own.get(index, answer) for index, answer in enumerate(answers)]
    wanted_bytes = own["bytes"] + last if "bytes" in own else delivered

    softroce.ready()
    own_answers = play(port, softroce, steps)
    before = len(wanted_bytes) - len(last)
    own_delivered = softroce.delivered(before + 1 if last else before, 10 if last else 1)
    softroce.close()
    if own_answers == wanted and own_delivered == wanted_bytes:
        return []
    return [f"FAIL: {what}: delivered {len(delivered)} bytes by rxe, {len(own_delivered)} by softroce,"
            f" {'as' if own_delivered == wanted_bytes else 'not what'} it has to"] + [
        f"    | opcode {step[0]:#04x} PSN {step[1]:#x}, {step[2]} bytes {step[3]}: rxe: {one};"
        f" softroce: {other}{'' if other == right else '; wanted: ' + right}"
        for step, one, other, right in zip(steps, answers, own_answers, wanted)]


def main():
    failed = 0
    subprocess.run(roce.soft("ip", "addr", "add", SOFTROCE + "/24", "dev", "v1"), check=True)
    port = roce.Socket(SENDER, "soft")
    with Context(name="rxe0") as context:
        for case in CASES:
            begin = time.monotonic()
            wrong = run(context, port, case)
            failed += bool(wrong)
            print("\n".join(wrong) or f"ok: {case[0]} ({time.monotonic() - begin:.0f} s)", flush=True)
    print(f"{len(CASES) - failed} of {len(CASES)} checks passed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
