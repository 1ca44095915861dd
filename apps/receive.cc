/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "commands.h"
#include "console.h"
#include "message_sink.h"
#include "receiving.h"
#include "usage_error.h"

#include <cstdio>

namespace gr {
namespace rdma {
namespace apps {

namespace {

constexpr const char* about =
    "Usage: gr-rdma receive [flags]\n\n"
    "Receives RDMA messages of samples and writes them to a file, exactly as sent. Ends "
    "when the sender disconnects, after --count messages, after --idle seconds without "
    "one, or on Ctrl-C.";
constexpr const char* examples =
    "Examples:\n"
    "  gr-rdma receive --listen 10.0.0.2 --sample cu8 --rate 2M --freq 1090M \\\n"
    "      --out capture.sigmf-meta\n"
    "  gr-rdma receive --listen 10.0.0.2 --sample sc16 --out - | other-program\n"
    "  gr-rdma receive --source 10.0.0.2 --connect 10.0.0.1 --qpn 0x12 \\\n"
    "      --remote-qpn 0x11 --service uc --idle 2 --out capture.bin\n"
    "On a static connection a UC receiver must be there before the sender.\n";

struct receive_options {
    connection_options connection;
    stream_options stream;
    ring_options ring;
    talk_options talk;
    std::string out;

    void declare(flags& f)
    {
        f.group("Where to");
        f.text("out",
               out,
               "FILE",
               "*.sigmf-meta or *.sigmf-data: a SigMF recording with rate, frequency, "
               "time, and a capture and an annotation at each gap; - : raw samples on "
               "stdout; any other name: a raw file. An existing file is replaced");
        stream.declare(f, false);
        ring.declare(f);
        connection.declare(f, false);
        talk.declare(f);
    }
    void check(const flags& f) const
    {
        if (out.empty())
            throw usage_error("--out is needed: the file to write, or - for stdout");
        if (out == "-" && talk.json)
            throw usage_error("--json and --out='-' both want stdout: name a file");
        stream.check();
        connection.check(f, false);
    }
};

summary summarise(const message_sink& sink, const source& from, const std::string& ended)
{
    summary s;
    s.command = "receive";
    s.messages = sink.messages();
    s.bytes = sink.bytes();
    s.seconds = sink.seconds_from_arrival();
    s.ended = ended;
    s.counters = from.counters();
    s.more["gaps"] = sink.gaps();
    return s;
}

} // namespace

int receive_command(const words& args, stop_signals& signals)
{
    receive_options o;
    flags f("gr-rdma receive", about, examples);
    o.declare(f);
    if (!f.parse(args)) {
        std::printf("%s", f.help().c_str());
        return 0;
    }
    o.check(f);
    log_to_stderr();
    const std::size_t item = core::sample_bytes(core::parse_sample(o.stream.sample));
    const auto from = source::make(make_source_config(o.connection, o.stream, o.ring));
    sigmf_metadata metadata;
    metadata.sample = core::parse_sample(o.stream.sample);
    metadata.rate = o.stream.rate;
    metadata.description = "Received over RDMA";
    recording_writer writer(o.out, metadata);
    const auto sink = gnuradio::make_block_sptr<message_sink>(
        writer, item, o.stream.message_bytes / item, o.ring.count, [&signals] {
            signals.wake();
        });
    const auto graph = gr::make_top_block("gr-rdma receive");
    graph->connect(from, 0, sink, 0);

    console talk(o.talk, o.out == "-");
    const std::string ended = run_flowgraph(*graph, *from, *sink, o.ring, signals, talk);
    writer.close();
    finish(summarise(*sink, *from, ended), *from, talk);
    return 0;
}

} // namespace apps
} // namespace rdma
} // namespace gr
