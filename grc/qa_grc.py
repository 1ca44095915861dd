# SPDX-License-Identifier: GPL-3.0-or-later
"""The block descriptions in GNU Radio Companion: they load in a fresh home, refuse what the
blocks would refuse, offer only what the blocks accept, and generate code that runs."""

import logging
import os
import re
import tempfile
import unittest

import yaml

os.environ["HOME"] = HOME = tempfile.mkdtemp(prefix="qa_grc_")  # before GRC reads it
os.environ.pop("GRC_BLOCKS_PATH", None)

from gnuradio import gr, rdma  # noqa: E402
from gnuradio.grc.core.platform import Platform  # noqa: E402

GRC = os.path.dirname(os.path.abspath(__file__))
SYSTEM = gr.prefs().get_string("grc", "global_blocks_path", "")
BLOCKS = {"rdma_convert": rdma.convert, "rdma_source": rdma.source,
          "rdma_spectrometer": rdma.spectrometer, "rdma_to_device": rdma.to_device,
          "rdma_to_host": rdma.to_host}


class keep_log(logging.Handler):
    def __init__(self):
        logging.Handler.__init__(self, logging.WARNING)
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def load():
    """-> a platform with GNU Radio's blocks and ours, and what loading complained about ours"""
    log = keep_log()
    logging.getLogger("gnuradio.grc").addHandler(log)
    logging.getLogger("grc").addHandler(log)
    logging.getLogger().addHandler(log)
    platform = Platform(name="qa", prefs=gr.prefs(), version=gr.version(),
                        version_parts=(gr.major_version(), gr.api_version(), gr.minor_version()))
    platform.build_library(path=[GRC, *SYSTEM.split(":")])
    return platform, [line for line in log.lines if "rdma" in line]


PLATFORM, COMPLAINTS = load()


def description(key):
    with open(os.path.join(GRC, key + ".block.yml"), encoding="utf-8") as file:
        return yaml.safe_load(file)


def errors_of(key, variables=(), **values):
    """The block's own errors in a flowgraph of variables alone, and the code that makes it."""
    flowgraph = PLATFORM.make_flow_graph()
    for name, value in dict(variables, samp_rate="1e6").items():
        variable = flowgraph.new_block("variable")
        variable.params["id"].set_value(name)
        variable.params["value"].set_value(value)
    block = flowgraph.new_block(key)
    block.params["id"].set_value("block_0")
    for name, value in values.items():
        block.params[name].set_value(value)
    flowgraph.rewrite()
    flowgraph.validate()
    errors = [message for _, message in block.iter_error_messages()
              if "Port is not connected" not in message]
    return errors, block.templates.render("make"), block


class loading(unittest.TestCase):
    def test_in_a_fresh_home_nothing_is_complained_about(self):
        self.assertEqual(COMPLAINTS, [])
        for key in BLOCKS:
            self.assertEqual(PLATFORM.blocks[key].loaded_from,
                             os.path.join(GRC, key + ".block.yml"))

    def test_every_file_is_in_the_tree_of_blocks(self):
        files = {name[:-len(".block.yml")] for name in os.listdir(GRC)
                 if name.endswith(".block.yml")}
        self.assertEqual(files, set(BLOCKS))
        for key in BLOCKS:
            self.assertEqual(PLATFORM.blocks[key].category, ["RDMA"])


