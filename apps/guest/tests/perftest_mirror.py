#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The other end of a perftest program's TCP connection, for a static peer that is not perftest.

usage: perftest_mirror.py ADDRESS PORT QPN PSN TURN COMMAND ...

Waits for one client on ADDRESS and PORT, and says back all that it says, so it always agrees
about versions and MTU, but for its queue pair: there it answers with QPN, PSN and ADDRESS. The
client names its own again and again, to keep both in step: first of all, when it has connected
its queue pair, when it has posted its receives, and twice at the end. Before the answer number
TURN COMMAND is started, with @QPN@ and @PSN@ replaced by the client's numbers; if it receives, it
has to be ready. Ends with COMMAND's exit status.
"""
import contextlib
import re
import signal
import socket
import subprocess
import sys

import roce

# lid, outstanding reads, QPN, PSN, rkey, address, the GID's bytes
QUEUE_PAIR = re.compile(rb"([0-9a-f]{4}:[0-9a-f]{4}:)([0-9a-f]{6}):([0-9a-f]{6})"
                        rb"(:[0-9a-f]{8}:[0-9a-f]{16}:)((?:[0-9a-f]{2}:){16})")
DEADLINE_S = 30


def start(command, qpn, psn):
    numbers = {"@QPN@": f"0x{int(qpn, 16):x}", "@PSN@": f"0x{int(psn, 16):x}"}
    process = subprocess.Popen([numbers.get(word, word) for word in command])
    if "receive" in command:
        roce.wait_for(DEADLINE_S, lambda: roce.receives(process), process)
    return process


def main(address, port, qpn, psn, turn, *command):
    gid = bytes(10) + b"\xff\xff" + socket.inet_aton(address)
    gid = b"".join(b"%02x:" % byte for byte in gid)
    with socket.create_server((address, int(port))) as listener:
        print("mirror: listening", flush=True)
        connection, _ = listener.accept()
    process = None
    named = 0
    # A client that is content ends by resetting the connection.
    with connection, contextlib.suppress(ConnectionResetError):
        while said := connection.recv(65536):
            found = QUEUE_PAIR.match(said)
            if found:
                named += 1
                if named == int(turn):
                    process = start(command, found[2], found[3])
                own = b"%s%06x:%06x%s%s" % (found[1], int(qpn, 0), int(psn, 0), found[4], gid)
                said = own + said[found.end():]
            connection.sendall(said)
    if process is None:
        sys.exit(f"mirror: the client has named its queue pair {named} times, not {turn}")
    try:
        sys.exit(process.wait(DEADLINE_S))
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        process.wait(DEADLINE_S)
        sys.exit(f"mirror: the command did not end within {DEADLINE_S} s and was interrupted")


if __name__ == "__main__":
    main(*sys.argv[1:])
