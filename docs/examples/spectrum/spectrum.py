#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Receive samples over RDMA and print where the strongest signal is.

Start it, then a sender in another terminal (both on this machine, no network card needed):

    python3 spectrum.py --rate 2e6 --freq 100e6
    gr-rdma send --scene --sample sc16 --rate 2e6 --source 127.0.0.2 --connect 127.0.0.1 \\
        --qpn 18 --remote-qpn 17

Expect one line per spectrum, --count of them, then a summary:

    1796025600.125000    100.199219 MHz   -20.9 dB
    ...
    313 messages, 20512768 bytes, gaps=0

The connection is static, as of FPGA senders: nobody tells the sender that the receiver has gone, and
it ends by saying that the peer stopped answering.

spectrum.grc is the same flowgraph for GNU Radio Companion.
"""

import argparse
import signal
import sys

import numpy as np
import pmt
from gnuradio import gr, rdma


class strongest_bin(gr.sync_block):
    """Prints time, frequency and power of the strongest bin of each spectrum."""

    def __init__(self, length, rate, freq, count):
        gr.sync_block.__init__(self, "strongest_bin", [(np.float32, length)], None)
        self.frequencies = freq + np.fft.fftshift(np.fft.fftfreq(length, 1 / rate))
        self.remaining = count

    def work(self, input_items, output_items):
        spectra = input_items[0][:self.remaining]
        times = {tag.offset: pmt.to_python(tag.value) for tag in
                 self.get_tags_in_window(0, 0, len(spectra), pmt.intern("rx_time"))}
        for at, spectrum in enumerate(spectra):
            seconds, fraction = times.get(self.nitems_read(0) + at, (0, 0.0))
            peak = int(np.argmax(spectrum))
            print("%d.%06d  %12.6f MHz  %6.1f dB" % (
                seconds, fraction * 1e6, self.frequencies[peak] / 1e6,
                10 * np.log10(spectrum[peak] + 1e-20)), flush=True)
        self.remaining -= len(spectra)
        return len(spectra) if self.remaining else -1  # -1: we are done


class spectrum(gr.top_block):
    """source -> spectrometer -> strongest_bin"""

    def __init__(self, options):
        gr.top_block.__init__(self, "Strongest signal")
        self.source = rdma.source(
            sample=options.sample,
            message_bytes=options.message_bytes,
            service=options.service,
            source=options.source,
            connect=options.connect,
            qpn=options.qpn,
            remote_qpn=options.remote_qpn,
            rate=options.rate,
            freq=options.freq)
        spectrometer = rdma.spectrometer(
            sample=options.sample,
            length=options.length,
            average=options.average,
            rate=options.rate)
        # A block written in Python lives only as long as Python holds it.
        self.sink = strongest_bin(options.length, options.rate, options.freq, options.count)
        self.connect(self.source, spectrometer, self.sink)


def parse_options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default="127.0.0.1", help="own address")
    parser.add_argument("--connect", default="127.0.0.2", help="the sender's address")
    parser.add_argument("--service", default="rc", choices=("rc", "uc"))
    parser.add_argument("--qpn", type=int, default=17, help="own queue pair number")
    parser.add_argument("--remote-qpn", type=int, default=18, help="the sender's")
    parser.add_argument("--sample", default="sc16", choices=("cu8", "sc8", "sc16", "fc32"))
    parser.add_argument("--message-bytes", type=int, default=65536)
    parser.add_argument("--rate", type=float, default=2e6, help="samples per second")
    parser.add_argument("--freq", type=float, default=0, help="centre frequency in Hz")
    parser.add_argument("--length", type=int, default=1024, help="bins per spectrum")
    parser.add_argument("--average", type=int, default=250, help="transforms per spectrum")
    parser.add_argument("--count", type=int, default=20, help="spectra, then end")
    return parser.parse_args()


def main():
    flowgraph = spectrum(parse_options())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: flowgraph.stop())
    flowgraph.start()
    flowgraph.wait()
    counters = flowgraph.source.counters()
    print("%d messages, %d bytes, gaps=%d" % (
        counters["messages_received"], counters["bytes_received"], counters["gaps"]))
    if flowgraph.source.state() == "failed":
        sys.exit("spectrum.py: " + flowgraph.source.status_text())


if __name__ == "__main__":
    main()