class parameters(unittest.TestCase):
    def test_names_and_defaults_are_those_of_the_python_block(self):
        # Defaults that differ on purpose: a flowgraph on one machine that works as it stands.
        example = {"source", "connect", "listen", "qpn", "remote_qpn", "rate"}
        # Of the editor alone: which of the others are shown and passed on.
        own = {"connection"}
        for key, block in BLOCKS.items():
            defaults = dict(re.findall(r"(\w+): \w+ = ([^,)]*)", block.__init__.__doc__))
            described = {p["id"]: p["default"] for p in description(key)["parameters"]}
            self.assertEqual(set(described) - set(defaults) - own, set())
            self.assertEqual(set(defaults) - set(described), set())
            for name in set(described) - example - own:
                with self.subTest(block=key, parameter=name):
                    ours = described[name].strip('"').replace("window.WIN_", "").lower()
                    self.assertEqual(ours, defaults[name].strip("'").lower().removesuffix(".0"))

    def test_backends_are_automatic_unless_chosen(self):
        for key in BLOCKS:
            for parameter in description(key)["parameters"]:
                if parameter["id"] in ("endpoint", "memory", "route"):
                    self.assertEqual(parameter["options"][0].strip('"'), "auto")

    def test_numbers_have_units_in_their_labels(self):
        unitless = {"qpn", "remote_qpn", "psn", "remote_psn", "qkey",
                    "window_parameter"}
        for key in BLOCKS:
            for parameter in description(key)["parameters"]:
                if parameter["dtype"] in ("int", "real") and parameter["id"] not in unitless:
                    self.assertRegex(parameter["label"], r"\(.+\)", parameter["id"])

    def test_every_option_makes_a_block(self):
        from gnuradio.fft import window
        for key in BLOCKS:
            for parameter in description(key)["parameters"]:
                if parameter["dtype"] != "enum":
                    continue
                for option in parameter["options"]:
                    with self.subTest(block=key, **{parameter["id"]: option}):
                        given = {parameter["id"]: option}
                        if parameter["id"] == "window":
                            given["window_parameter"] = "0.5"
                        if option == "ud":
                            given.update(connection="static", message_bytes="1024")
                        errors, code, _ = errors_of(key, **given)
                        self.assertEqual(errors, [])
                        try:
                            eval(code, dict(rdma=rdma, window=window, samp_rate=1e6))
                        except ValueError as error:
                            # A route that is chosen needs a GPU.
                            self.assertRegex(str(error), "^route='%s': there is no GPU" % option)

    def test_ports_have_the_size_of_the_blocks_items(self):
        for key in BLOCKS:
            for sample, size in dict(cu8=2, sc8=2, sc16=4, fc32=8, byte=1).items():
                if key == "rdma_convert" and sample == "fc32":
                    continue
                _, _, block = errors_of(key, sample=sample, vlen="4")
                port = block.sources[0] if key == "rdma_source" else block.sinks[0]
                self.assertEqual(port.item_size, size * 4)
        _, _, block = errors_of("rdma_spectrometer", length="64")
        self.assertEqual(block.sources[0].item_size, 4 * 64)
        for sample, size in dict(cu8=8, sc8=8, sc16=8, byte=4).items():
            _, _, block = errors_of("rdma_convert", sample=sample, vlen="3")
            self.assertEqual(block.sources[0].item_size, size * 3)
        for key in ("rdma_to_host", "rdma_to_device"):
            _, _, block = errors_of(key, sample="fc32", vlen="3")
            self.assertEqual(block.sources[0].item_size, 8 * 3)


MEMORIES = [key for key in BLOCKS
            if any(p["id"] == "memory" for p in description(key)["parameters"])]


class memories(unittest.TestCase):
    def code(self, key, variables=(), **values):
        errors, code, _ = errors_of(key, variables, **values)
        self.assertEqual(errors, [])
        return code

    def test_no_variable_is_taken_for_a_choice(self):
        variables = {"host": "'127.5.5.9'", "auto": "'cuda:1'", "cuda": "2"}
        for key in MEMORIES:
            (parameter,) = [p for p in description(key)["parameters"] if p["id"] == "memory"]
            for option in parameter["options"]:
                code = self.code(key, variables, memory=option)
                self.assertEqual(re.findall(r"memory=([^,)]*)", code), [option])
            # As files have it that were written by hand.
            _, code, _ = errors_of(key, variables, memory="host")
            self.assertIn("memory='host'", code)
            _, code, _ = errors_of(key, variables, memory="auto")
            self.assertIn("memory='auto'", code)

    def test_what_is_typed_is_passed_on(self):
        for key in MEMORIES:
            for typed in ("cuda:1", "cuda:GPU-6f1c9e0a-1b2c-3d4e-5f60-718293a4b5c6",
                          "cuda:0000:17:00.0", "auto", "host"):
                self.assertIn("memory='%s'" % typed, self.code(key, memory=typed))
            self.assertIn("memory=where", self.code(key, {"where": "'cuda:1'"}, memory="where"))

    def test_nonsense_is_red(self):
        for key in MEMORIES:
            for typed in ("gpu0", "cuda", "cuda:", "Host", "0"):
                with self.subTest(block=key, memory=typed):
                    self.assertTrue(errors_of(key, memory=typed)[0])

    def test_a_hidden_route_is_not_passed(self):
        hosts = (dict(memory='"host"'), dict(memory="host"), dict(memory="'host'"),
                 dict(memory="where", variables={"where": "'host'"}),
                 dict(memory="host", variables={"host": "7"}))
        for given in hosts:
            code = self.code("rdma_source", route="staged", **given)
            self.assertNotIn("route", code)
            eval(code, dict(rdma=rdma, samp_rate=1e6, where="host"))
        self.assertIn("route='staged'", self.code("rdma_source", route="staged"))
        self.assertIn("route='dmabuf'",
                      self.code("rdma_source", route="dmabuf", memory="cuda:0"))

    def test_only_what_is_not_the_default_is_on_the_blocks_face(self):
        changed = dict(memory="cuda:0", wait="busy", route="staged", mtu="512", rkey="7",
                       reconnect="always", receive="gro", pump_cpu="0", tag_every="0",
                       fftshift="False")
        always = {"rdma_to_host": {"memory"}, "rdma_to_device": {"memory"}}
        for key in BLOCKS:
            _, _, block = errors_of(key)
            for name in set(changed) & set(block.params) - always.get(key, set()):
                with self.subTest(block=key, parameter=name):
                    self.assertEqual(block.params[name].hide, "part")
                    _, _, other = errors_of(key, **{name: changed[name]})
                    self.assertEqual(other.params[name].hide, "none")
        _, _, block = errors_of("rdma_source", memory='"host"', route="staged")
        self.assertEqual(block.params["route"].hide, "all")


