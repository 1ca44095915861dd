# SPDX-License-Identifier: GPL-3.0-or-later
"""What the Python tests of the guest share: senders, the wire, a flowgraph that listens on rxe."""

import os
import re
import subprocess
import tempfile

from gnuradio import gr, rdma
from qa_helper import tap, until

RXE, RXE_TOO, SOFT = "10.0.0.1", "10.0.0.3", "10.0.0.2"
MESSAGE = 65536


def run(*command):
    subprocess.run(command, check=True)


def second_address():
    """RXE_TOO, on the same device: both ends of a connection may be on rxe."""
    run("ip", "addr", "replace", RXE_TOO + "/24", "dev", "v0")
    until(lambda: has_gid(RXE_TOO), "a GID of " + RXE_TOO)


def has_gid(address):
    digits = "".join(f"{int(part):02x}" for part in address.split("."))
    wanted = f"ffff:{digits[:4]}:{digits[4:]}"
    folder = "/sys/class/infiniband/rxe0/ports/1/gids"
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="ascii") as file:
            if file.read().strip().endswith(wanted):
                return True
    return False


def qpn():
    """The number of the only RC queue pair, which rxe has chosen; 0 if there is none."""
    show = subprocess.run(["rdma", "resource", "show", "qp"], capture_output=True, text=True, check=True)
    found = re.search(r"lqpn (\d+) .*type RC ", show.stdout)
    return int(found[1]) if found else 0


def awaits_a_sender():
    """Does somebody listen with a queue pair that nobody has yet? What has just lost its sender
    listens, too, and refuses the next one."""
    shown = [subprocess.run(["rdma", "resource", "show", what], capture_output=True, text=True,
                            check=True).stdout for what in ("cm_id", "qp")]
    return " state LISTEN " in shown[0] and "type RC state INIT" in shown[1]


class sender:
    """`gr-rdma send` to RXE: from softroce in its namespace, or with on_rxe from the same device;
    by the connection manager, or with the flags of a static connection."""

    def __init__(self, *arguments, on_rxe=False, static=()):
        place = ["--source", RXE_TOO] if on_rxe else ["--source", SOFT]
        command = [] if on_rxe else ["ip", "netns", "exec", "soft"]
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [*command, os.environ["GR_RDMA"], "send", "--connect", RXE, *place, "--sample", "byte",
             "--message-bytes", str(MESSAGE), "--json", *static, *arguments],
            stdout=self.log, stderr=self.log)

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def ends(self, status=0, seconds=60):
        seen = self.process.wait(seconds)
        assert status is None or seen == status, f"send ended with {seen}: {self.said()}"

    def close(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


class listening:
    """`with listening(...) as at:` a flowgraph of rdma.source on RXE and a tap, at.source, at.sink."""

    def __init__(self, sink=None, **parameters):
        words = dict(listen=RXE, sample="byte", message_bytes=MESSAGE, reconnect="always")
        self.source = rdma.source(**{**words, **parameters})
        self.sink = sink or tap(1)
        self.top = gr.top_block()
        self.top.connect(self.source, self.sink)

    def __enter__(self):
        self.top.start()
        return self

    def __exit__(self, *exception):
        self.top.stop()
        self.top.wait()

    def says(self):
        return f"{self.source.state()}: {self.source.status_text()}; {self.source.counters()}"
