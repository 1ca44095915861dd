/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "argument.h"

#include <algorithm>
#include <gnuradio/rdma/source.h>
#include <memory>
#include <mutex>
#include <pybind11/stl.h>
#include <string>
#include <vector>

namespace py = pybind11;

namespace {

using namespace gr::rdma::python;
using gr::rdma::source;
using gr::rdma::source_config;

constexpr const char* class_doc =
    R"(Receives RDMA messages into a ring and streams their samples.

The ring is the output buffer: a message lands in the next free slot, and the slot is
offered to the sender again once every reader is past it. A message shorter than its slot
leaves the rest of the slot zero; the tags packet_len and rx_buffer say the true length.

The constructor only checks its arguments; the flowgraph's start() binds and connects.

Stream
  sample         cu8, sc8, sc16, fc32 (complex: unsigned 8, signed 8, signed 16 bits,
                 float) or byte
  vlen           samples per output item
  message_bytes  ring slot and longest payload; a multiple of the item; header not counted
  buffers        ring slots, at least 2
  header_bytes   first bytes of each message, split off and given in rx_buffer.header

Connection
  endpoint       auto, softroce (RoCEv2 in user space), verbs (an RDMA device) or
                 inproc; auto: verbs where the own address is on an RDMA device
  device         verbs: name of the RDMA device; empty: the one with the own address
  gid_index, ib_port
                 verbs: index of the own GID (static) and port of the device; -1, 0: those
                 of the own address
  service        rc, uc or ud. ud listens or is static; a message is at most mtu bytes
  source         own address, such as 127.0.0.1
  listen         HOST[:PORT]: wait for a peer to connect (port 18515 unless given)
  connect        HOST[:PORT]: call a peer that listens; the peer's HOST if static
  peers          listen: who may connect, addresses by comma; empty: anyone
  qpn, psn       own queue pair number, and the first PSN that this side sends (24 bits)
  remote_qpn, remote_psn
                 the peer's. qpn given: a static connection, both sides told all numbers
  qkey           ud, static: the Q_Key that both sides must give (32 bits)
  group          ud, static: multicast group, such as 239.1.2.3, to receive from, too
  mtu            path MTU in bytes: 256, 512, 1024, 2048 or 4096; 0: what fits
                 (listen, connect), 1024 (static)
  rkey           rc, uc: R_Key with which the peer may WRITE into the ring; 0: it may not
  reconnect      never: the stream ends with its connection; failure: it goes on after one
                 that failed; always: also after one that the peer closed
  memory         where the ring lives: auto, host or cuda:N
  route          how messages get into a GPU's memory: auto, dmabuf, peermem or staged
  wait           hybrid (spin briefly, then sleep), busy or event
  pump_cpu       CPU that softroce binds its thread to; -1: any
  receive        how softroce reads: gro (UDP GRO and one copy), scatter (straight into
                 the ring, a datagram at a time), or auto: the faster

Tags
  tag_every      rx_buffer on every Nth message; 0: only at discontinuities
  rate           samples per second, for rx_rate and rx_time; 0: unknown
  freq           centre frequency in Hz, for rx_freq

Raises
  ValueError     a parameter is wrong: its name, the value, and what would be right
  TypeError      a parameter is of another type, named likewise
  OSError        a system call failed; errno is set
  MemoryError    the ring cannot be allocated
  rdma.CudaError the GPU's driver failed)";

// Every source that Python made and that still exists.
std::mutex made_mutex;
std::vector<std::weak_ptr<source>> made;

source::sptr remember(source::sptr fresh)
{
    std::lock_guard<std::mutex> lock(made_mutex);
    made.erase(std::remove_if(made.begin(),
                              made.end(),
                              [](const std::weak_ptr<source>& s) { return s.expired(); }),
               made.end());
    made.push_back(fresh);
    return fresh;
}

bool any_running()
{
    std::lock_guard<std::mutex> lock(made_mutex);
    return std::any_of(made.begin(), made.end(), [](const std::weak_ptr<source>& s) {
        const source::sptr alive = s.lock();
        const std::string state = alive ? alive->state() : "";
        return state == "connecting" || state == "connected";
    });
}

source::sptr make(const str_argument& sample,
                  const int_argument& vlen,
                  const int_argument& message_bytes,
                  const int_argument& buffers,
                  const int_argument& header_bytes,
                  const str_argument& endpoint,
                  const str_argument& service,
                  const str_argument& device,
                  const int_argument& gid_index,
                  const int_argument& ib_port,
                  const str_argument& own_address,
                  const str_argument& connect,
                  const str_argument& listen,
                  const int_argument& qpn,
                  const int_argument& remote_qpn,
                  const int_argument& psn,
                  const int_argument& remote_psn,
                  const int_argument& qkey,
                  const str_argument& group,
                  const int_argument& mtu,
                  const str_argument& peers,
                  const int_argument& rkey,
                  const str_argument& reconnect,
                  const str_argument& memory,
                  const str_argument& route,
                  const str_argument& wait,
                  const str_argument& receive,
                  const int_argument& pump_cpu,
                  const int_argument& tag_every,
                  const float_argument& rate,
                  const float_argument& freq)
{
    source_config c;
    c.sample = text_of(sample, "sample");
    c.vlen = number_of<std::size_t>(vlen, "vlen");
    c.message_bytes = number_of<std::size_t>(message_bytes, "message_bytes");
    c.buffers = number_of<unsigned>(buffers, "buffers");
    c.header_bytes = number_of<std::size_t>(header_bytes, "header_bytes");
    c.endpoint = text_of(endpoint, "endpoint");
    c.service = text_of(service, "service");
    c.device = text_of(device, "device");
    c.gid_index = number_or_minus_one(gid_index, "gid_index", 65535);
    c.ib_port = number_of<unsigned>(ib_port, "ib_port");
    c.source = text_of(own_address, "source");
    c.connect = text_of(connect, "connect");
    c.listen = text_of(listen, "listen");
    c.qpn = number_of<std::uint32_t>(qpn, "qpn");
    c.remote_qpn = number_of<std::uint32_t>(remote_qpn, "remote_qpn");
    c.psn = number_of<std::uint32_t>(psn, "psn");
    c.remote_psn = number_of<std::uint32_t>(remote_psn, "remote_psn");
    c.qkey = number_of<std::uint32_t>(qkey, "qkey");
    c.group = text_of(group, "group");
    c.mtu = number_of<std::uint32_t>(mtu, "mtu");
    c.peers = text_of(peers, "peers");
    c.rkey = number_of<std::uint32_t>(rkey, "rkey");
    c.reconnect = text_of(reconnect, "reconnect");
    c.memory = text_of(memory, "memory");
    c.route = text_of(route, "route");
    c.wait = text_of(wait, "wait");
    c.receive = text_of(receive, "receive");
    c.pump_cpu = number_or_minus_one(pump_cpu, "pump_cpu", 65535);
    c.tag_every = number_of<unsigned>(tag_every, "tag_every");
    c.rate = real_of(rate, "rate");
    c.freq = real_of(freq, "freq");

    py::gil_scoped_release release;
    return remember(source::make(c));
}

} // namespace

