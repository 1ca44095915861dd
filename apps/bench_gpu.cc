/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench_gpu_blocks.h"
#include "bench_gpu_latency.h"
#include "bench_gpu_spectra.h"
#include "bench_measure.h"
#include "commands.h"
#include "console.h"
#include "core/clock.h"
#include "core/sizes.h"
#include "cuda/device.h"
#include "cuda/error.h"
#include "machine.h"
#include "receiving.h"
#include "usage_error.h"

#include <gnuradio/top_block.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

namespace gr {
namespace rdma {
namespace apps {

namespace {

constexpr const char* about =
    "Usage: gr-rdma bench gpu [flags]\n\n"
    "Measures the way of samples through GPU memory and GNU Radio's scheduler, in one "
    "run: the copy engine in a NIC's place writes messages into a ring, and a kernel "
    "reads every byte, beside the copies alone; and the time from a polled completion to "
    "a kernel that has run, beside an ordinary block that launches the same kernel; of a "
    "device block that sleeps (wait=event) and of one that spins (wait=busy); and "
    "samples over loopback to spectra of the GPU, beside network.udp_source, cudaMemcpy "
    "and the same kernels.";
constexpr const char* examples =
    "Rates are medians of the rounds. Latencies are of an idle GPU, one message at a "
    "time.\n";
constexpr std::size_t message_sizes[] = {
    64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20
};
constexpr std::size_t host_bytes = 256 << 20;

struct gpu_options {
    talk_options talk;
    std::string memory = "cuda:0";
    std::uint64_t rounds = 3;
    std::uint64_t samples = 2000;
    double seconds = 1;

    void declare(flags& f)
    {
        f.group("Measurement");
        f.text("memory", memory, "cuda:N", "the GPU: its number, UUID or PCI address");
        f.count("rounds", rounds, 1, 1000, "times that all rates are measured in turn");
        f.number("seconds", seconds, 0.01, 3600, "SECONDS", "of one measurement");
        f.count("samples", samples, 10, 1000000, "messages of one latency measurement");
        talk.declare(f);
    }
};

struct rate_series {
    std::size_t message_bytes;
    std::vector<double> raw, ring; // bytes per second
    double ratio() const { return median(ring) / median(raw); }
};

//! What the measurements share.
struct bench_gpu {
    bench_gpu(const gpu_options& options, stop_signals& s)
        : o(options),
          signals(s),
          gpu(mem::choose_gpu(o.memory)),
          device(gpu->info().ordinal),
          host(device, host_bytes)
    {
        // Ordinary bytes, not zeros.
        auto* const words = host.as<std::uint32_t>();
        for (std::size_t i = 0; i < host_bytes / 4; ++i)
            words[i] = static_cast<std::uint32_t>(i) * 2654435761u;
    }
    double raw_rate(std::size_t message_bytes);
    double ring_rate(std::size_t message_bytes);

