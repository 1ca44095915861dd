#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares messages with the memory of a perftest program, given as its --mmap file.

usage: perftest_bytes.py from MEMORY FILE BYTES    FILE is what perftest has sent
       perftest_bytes.py to MEMORY FILE BYTES      FILE is what perftest has received

perftest walks through a page in steps of whole messages of BYTES, over and over; messages above a
page all lie in one place. So all that it sends is known, and of what it receives the last.
"""
import pathlib
import sys

PAGE = 4096


def main(direction, memory, file, size):
    size = int(size)
    memory, data = pathlib.Path(memory).read_bytes(), pathlib.Path(file).read_bytes()
    messages = [data[at:at + size] for at in range(0, len(data), size)]
    places = max(1, PAGE // size)
    if direction == "from":
        wrong = [i for i, message in enumerate(messages)
                 if message != memory[i % places * size:][:size]]
    else:
        wrong = [i for i in range(max(0, len(messages) - places), len(messages))
                 if memory.find(messages[i]) < 0]
    if wrong or not messages:
        sys.exit(f"of {len(messages)} messages of {size} bytes these differ: {wrong[:10]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