void bind_source(py::module_& m)
{
    const source_config d; // the defaults, in one place
    const auto release = py::call_guard<py::gil_scoped_release>();

    m.def("_any_running", &any_running, release, "Whether any source is at work.");
    py::class_<source, gr::block, gr::basic_block, std::shared_ptr<source>>(
        m, "source", class_doc)
        .def(py::init(&make),
             py::kw_only(),
             py::arg("sample") = d.sample,
             py::arg("vlen") = d.vlen,
             py::arg("message_bytes") = d.message_bytes,
             py::arg("buffers") = d.buffers,
             py::arg("header_bytes") = d.header_bytes,
             py::arg("endpoint") = d.endpoint,
             py::arg("service") = d.service,
             py::arg("device") = d.device,
             py::arg("gid_index") = d.gid_index,
             py::arg("ib_port") = d.ib_port,
             py::arg("source") = d.source,
             py::arg("connect") = d.connect,
             py::arg("listen") = d.listen,
             py::arg("qpn") = d.qpn,
             py::arg("remote_qpn") = d.remote_qpn,
             py::arg("psn") = d.psn,
             py::arg("remote_psn") = d.remote_psn,
             py::arg("qkey") = d.qkey,
             py::arg("group") = d.group,
             py::arg("mtu") = d.mtu,
             py::arg("peers") = d.peers,
             py::arg("rkey") = d.rkey,
             py::arg("reconnect") = d.reconnect,
             py::arg("memory") = d.memory,
             py::arg("route") = d.route,
             py::arg("wait") = d.wait,
             py::arg("receive") = d.receive,
             py::arg("pump_cpu") = d.pump_cpu,
             py::arg("tag_every") = d.tag_every,
             py::arg("rate") = d.rate,
             py::arg("freq") = d.freq)
        .def("set_rate",
             &source::set_rate,
             py::arg("rate"),
             release,
             "Samples per second for rx_rate and rx_time, from the next message on. "
             "Raises "
             "ValueError if negative or no number.")
        .def("set_freq",
             &source::set_freq,
             py::arg("freq"),
             release,
             "Centre frequency in Hz for rx_freq, from the next message on.")
        .def("description",
             &source::description,
             release,
             "One line: endpoint, service, addresses, QPNs, MTU.")
        .def("state",
             &source::state,
             release,
             "idle, connecting, connected, closed (by the peer, in order) or failed.")
        .def("status_text",
             &source::status_text,
             release,
             "Why the state is what it is, in words; empty if there is nothing to say.")
        .def("counters",
             &source::counters,
             release,
             "Every counter of the endpoint by name, since the block was made.");
}
