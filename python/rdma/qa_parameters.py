# SPDX-License-Identifier: GPL-3.0-or-later
"""Parameters as Python gives them: each wrong one is refused by name, with its value and
with what would be right; each has a second legal value."""

import errno
import inspect
import os
import re
import unittest

import numpy as np
from gnuradio import blocks, fft, gr, rdma

STATIC = dict(source="127.5.2.1", connect="127.5.2.2", qpn=17, remote_qpn=18, service="uc")

# What is given, then the parameter, the value and the remedy that the text must name; of
# remedies parted by | any one.
BAD_SOURCE = [
    (dict(sample="sc12"), "sample", "sc12", "cu8, sc8, sc16, fc32"),
    (dict(sample=""), "sample", "''", "cu8, sc8, sc16, fc32"),
    (dict(vlen=0), "vlen", "0", "1"),
    (dict(vlen=-3), "vlen", "-3", "a positive number"),
    (dict(message_bytes=0), "message_bytes", "0", "multiple"),
    (dict(message_bytes=4097), "message_bytes", "4097", "4"),
    (dict(message_bytes=4096, vlen=3), "message_bytes", "4096", "12"),
    (dict(message_bytes=-1), "message_bytes", "-1", "a positive number"),
    (dict(message_bytes=(1 << 30) + 4), "message_bytes", "1073741828", "1073741824|1 GiB"),
    (dict(buffers=0), "buffers", "0", "2"),
    (dict(buffers=1), "buffers", "1", "2"),
    (dict(buffers=1 << 40), "buffers", "1099511627776", "4294967295"),
    (dict(endpoint="rxe"), "endpoint", "rxe", "softroce"),
    (dict(service="xrc"), "service", "xrc", "rc"),
    (dict(qpn=1 << 24), "qpn", "16777216", "16777215|0xffffff|24"),
    (dict(remote_qpn=1 << 24), "remote_qpn", "16777216", "16777215|0xffffff|24"),
    (dict(psn=1 << 24), "psn", "16777216", "16777215|0xffffff|24"),
    (dict(remote_psn=1 << 24), "remote_psn", "16777216", "16777215|0xffffff|24"),
    (dict(mtu=1500), "mtu", "1500", "256, 512, 1024, 2048"),
    (dict(memory="gpu"), "memory", "gpu", "host"),
    (dict(route="pcie"), "route", "pcie", "auto, dmabuf, peermem or staged"),
    (dict(route="dmabuf", memory="host"), "route", "dmabuf", "memory='cuda:0'"),
    (dict(route="peermem", endpoint="softroce"), "route", "peermem", "endpoint='verbs'"),
    (dict(wait="spin"), "wait", "spin", "hybrid"),
    (dict(receive="mmap"), "receive", "mmap", "auto, gro or scatter"),
    (dict(reconnect="sometimes"), "reconnect", "sometimes", "never, failure"),
    (dict(rkey=1 << 32), "rkey", "4294967296", "4294967295"),
    (dict(pump_cpu=-2), "pump_cpu", "-2", "-1"),
    (dict(rate=-1), "rate", "-1", "0"),
    (dict(rate=float("nan")), "rate", "nan", "0"),
    (dict(qpn=1), "qpn", "1", "2 to 16777214"),
    (dict(qpn=0xffffff), "qpn", "16777215", "2 to 16777214"),
    (dict(group="239.5.2.1"), "group", "239.5.2.1", "service='ud'"),
    (dict(group="127.5.2.1", service="ud", message_bytes=1024), "group", "127.5.2.1",
     "224.0.0.0 to 239.255.255.255"),
    (dict(connect="239.5.2.1"), "connect", "239.5.2.1", "service='ud'"),
    (dict(qkey=-1), "qkey", "-1", "a positive number"),
    (dict(qkey=1 << 32), "qkey", "4294967296", "4294967295"),
    (dict(qpn=0), "qpn", "missing", "needs both"),
    (dict(listen="127.5.2.1"), "listen", "127.5.2.1", "leave qpn out"),
    (dict(listen="127.5.2.1", qpn=0, remote_qpn=0), "listen", "127.5.2.1", "one of them"),
    (dict(connect="", qpn=0, remote_qpn=0), "listen or connect", "missing", "listen=HOST"),
    (dict(connect="127.5.2.1:0", qpn=0, remote_qpn=0), "connect", "127.5.2.1:0", "65535"),
    (dict(peers="127.5.2.9", qpn=0, remote_qpn=0), "peers", "127.5.2.9", "listen"),
    (dict(endpoint="verbs", qpn=0, remote_qpn=0), "service", "uc", "use service='rc'"),
    (dict(endpoint="verbs", connect=""), "connect", "missing", "the peer|its address"),
    (dict(endpoint="verbs", pump_cpu=0), "pump_cpu", "pump_cpu", "endpoint='softroce'"),
    (dict(gid_index=-2), "gid_index", "-2", "-1"),
    (dict(endpoint="verbs", ib_port=256), "ib_port", "256", "0 to 255"),
    (dict(endpoint="verbs", qpn=0, remote_qpn=0, service="rc", gid_index=3), "gid_index", "3",
     "needs a static connection"),
    (dict(service="ud"), "message_bytes", "65536", "at most mtu=1024"),
    (dict(service="ud", mtu=4096, message_bytes=4096, header_bytes=4), "message_bytes", "4100",
     "at most mtu=4096"),
    (dict(service="ud", qpn=0, remote_qpn=0, message_bytes=1024), "connect", "service='ud'",
     "give listen"),
    (dict(service="ud", qpn=0, remote_qpn=0, connect="", source="", listen="127.5.2.1",
          qkey=5, message_bytes=1024), "qkey", "5", "leave it out"),
    (dict(service="ud", message_bytes=1024, connect="", source=""), "source", "missing",
     "own address"),
]

