/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench_measure.h"
#include "commands.h"
#include "console.h"
#include "core/sizes.h"
#include "machine.h"
#include "receiving.h"
#include "usage_error.h"

#include <algorithm>
#include <cstdio>

namespace gr {
namespace rdma {
namespace apps {

namespace {

constexpr const char* about =
    "Usage: gr-rdma bench softroce [flags], or gr-rdma bench gpu [flags]\n\n"
    "Softroce: measures RC and UC into rdma.source over loopback, beside a bare "
    "recvmmsg() loop without any protocol and GNU Radio's network.udp_source: all in one "
    "run, senders and receivers in one process, each sender as fast as it can. Gpu: the "
    "way through GPU memory; see gr-rdma bench gpu --help.";
constexpr const char* examples =
    "The result is the median of the rounds. Ratios are to the bare loop at the same "
    "MTU.\n"
    "lost: of what was sent; UDP and UC lose what the receiver does not take in time.\n";

struct bench_options {
    talk_options talk;
    std::uint64_t rounds = 3;
    std::uint64_t message_bytes = 1u << 20;
    double seconds = 1;

    void declare(flags& f)
    {
        f.group("Measurement");
        f.count("rounds", rounds, 1, 1000, "times that all paths are measured in turn");
        f.number("seconds", seconds, 0.01, 3600, "SECONDS", "of one measurement");
        f.bytes("message-bytes", message_bytes, "payload of one RDMA message");
        talk.declare(f);
    }
};

const std::vector<path>& paths()
{
    static const std::vector<path> all = {
        { "bare recvmmsg scatter loop", make_bare_traffic, false },
        { "rdma.source, RC",
          [](const traffic_config& c) {
              return make_source_traffic(c, io::service_type::rc);
          },
          true },
        { "rdma.source, RC, scatter",
          [](const traffic_config& c) {
              receiving r;
              r.receive = "scatter";
              return make_source_traffic(c, io::service_type::rc, r);
          },
          true },
        { "rdma.source, UC",
          [](const traffic_config& c) {
              return make_source_traffic(c, io::service_type::uc);
          },
          false },
        { "network.udp_source",
          [](const traffic_config& c) { return make_udp_source_traffic(c); },
          false },
    };
    return all;
}

std::string short_number(double value)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", value);
    return text;
}

double bare_rate(const std::vector<series>& all, std::uint32_t mtu)
{
    for (const auto& s : all)
        if (s.mtu == mtu && s.path == paths().front().name)
            return s.rate();
    return 0;
}

void print_table(const bench_options& o, const std::vector<series>& all)
{
    const machine_description m = describe_machine();
    std::printf("%s, %u CPUs, Linux %s, net.core.rmem_max=%s, load %s\n",
                m.cpu.c_str(),
                m.cpus,
                m.kernel.c_str(),
                m.rmem_max.c_str(),
                m.load.c_str());
    std::printf("gr-rdma %s, messages of %s, %llu rounds of %g s, median\n\n",
                version(),
                core::human_bytes(o.message_bytes).c_str(),
                static_cast<unsigned long long>(o.rounds),
                o.seconds);
    std::printf("%5s  %-28s %10s  %-21s %6s  %8s  %s\n",
                "MTU",
                "path",
                "rate",
                "lowest to highest",
                "lost",
                "CPU s/GB",
                "ratio");
    for (const auto& s : all)
        std::printf("%5u  %-28s %10s  %-21s %5.1f%%  %8s  %.2f\n",
                    s.mtu,
                    s.path,
                    human_rate(s.rate()).c_str(),
                    (human_rate(s.low()) + " to " + human_rate(s.high())).c_str(),
                    100 * s.lost(),
                    s.cpu_seconds > 0 ? short_number(s.cpu_per_gigabyte()).c_str() : "",
                    s.rate() / bare_rate(all, s.mtu));
}

void print_json(const bench_options& o, const std::vector<series>& all)
{
    const machine_description m = describe_machine();
    nlohmann::ordered_json out;
    out["command"] = "bench softroce";
    out["version"] = version();
    out["machine"] = { { "cpu", m.cpu },
                       { "cpus", m.cpus },
                       { "kernel", m.kernel },
                       { "rmem_max", m.rmem_max },
                       { "load", m.load } };
    out["rounds"] = o.rounds;
    out["seconds"] = o.seconds;
    out["message_bytes"] = o.message_bytes;
    auto& results = out["results"] = nlohmann::ordered_json::array();
    for (const auto& s : all)
        results.push_back({ { "mtu", s.mtu },
                            { "path", s.path },
                            { "bytes_per_second", s.rate() },
                            { "lowest", s.low() },
                            { "highest", s.high() },
                            { "lost", s.lost() },
                            { "cpu_seconds_per_gigabyte", s.cpu_per_gigabyte() },
                            { "ratio", s.rate() / bare_rate(all, s.mtu) } });
    std::printf("%s\n", out.dump().c_str());
}

} // namespace

int bench_command(const words& args, stop_signals& signals)
{
    if (!args.empty() && args[0] == "gpu") {
#ifdef RDMA_HAVE_CUDA
        return bench_gpu_command(words(args.begin() + 1, args.end()), signals);
#else
        throw run_error("bench gpu: this gr-rdma was built without CUDA");
#endif
    }
    bench_options o;
    flags f("gr-rdma bench softroce", about, examples);
    o.declare(f);
    const bool named = !args.empty() && args[0] == "softroce";
    if (!named && !(args.size() == 1 && (args[0] == "--help" || args[0] == "-h")))
        throw usage_error(
            args.empty() ? "softroce or gpu is needed: gr-rdma bench softroce"
                         : "'" + args[0] + "' is no benchmark: give softroce or gpu");
    if (!f.parse(words(args.begin() + (named ? 1 : 0), args.end()))) {
        std::printf("%s", f.help().c_str());
        return 0;
    }
    if (o.message_bytes % 4)
        throw usage_error("--message-bytes='" + std::to_string(o.message_bytes) +
                          "': give a multiple of 4");
    log_to_stderr();
    console talk(o.talk, false);
    std::vector<series> all;
    for (const std::uint32_t mtu : { 1024u, 4096u })
        for (const auto& p : paths())
            all.push_back({ mtu, p.name, p.reliable, {} });
    // Once: it takes many short measurements.
    std::vector<series> lossless;
    for (std::uint64_t round = 0; round < o.rounds; ++round) {
        std::size_t i = 0;
        for (auto& s : all) {
            const path& p = paths()[i++ % paths().size()];
            talk.progress("round " + std::to_string(round + 1) + " of " +
                          std::to_string(o.rounds) + ": " + p.name + ", MTU " +
                          std::to_string(s.mtu));
            if (!measure(
                    p, loopback_config(s.mtu, o.message_bytes), o.seconds, signals, s)) {
                talk.note(std::string("ended=") + signals.name());
                return 0; // a part of a comparison is none
            }
        }
    }
    for (const std::uint32_t mtu : { 1024u, 4096u }) {
        talk.progress("network.udp_source at rising rates, MTU " + std::to_string(mtu));
        lossless.push_back({ mtu, "network.udp_source, lossless", false, {} });
        if (!find_lossless(paths().back(),
                           loopback_config(mtu, o.message_bytes),
                           std::min(o.seconds, 0.5),
                           signals,
                           lossless.back())) {
            talk.note(std::string("ended=") + signals.name());
            return 0;
        }
    }
    // Beside its like: the order is by MTU.
    for (auto& s : lossless)
        all.insert(std::find_if(all.begin(),
                                all.end(),
                                [&](const series& o) { return o.mtu > s.mtu; }),
                   s);
    talk.clear();
    if (o.talk.json)
        print_json(o, all);
    else
        print_table(o, all);
    return 0;
}

} // namespace apps
} // namespace rdma
} // namespace gr