DATAGRAMS = dict(connection="static", service="ud", message_bytes="1024")


class early_refusals(unittest.TestCase):
    def test_what_the_block_would_refuse_is_red_in_the_editor(self):
        for key, wrong in (
                ("rdma_source", [dict(message_bytes="4097"), dict(message_bytes="0"),
                                 dict(sample="fc32", message_bytes="4100"),
                                 dict(vlen="3", message_bytes="4096"), dict(vlen="0"),
                                 dict(buffers="1"), dict(header_bytes="-1"), dict(rate="-1"),
                                 dict(tag_every="-1"),
                                 *(dict(connection="static", **numbers) for numbers in (
                                     dict(qpn="0"), dict(qpn="1"), dict(qpn="1 << 24"),
                                     dict(remote_qpn="0"), dict(psn="1 << 24"),
                                     dict(qpn="2**24 - 1"), dict(remote_psn="-1"),
                                     dict(source="127.0.0.2"))),
                                 dict(connection="connect", service="ud", message_bytes="1024"),
                                 dict(endpoint="softroce", route="dmabuf"),
                                 dict(endpoint="softroce", route="peermem"),
                                 dict(service="ud", message_bytes="4100"),
                                 *(dict(DATAGRAMS, **given) for given in (
                                     dict(message_bytes="1028"), dict(mtu="512"),
                                     dict(header_bytes="4"), dict(qkey="-1"),
                                     dict(qkey="2**32"), dict(qpn="1")))]),
                ("rdma_spectrometer", [dict(length="1000"), dict(length="8"),
                                       dict(length="131072"), dict(vlen="0"),
                                       dict(average="0"), dict(overlap="1024"),
                                       dict(overlap="-1"), dict(rate="0"),
                                       dict(memory="host", wait="busy")]),
                ("rdma_convert", [dict(vlen="0"), dict(memory="host", wait="busy")]),
                ("rdma_to_host", [dict(vlen="0"), dict(memory="host", wait="busy")]),
                ("rdma_to_device", [dict(vlen="0")])):
            for given in wrong:
                with self.subTest(block=key, **given):
                    self.assertTrue(errors_of(key, **given)[0])

    def test_what_the_block_accepts_is_not(self):
        for key, right in (
                ("rdma_source", [{}, dict(sample="byte", message_bytes="4097"),
                                 dict(vlen="3", message_bytes="12"), dict(buffers="2"),
                                 dict(header_bytes="28"), dict(rate="0"), dict(tag_every="0"),
                                 dict(connection="connect"), dict(connection="static"),
                                 dict(qpn="0"), DATAGRAMS,
                                 dict(DATAGRAMS, remote_qpn="0", connect="", qkey="0"),
                                 dict(DATAGRAMS, message_bytes="4096", mtu="4096")]),
                ("rdma_spectrometer", [{}, dict(length="16"), dict(length="65536"),
                                       dict(overlap="1023"), dict(fftshift="False")]),
                ("rdma_convert", [{}, dict(vlen="3"), dict(sample="byte"),
                                  dict(memory="cuda:1")]),
                ("rdma_to_host", [{}, dict(memory="cuda:0000:17:00.0")]),
                ("rdma_to_device", [{}, dict(sample="fc32")])):
            for given in right:
                with self.subTest(block=key, **given):
                    self.assertEqual(errors_of(key, **given)[0], [])


class documentation(unittest.TestCase):
    def test_covers_tags_and_counters(self):
        for key, words in (
                ("rdma_source", ["rx_buffer", "rx_time", "rx_rate", "rx_freq", "rx_gap",
                                 "packet_len", "status", "gaps", "messages_dropped_no_slot",
                                 "receive_queue_empty", "packets_lost", "socket_drops"]),
                ("rdma_spectrometer", ["rx_gap", "rx_time", "rx_rate", "rx_freq",
                                       "frames_dropped", "samples_dropped", "spectra"]),
                ("rdma_convert", ["rx_gap", "rx_time", "rx_buffer", "packet_len"]),
                ("rdma_to_host", ["rx_gap", "rx_time", "rx_buffer", "packet_len"]),
                ("rdma_to_device", ["rx_gap", "rx_time", "rx_buffer", "packet_len"])):
            for word in words:
                self.assertIn(word, description(key)["documentation"])

    def test_counters_that_it_names_exist(self):
        source = rdma.source(source="127.5.5.1", connect="127.5.5.2", qpn=17, remote_qpn=18)
        text = description("rdma_source")["documentation"]
        named = re.search(r"In counters look first at (.*)\n", text).group(1)
        for name in re.findall(r"[a-z]+_[a-z_]*[a-z]|gaps", named):
            self.assertTrue(any(counter.startswith(name) for counter in source.counters()), name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