    const gpu_options& o;
    stop_signals& signals;
    const std::shared_ptr<mem::gpu> gpu;
    const int device;
    const cuda::pinned_memory host;
};

// Copies of the messages' size alone, never fewer than a group of them under way.
double bench_gpu::raw_rate(std::size_t message_bytes)
{
    constexpr int group = 16;
    cuda::use_device(device);
    const cuda::device_memory to(device, host_bytes);
    const cuda::stream work(device);
    const cuda::event done[2] = { cuda::event(device), cuda::event(device) };
    const auto until = core::monotonic_ns() + static_cast<std::int64_t>(o.seconds * 1e9);
    const std::int64_t begin = core::monotonic_ns();
    std::uint64_t copied = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; core::monotonic_ns() < until; ++i) {
        for (int k = 0; k < group; ++k) {
            cuda::check(cuda::copy_async(to.as<std::byte>() + at,
                                         host.as<std::byte>() + at,
                                         message_bytes,
                                         work.ref()),
                        "cudaMemcpyAsync");
            at = (at + message_bytes) % host_bytes;
        }
        copied += group * message_bytes;
        cuda::check(work.ref().record(done[i % 2]), "cudaEventRecord");
        cuda::check(done[(i + 1) % 2].wait(), "cudaEventSynchronize"); // the group before
    }
    cuda::check(work.ref().wait(), "cudaStreamSynchronize");
    return double(copied) / (double(core::monotonic_ns() - begin) * 1e-9);
}

double bench_gpu::ring_rate(std::size_t message_bytes)
{
    const auto top = gr::make_top_block("gr-rdma bench gpu");
    const auto source =
        gnuradio::make_block_sptr<copy_engine_source>(gpu, host, message_bytes);
    const auto sink = gnuradio::make_block_sptr<reading_sink>(o.memory);
    top->connect(source, 0, sink, 0);
    top->start();
    const auto patience = core::monotonic_ns() + 10000000000;
    while (sink->bytes() == 0 && core::monotonic_ns() < patience && !signals.received())
        signals.wait(1);
    signals.wait(100);
    const std::int64_t t0 = core::monotonic_ns();
    const std::uint64_t before = sink->bytes();
    signals.wait(static_cast<int>(o.seconds * 1e3));
    const double seconds = double(core::monotonic_ns() - t0) * 1e-9;
    const std::uint64_t read = sink->bytes() - before;
    top->stop();
    top->wait();
    if (!sink->failure().empty())
        throw run_error(sink->failure());
    if (read == 0 && !signals.received())
        throw run_error("nothing came through the ring within 10 s");
    return double(read) / seconds;
}

//! All that is measured.
struct results {
    std::vector<rate_series> rates;
    std::vector<latency_path> latencies;
    std::vector<spectra_path> spectra;
};

double best_raw(const std::vector<rate_series>& rates)
{
    double best = 0;
    for (const auto& s : rates)
        best = std::max(best, median(s.raw));
    return best;
}

void print_spectra(const std::vector<spectra_path>& spectra)
{
    std::printf("\n%-32s  %10s  %8s  %10s  %10s\n",
                "network to spectra",
                "rate",
                "CPU s/GB",
                "median",
                "99th");
    for (const auto& s : spectra)
        std::printf("%-32s  %10s  %8.2f  %7.0f us  %7.0f us%s\n",
                    s.name,
                    human_rate(s.rates.rate()).c_str(),
                    s.rates.cpu_per_gigabyte(),
                    median(s.microseconds),
                    percentile_99(s.microseconds),
                    s.rates.reliable ? "" : "  (highest rate without loss)");
}

void print_table(const bench_gpu& b, const results& r)
{
    const auto& rates = r.rates;
    const machine_description m = describe_machine();
    std::printf("%s, %u CPUs, Linux %s, %s, load %s\n",
                m.cpu.c_str(),
                m.cpus,
                m.kernel.c_str(),
                b.gpu->info().describe().c_str(),
                m.load.c_str());
    std::printf("gr-rdma %s, %llu rounds of %g s, %llu messages\n\n",
                version(),
                static_cast<unsigned long long>(b.o.rounds),
                b.o.seconds,
                static_cast<unsigned long long>(b.o.samples));
    std::printf("%10s  %14s  %22s  %5s  %s\n",
                "message",
                "copies alone",
                "ring and kernel",
                "ratio",
                "to the best copies");
    for (const auto& s : rates)
        std::printf("%10s  %14s  %22s  %5.3f  %.3f\n",
                    core::human_bytes(s.message_bytes).c_str(),
                    human_rate(median(s.raw)).c_str(),
                    human_rate(median(s.ring)).c_str(),
                    s.ratio(),
                    median(s.ring) / best_raw(rates));
    print_latencies(r.latencies);
    print_spectra(r.spectra);
}

void print_json(const bench_gpu& b, const results& r)
{
    const auto& rates = r.rates;
    const machine_description m = describe_machine();
    nlohmann::ordered_json out;
    out["command"] = "bench gpu";
    out["version"] = version();
    out["machine"] = { { "cpu", m.cpu },
                       { "cpus", m.cpus },
                       { "kernel", m.kernel },
                       { "gpu", b.gpu->info().describe() },
                       { "load", m.load } };
    out["rounds"] = b.o.rounds;
    out["seconds"] = b.o.seconds;
    auto& of_rate = out["rates"] = nlohmann::ordered_json::array();
    for (const auto& s : rates)
        of_rate.push_back({ { "message_bytes", s.message_bytes },
                            { "raw_bytes_per_second", median(s.raw) },
                            { "ring_bytes_per_second", median(s.ring) },
                            { "ratio", s.ratio() },
                            { "ratio_to_best", median(s.ring) / best_raw(rates) } });
    out["latencies"] = to_json(r.latencies);
    auto& of_spectra = out["spectra"] = nlohmann::ordered_json::array();
    for (const auto& s : r.spectra)
        of_spectra.push_back({ { "path", s.name },
                               { "mtu", s.rates.mtu },
                               { "bytes_per_second", s.rates.rate() },
                               { "cpu_seconds_per_gigabyte", s.rates.cpu_per_gigabyte() },
                               { "messages", s.microseconds.size() },
                               { "median_us", median(s.microseconds) },
                               { "p99_us", percentile_99(s.microseconds) } });
    std::printf("%s\n", out.dump().c_str());
}

// Until a signal.
results measure_all(bench_gpu& b, console& talk)
{
    results r = { {}, latency_paths(), spectra_paths(b.o.memory, b.device) };
    for (const std::size_t bytes : message_sizes)
        r.rates.push_back({ bytes, {}, {} });
    for (std::uint64_t round = 0; round < b.o.rounds && !b.signals.received(); ++round) {
        talk.progress("round " + std::to_string(round + 1) + " of " +
                      std::to_string(b.o.rounds));
        for (auto& s : r.rates) {
            s.raw.push_back(b.raw_rate(s.message_bytes));
            s.ring.push_back(b.ring_rate(s.message_bytes));
        }
        for (auto& s : r.latencies)
            measure_round(s, b.o.memory, b.gpu, b.o.samples, b.signals);
        for (auto& s : r.spectra)
            if (!measure_round(s, b.o.seconds, b.o.samples, b.signals))
                return r;
    }
    for (auto& s : r.spectra) {
        if (b.signals.received())
            break;
        if (s.rates.reliable)
            continue;
        talk.progress(std::string(s.name) + " at rising rates");
        if (!measure_lossless(s, b.o.seconds, b.signals))
            break;
    }
    return r;
}

} // namespace

int bench_gpu_command(const words& args, stop_signals& signals)
{
    gpu_options o;
    flags f("gr-rdma bench gpu", about, examples);
    o.declare(f);
    if (!f.parse(args)) {
        std::printf("%s", f.help().c_str());
        return 0;
    }
    if (o.memory == "host" || o.memory == "auto")
        throw usage_error("--memory='" + o.memory + "': name the GPU, such as cuda:0");
    log_to_stderr();
    console talk(o.talk, false);
    bench_gpu b(o, signals);
    const results r = measure_all(b, talk);
    talk.clear();
    if (signals.received()) {
        talk.note(std::string("ended=") + signals.name());
        return 0; // a part of a comparison is none
    }
    if (o.talk.json)
        print_json(b, r);
    else
        print_table(b, r);
    return 0;
}

} // namespace apps
} // namespace rdma
} // namespace gr
