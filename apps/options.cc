/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "options.h"
#include "core/sample.h"
#include "usage_error.h"

#include <limits>

namespace gr {
namespace rdma {
namespace apps {

namespace {
constexpr std::uint64_t max_24_bit = 0xffffff;
constexpr std::uint64_t max_32_bit = 0xffffffff;
constexpr std::uint64_t max_message_bytes = 1u << 30;

// A multicast address, as far as its begin tells; the endpoint looks closer.
bool is_group(const std::string& address)
{
    const std::size_t at = address.compare(0, 1, "[") == 0;
    if (address.compare(at, 2, "ff") == 0 && address.find(':') != std::string::npos)
        return true;
    if (address.find_first_not_of("0123456789.") != std::string::npos ||
        address.find('.') != 3)
        return false;
    const int first = std::stoi(address);
    return first >= 224 && first <= 239;
}

} // namespace

const char* version() noexcept { return RDMA_VERSION; }

void connection_options::declare(flags& f, bool sends)
{
    f.group("Connection");
    f.text(
        "listen",
        listen,
        "HOST[:PORT]",
        "wait on this own address for the peer to connect (port 18515 if left out); an "
        "IPv6 one stands in brackets: [fd00::1]:18515");
    f.text("connect", connect, "HOST[:PORT]", "call a peer that listens");
    f.text("source",
           source,
           "HOST",
           "own address when calling; left out: the one that routes to the peer. On one "
           "machine give each side its own, such as 127.0.0.1 and 127.0.0.2");
    f.text("peers", peers, "LIST", "who may connect: addresses with commas, else anyone");
    f.choice("service",
             service,
             { "rc", "uc", "ud" },
             "reliable or unreliable connection, or unreliable datagrams");
    f.count("mtu",
            mtu,
            256,
            4096,
            "path MTU: 256, 512, 1024, 2048 or 4096 bytes of payload in a packet; left "
            "out: what fits the path (static: 1024)");
    f.choice(
        "endpoint",
        endpoint,
        { "auto", "softroce", "verbs" },
        "what moves the packets (softroce: RoCEv2 in user space, UDP port 4791; verbs: "
        "an RDMA device; auto: the device that has the own address, else softroce)",
        "; the blocks' inproc has both ends in one process, and here they are two");
    f.text(
        "device",
        device,
        "NAME",
        "verbs: the RDMA device (rdma link lists them); left out: the one that has the "
        "own address");
    f.count("gid-index",
            gid_index,
            0,
            65535,
            "verbs, static: index of the own GID; left out: that of the own address");
    f.count("ib-port", ib_port, 1, 255, "verbs: port of the device; left out: likewise");
    f.choice("wait",
             wait,
             { "hybrid", "busy", "event" },
             "how to wait for the network (spin briefly then sleep, spin, sleep)");
    f.count("pump-cpu", pump_cpu, 0, 65535, "bind softroce's thread to that CPU");
    if (sends)
        f.elsewhere("receive",
                    "it says how a receiver reads its socket; give it to the receiver");
    else
        f.choice("receive",
                 receive,
                 { "auto", "gro", "scatter" },
                 "how to read the socket: UDP GRO and one copy, or straight into the "
                 "ring, a datagram at a time; auto: gro where the kernel has it");
    f.group("Static connection, without connection manager (--qpn; --connect HOST)");
    f.count("qpn", qpn, 1, max_24_bit, "own queue pair number (24 bits; 0x... is hex)");
    f.count("remote-qpn", remote_qpn, 1, max_24_bit, "the peer's queue pair number");
    f.count("psn",
            psn,
            0,
            max_24_bit,
            "first packet sequence number that this side sends (default 0)");
    f.count("remote-psn",
            remote_psn,
            0,
            max_24_bit,
            "first packet sequence number that the peer sends (default 0)");
    f.count("qkey",
            qkey,
            0,
            max_32_bit,
            "with --service ud: the Q_Key that both sides give (32 bits; 0x... is hex)");
    if (sends)
        f.elsewhere("group",
                    "it is where a receiver receives from; give the group to --connect");
    else
        f.text("group",
               group,
               "ADDRESS",
               "with --service ud: multicast group to receive from, too, such as "
               "239.1.2.3 or ff15::1. The sender gives it to --connect, and no "
               "--remote-qpn");
}

void connection_options::check(const flags& f, bool sends) const
{
    const auto need = [](bool there, const char* flag, const char* what) {
        if (!there)
            throw usage_error(std::string(flag) + " is needed: " + what);
    };
    if (mtu & (mtu - 1))
        throw usage_error("--mtu='" + std::to_string(mtu) +
                          "': give 256, 512, 1024, 2048 or 4096");
    for (const char* name : { "qkey", "group" })
        if (f.given(name) && service != "ud")
            throw usage_error(std::string("--") + name +
                              " belongs to datagrams: give --service ud, too");
    if (qpn != 0 && !listen.empty())
        throw usage_error(
            "--listen and --qpn do not go together: with --listen the peers "
            "agree on queue pair numbers; a static connection has --qpn, "
            "--source and --connect");
    if (service == "ud" && qpn == 0) {
        const char* const why = "datagrams are sent to who listens";
        if (!listen.empty() && sends)
            throw usage_error(std::string("--connect is needed instead of --listen: ") +
                              why);
        if (!connect.empty() && !sends)
            throw usage_error(std::string("--listen is needed instead of --connect: ") +
                              why);
    }
    if (qpn == 0) {
        for (const char* name : { "remote-qpn", "psn", "remote-psn" })
            if (f.given(name))
                throw usage_error(std::string("--") + name +
                                  " belongs to a static connection: give --qpn, too");
        need(!listen.empty() || !connect.empty(),
             "--listen or --connect",
             "the address to wait on, or the peer's");
    } else if (sends || service == "rc") {
        need(!connect.empty(),
             "--connect",
             "the peer's address, such as --connect 127.0.0.2");
        need(remote_qpn != 0 || (service == "ud" && is_group(connect)),
             "--remote-qpn",
             "the peer's queue pair number, what it gives as --qpn");
    }
}

void stream_options::declare(flags& f, bool sends)
{
    f.group("Samples");
    f.choice("sample",
             sample,
             { "cu8", "sc8", "sc16", "fc32", "byte" },
             "what one sample is (I and Q unsigned 8-bit, signed 8-bit, signed 16-bit or "
             "float, little-endian; or one octet)");
    f.bytes("message-bytes",
            message_bytes,
            "payload of one message, the same on both sides: whole samples, at most "
            "1 GiB; KiB and MiB may follow the number");
    f.hertz(
        "rate", rate, 1e-3, "sample rate in samples per second; k, M or G may follow");
    if (sends)
        f.elsewhere("freq", "messages carry samples alone; give it to the receiver");
    else
        f.hertz("freq", freq, 0, "centre frequency in Hz; k, M or G may follow");
}

void stream_options::check() const
{
    const std::uint64_t item = core::sample_bytes(core::parse_sample(sample));
    if (message_bytes > max_message_bytes)
        throw usage_error("--message-bytes='" + std::to_string(message_bytes) +
                          "': a message is at most 1 GiB (1073741824 bytes)");
    if (message_bytes % item)
        throw usage_error("--message-bytes='" + std::to_string(message_bytes) +
                          "': give a multiple of " + std::to_string(item) +
                          ", the bytes of one " + sample + " sample");
}

void ring_options::declare(flags& f)
{
    f.group("Receiving");
    f.count("buffers", buffers, 2, 1u << 20, "messages that the ring holds");
    f.choice("reconnect",
             reconnect,
             { "never", "failure", "always" },
             "go on with a new connection after one that failed, or after any");
    f.text("memory", memory, "auto|host|cuda:N", "where the ring lives");
    f.choice(
        "route",
        route,
        { "auto", "dmabuf", "peermem", "staged" },
        "how messages get into a GPU's memory: registered with the NIC as dma-buf or "
        "through nvidia-peermem, or copied from the host's; auto: the first of these "
        "that works");
    f.count("count",
            count,
            1,
            std::numeric_limits<std::uint64_t>::max(),
            "end after N messages");
    f.number("idle",
             idle,
             1e-3,
             1e9,
             "SECONDS",
             "end when no message came for that long after the first one; a static "
             "connection does not tell when its sender has gone");
}

void ring_options::refuse(flags& f)
{
    for (const char* name : { "buffers", "memory", "route" })
        f.elsewhere(name, "it is about the ring that receives; give it to the receiver");
    f.elsewhere("reconnect", "it is the receiver that goes on; give it there");
    f.elsewhere("idle", "it ends a receiver; a sender has --seconds and --count");
}

void fault_options::declare(flags& f)
{
    f.group("Faults, made on purpose (softroce)");
    f.number("fault-drop", drop, 0, 1, "SHARE", "of the data packets that are not sent");
    f.number("fault-duplicate", duplicate, 0, 1, "SHARE", "that are sent twice");
    f.number("fault-reorder",
             reorder,
             0,
             1,
             "SHARE",
             "that are held back for up to 0.2 ms, so that later ones overtake them");
    f.number("fault-corrupt", corrupt, 0, 1, "SHARE", "that have one bit turned");
    f.number("fault-delay", delay_ms, 0, 60000, "MS", "that each packet is late");
    f.count("fault-seed", seed, 0, UINT32_MAX, "the same seed makes the same faults");
}

void fault_options::check(const connection_options& connection) const
{
    if (config().harms() && connection.endpoint != "auto" &&
        connection.endpoint != "softroce")
        throw usage_error("--fault-...: --endpoint='" + connection.endpoint +
                          "' has no packets to harm; use softroce");
}

io::lossy_link_config fault_options::config() const
{
    io::lossy_link_config c;
    c.seed = static_cast<std::uint32_t>(seed);
    c.drop = drop;
    c.duplicate = duplicate;
    c.reorder = reorder;
    c.corrupt = corrupt;
    c.delay_ns = static_cast<std::int64_t>(delay_ms * 1e6);
    return c;
}

void talk_options::declare(flags& f)
{
    f.group("Messages");
    f.on_off("json", json, "the summary as one JSON object on stdout");
    f.on_off("quiet", quiet, "no progress, no summary; errors only");
}

} // namespace apps
} // namespace rdma
} // namespace gr