BAD_SPECTROMETER = [
    (dict(sample="sc12"), "sample", "sc12", "cu8, sc8, sc16, fc32"),
    (dict(vlen=0), "vlen", "0", "1"),
    (dict(length=1000), "length", "1000", "power of two"),
    (dict(length=8), "length", "8", "16"),
    (dict(length=131072), "length", "131072", "65536"),
    (dict(window="hannn"), "window", "hannn", "hann"),
    (dict(window=16), "window", "16", "hann"),
    (dict(average=0), "average", "0", "1"),
    (dict(overlap=1024), "overlap", "1024", "1023|below|less"),
    (dict(scaling="power"), "scaling", "power", "spectrum"),
    (dict(rate=0), "rate", "0", "above|positive|greater"),
    (dict(rate=float("nan")), "rate", "nan", "above|positive|greater"),
    (dict(memory="gpu"), "memory", "gpu", "host"),
    (dict(wait="hybrid"), "wait", "hybrid", "event"),
    (dict(wait="busy", memory="host"), "wait", "busy", "wait='event'"),
]

BAD_CONVERT = [
    (dict(sample="sc12"), "sample", "sc12", "cu8, sc8, sc16"),
    (dict(sample="fc32"), "sample", "fc32", "leave the block out"),
    (dict(vlen=0), "vlen", "0", "1"),
    (dict(memory="gpu"), "memory", "gpu", "host"),
    (dict(wait="hybrid"), "wait", "hybrid", "event"),
    (dict(wait="busy", memory="host"), "wait", "busy", "wait='event'"),
]

BAD_COPY = [
    (dict(sample="sc12"), "sample", "sc12", "cu8, sc8, sc16, fc32"),
    (dict(vlen=0), "vlen", "0", "1"),
    (dict(memory="gpu"), "memory", "gpu", "host"),
]

BAD_WAIT = [
    (dict(wait="hybrid"), "wait", "hybrid", "event"),
    (dict(wait="busy", memory="host"), "wait", "busy", "wait='event'"),
]

WRONG_TYPE = [
    (rdma.source, dict(sample=16), "sample=16 is of type int; give a str"),
    (rdma.source, dict(vlen=1.5), "vlen=1.5 is of type float; give an integer"),
    (rdma.source, dict(vlen=True), "vlen=True is of type bool; give an integer"),
    (rdma.source, dict(mtu="1024"), "mtu='1024' is of type str; give an integer"),
    (rdma.source, dict(rate="1M"), "rate='1M' is of type str; give a number"),
    (rdma.source, dict(source=None), "source=None is of type NoneType; give a str"),
    (rdma.spectrometer, dict(window=None), "window=None is of type NoneType; give a member of"),
    (rdma.spectrometer, dict(window=list(range(100))), "window=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, "
     "10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 2 ... is of type list; give a member of"),
    (rdma.spectrometer, dict(fftshift="no"), "fftshift='no' is of type str; give True or False"),
]


class wrong_parameters(unittest.TestCase):
    def refused(self, make, base, row):
        given, name, value, remedies = row
        with self.subTest(**given):
            with self.assertRaises(ValueError) as raised:
                make(**{**base, **given})
            text = str(raised.exception)
            self.assertRegex(text, r"(^|\W)%s\W" % name)
            self.assertIn(value, text)
            self.assertRegex(text, "|".join(map(re.escape, remedies.split("|"))))

    def test_source_names_parameter_value_and_remedy(self):
        for row in BAD_SOURCE:
            self.refused(rdma.source, STATIC, row)

    def test_spectrometer_names_parameter_value_and_remedy(self):
        for row in BAD_SPECTROMETER:
            self.refused(rdma.spectrometer, {}, row)

    def test_convert_names_parameter_value_and_remedy(self):
        for row in BAD_CONVERT:
            self.refused(rdma.convert, {}, row)

    def test_copies_name_parameter_value_and_remedy(self):
        for row in BAD_COPY:
            self.refused(rdma.to_host, {}, row)
            self.refused(rdma.to_device, {}, row)
        for row in BAD_WAIT:
            self.refused(rdma.to_host, {}, row)

    def test_a_gpu_that_is_not_there_is_refused_by_name(self):
        for make in (rdma.convert, rdma.spectrometer, rdma.to_host, rdma.to_device):
            with self.subTest(make=make.__name__):
                with self.assertRaises(ValueError) as raised:
                    make(memory="cuda:GPU-00000000")
                self.assertIn("cuda:GPU-00000000", str(raised.exception))

    def test_wrong_types_are_named(self):
        for make, given, expected in WRONG_TYPE:
            with self.subTest(**given):
                with self.assertRaises(TypeError) as raised:
                    make(**given)
                self.assertIn(expected, str(raised.exception))

    def test_text_that_is_none_is_named(self):
        for make in BLOCKS:
            names = re.findall(r"(\w+): str = ", make.__init__.__doc__)
            self.assertGreater(len(names), 1)
            if make is rdma.spectrometer:
                names.append("window")
            for name in names:
                for text, why in (("\ud800", "lone surrogates"), ("127.5.2.1\0", "NUL")):
                    with self.subTest(block=make.__name__, parameter=name, why=why):
                        with self.assertRaises(ValueError) as raised:
                            make(**{name: text})
                        self.assertIn("%s=%r" % (name, text), str(raised.exception))
                        self.assertIn(why, str(raised.exception))

    def test_positional_and_unknown_arguments_are_refused(self):
        for arguments, given in ((("sc16",), {}), ((), dict(message_size=3))):
            with self.assertRaises(TypeError) as raised:
                rdma.source(*arguments, **given)
            self.assertIn("message_bytes: int = 65536", str(raised.exception))


class right_parameters(unittest.TestCase):
    def test_second_values_are_accepted(self):
        for given in (dict(endpoint="softroce"), dict(endpoint="verbs"), dict(service="rc"), dict(mtu=4096),
                      dict(service="ud", message_bytes=1024, qkey=0, connect="", remote_qpn=0),
                      dict(service="ud", message_bytes=4096, mtu=4096, qkey=0xffffffff),
                      dict(service="ud", message_bytes=1024, group="239.5.2.1"),
                      dict(service="ud", message_bytes=4096, qpn=0, remote_qpn=0, connect="",
                           source="", listen="127.5.2.1"),
                      dict(memory="host"),
                      dict(endpoint="verbs", device="mlx5_0", ib_port=2, gid_index=3),
                       dict(wait="busy"), dict(wait="event"),
                      dict(tag_every=0), dict(reconnect="failure"),
                      dict(reconnect="always"), dict(rkey=0xffffffff), dict(header_bytes=28), dict(psn=0xffffff),
                      dict(buffers=2), dict(source=""), dict(connect=""), dict(freq=-100),
                      dict(rate=np.float32(2e6)), dict(vlen=np.int64(4)),
                      dict(message_bytes=1 << 20)):
            with self.subTest(**given):
                rdma.source(**{**STATIC, **given})

    def test_blocks_that_may_be_on_a_gpu_may_spin_there(self):
        for make in (rdma.convert, rdma.spectrometer, rdma.to_host):
            make(wait="busy")
            make(wait="event", memory="host")

    def test_item_is_vlen_samples(self):
        for sample, size in dict(cu8=2, sc8=2, sc16=4, fc32=8, byte=1).items():
            for vlen in (1, 3):
                with self.subTest(sample=sample, vlen=vlen):
                    out = rdma.source(**STATIC, sample=sample, vlen=vlen,
                                      message_bytes=size * 3 * 100)
                    spectra = rdma.spectrometer(sample=sample, vlen=vlen, length=64)
                    self.assertEqual(out.output_signature().sizeof_stream_item(0), size * vlen)
                    self.assertEqual(spectra.input_signature().sizeof_stream_item(0),
                                     size * vlen)
                    self.assertEqual(spectra.output_signature().sizeof_stream_item(0), 4 * 64)

    def test_convert_has_vlen_samples_on_both_sides(self):
        for sample, (size, out) in dict(cu8=(2, 8), sc8=(2, 8), sc16=(4, 8), byte=(1, 4)).items():
            for vlen in (1, 3):
                with self.subTest(sample=sample, vlen=vlen):
                    block = rdma.convert(sample=sample, vlen=vlen, memory="host")
                    self.assertEqual(block.input_signature().sizeof_stream_item(0), size * vlen)
                    self.assertEqual(block.output_signature().sizeof_stream_item(0), out * vlen)

    def test_copies_keep_the_item(self):
        for make in (rdma.to_host, rdma.to_device):
            block = make(sample="fc32", vlen=3, memory="host")
            self.assertEqual(block.input_signature().sizeof_stream_item(0), 24)
            self.assertEqual(block.output_signature().sizeof_stream_item(0), 24)
            self.assertEqual(block.memory(), "host")

    def test_window_by_enumeration_number_or_name(self):
        for window in (fft.window.WIN_HAMMING, 0, "hamming", "Hamming", "WIN_HAMMING",
                       "blackman-harris", "WIN_BLACKMAN-HARRIS"):
            rdma.spectrometer(window=window)

    def test_every_window_of_gnuradio_has_its_name(self):
        for name, window in fft.window.win_type.__members__.items():
            if name == "WIN_NONE":
                continue
            with self.subTest(name):
                rdma.spectrometer(window=name, window_parameter=0.5)
                rdma.spectrometer(window=window, window_parameter=0.5)

    def test_fresh_blocks_say_so(self):
        source = rdma.source(**STATIC)
        self.assertEqual(source.state(), "idle")
        self.assertEqual(set(source.counters().values()), {0})
        self.assertIn("bytes_received", source.counters())
        self.assertIsInstance(source, gr.block)
        spectrometer = rdma.spectrometer()
        self.assertEqual((spectrometer.spectra(), spectrometer.samples_dropped(),
                          spectrometer.frames_dropped()), (0, 0, 0))


BLOCKS = (rdma.source, rdma.spectrometer, rdma.convert, rdma.to_host, rdma.to_device)


class no_device(unittest.TestCase):
    @unittest.skipIf(os.path.isdir("/sys/class/infiniband") and os.listdir("/sys/class/infiniband"),
                     "there is an RDMA device")
    def test_verbs_says_so_when_the_flowgraph_starts(self):
        top = gr.top_block()
        top.connect(rdma.source(**{**STATIC, "endpoint": "verbs"}), blocks.null_sink(4))
        for _ in range(2):  # and can be started again
            with self.assertRaises(OSError) as raised:
                top.start()
            self.assertEqual(raised.exception.errno, errno.ENODEV)
            self.assertIn("rdma link lists none", str(raised.exception))


class on_the_cpu(unittest.TestCase):
    def test_no_gpu_has_failed(self):
        for block in BLOCKS[1:]:
            self.assertEqual(block(memory="host").failure(), "")
            self.assertEqual(block(memory="host").memory(), "host")


class documentation(unittest.TestCase):
    """What help() and the manual say is all there is, and nothing else."""

    def page(self, name):
        path = os.path.join(os.environ["RDMA_SOURCE_DIR"], "docs", "user", "blocks", name + ".md")
        with open(path, encoding="utf-8") as file:
            return file.read()

    def test_every_parameter_and_its_default(self):
        for block in BLOCKS:
            parameters = re.findall(r"(\w+): \w+ = ([^,)]*)", block.__init__.__doc__)
            self.assertGreater(len(parameters), 2)
            page = self.page(block.__name__)
            for name, default in parameters:
                with self.subTest(block=block.__name__, parameter=name):
                    self.assertRegex(inspect.getdoc(block), r"\b%s\b" % name)
                    if name == "listen":
                        continue  # not yet: the page says so under its limits
                    row = re.search(r"^\|.*`%s`.*\|$" % name, page, re.M).group(0)
                    stated = row.split("|")[2].strip().strip("`").strip('"')
                    if stated:
                        self.assertEqual(stated, default.strip("'").removesuffix(".0"))

    def test_every_exception(self):
        for block in BLOCKS:
            for text in inspect.getdoc(block), self.page(block.__name__):
                for name in "ValueError", "rdma.CudaError":
                    self.assertIn(name, text)

    def test_every_counter_of_a_receiver(self):
        sending = {"messages_sent", "bytes_sent", "packets_sent", "acks_received",
                   "rnr_naks_received", "sequence_naks_received", "retransmissions", "timeouts",
                   "send_errors", "faults_dropped", "faults_duplicated", "faults_reordered",
                   "faults_corrupted"}
        page = self.page("source")
        for name in set(rdma.source(**STATIC).counters()) - sending:
            self.assertIn("`%s`" % name, page)

    def test_every_method(self):
        for block in BLOCKS:
            for name in set(vars(block)) - {"__init__", "__doc__", "__module__"}:
                if not name.startswith("_"):
                    self.assertIn("`%s(" % name, self.page(block.__name__))


if __name__ == "__main__":
    unittest.main(verbosity=2)
