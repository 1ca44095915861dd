/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench_gpu_latency.h"

#include "bench_gpu_blocks.h"
#include "bench_measure.h"
#include "core/clock.h"
#include "core/relax.h"
#include "cuda/device.h"
#include "cuda/error.h"
#include "cuda/probe_kernel.h"
#include "usage_error.h"

#include <gnuradio/top_block.h>

#include <algorithm>
#include <cstdio>

namespace gr {
namespace rdma {
namespace apps {

namespace {

constexpr std::uint32_t warm_up = 20;
constexpr std::int64_t patience_ns = 10000000000;

double microseconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-3; }

//! \return when the kernel's number was seen; 0 if it never was
std::int64_t await_flag(const latency_probe& probe, std::uint32_t n)
{
    const auto patience = core::monotonic_ns() + patience_ns;
    while (probe.flag() != n) {
        if (core::monotonic_ns() >= patience)
            return 0;
        core::relax();
    }
    return core::monotonic_ns();
}

void launch_alone(latency_path& p,
                  int device,
                  std::uint64_t samples,
                  stop_signals& signals)
{
    cuda::use_device(device);
    const latency_probe probe(device);
    const cuda::stream work(device);
    for (std::uint32_t n = 1; n <= samples + warm_up && !signals.received(); ++n) {
        const std::int64_t begin = core::monotonic_ns();
        cuda::check(cuda::launch_probe(probe.memory.as<std::uint32_t>(), n, work.ref()),
                    "cudaLaunchKernel");
        const std::int64_t launched = core::monotonic_ns();
        const std::int64_t seen = await_flag(probe, n);
        if (seen == 0)
            throw run_error("no kernel ran within 10 s");
        if (n > warm_up) {
            p.whole.push_back(microseconds(seen - begin));
            p.launch.push_back(microseconds(launched - begin));
        }
        signals.wait(1);
    }
}

const latency_path& ordinary(const std::vector<latency_path>& paths)
{
    return *std::find_if(paths.begin(), paths.end(), [](const latency_path& p) {
        return p.what == latency_path::kind::ordinary_block;
    });
}

} // namespace

std::vector<latency_path> latency_paths()
{
    using kind = latency_path::kind;
    return {
        { "the launch alone, no blocks", kind::kernel_alone, nullptr, {}, {}, {} },
        { "gr::sync_block, ordinary buffer", kind::ordinary_block, nullptr, {}, {}, {} },
        { "device block, wait=event", kind::device_block, "event", {}, {}, {} },
        { "device block, wait=busy", kind::device_block, "busy", {}, {}, {} }
    };
}

void measure_round(latency_path& p,
                   const std::string& memory,
                   const std::shared_ptr<mem::gpu>& gpu,
                   std::uint64_t samples,
                   stop_signals& signals)
{
    const int device = gpu->info().ordinal;
    if (p.what == latency_path::kind::kernel_alone)
        return launch_alone(p, device, samples, signals);
    latency_probe probe(device);
    const auto top = gr::make_top_block("gr-rdma bench gpu");
    if (p.what == latency_path::kind::device_block)
        top->connect(make_completion_source(probe, gpu),
                     0,
                     make_flag_sink(probe, memory, p.wait),
                     0);
    else
        top->connect(make_stock_source(probe), 0, make_stock_flag_sink(probe, device), 0);
    top->start();
    bool ran = true;
    for (std::uint32_t n = 1; ran && n <= samples + warm_up && !signals.received(); ++n) {
        probe.wanted = n;
        const std::int64_t seen = await_flag(probe, n);
        ran = seen != 0;
        signals.wait(1); // whoever sleeps is asleep again, and the launch has returned
        if (!ran || n <= warm_up)
            continue;
        p.whole.push_back(microseconds(seen - probe.produced_ns));
        p.to_work.push_back(microseconds(probe.entered_ns - probe.produced_ns));
        p.launch.push_back(microseconds(probe.launched_ns - probe.entered_ns));
    }
    probe.ended = true;
    top->stop();
    top->wait();
    if (!ran)
        throw run_error("no kernel ran within 10 s");
}

void print_latencies(const std::vector<latency_path>& paths)
{
    const latency_path& base = ordinary(paths);
    std::printf("\n%-32s  %10s  %10s  %23s  %12s  %9s\n",
                "completion to kernel",
                "median",
                "99th",
                "to the ordinary block's",
                "until work()",
                "in launch");
    for (const auto& p : paths) {
        std::printf("%-32s  %7.1f us  %7.1f us  ",
                    p.name,
                    median(p.whole),
                    percentile_99(p.whole));
        if (p.to_work.empty())
            std::printf("%23s  %12s  ", "", "");
        else
            std::printf("%14.2f and %.2f  %9.1f us  ",
                        median(p.whole) / median(base.whole),
                        percentile_99(p.whole) / percentile_99(base.whole),
                        median(p.to_work));
        std::printf("%6.1f us\n", median(p.launch));
    }
}

nlohmann::ordered_json to_json(const std::vector<latency_path>& paths)
{
    const latency_path& base = ordinary(paths);
    auto out = nlohmann::ordered_json::array();
    for (const auto& p : paths) {
        nlohmann::ordered_json one = { { "path", p.name },
                                       { "median_us", median(p.whole) },
                                       { "p99_us", percentile_99(p.whole) },
                                       { "launch_us", median(p.launch) } };
        if (!p.to_work.empty()) {
            one["to_work_us"] = median(p.to_work);
            one["median_ratio"] = median(p.whole) / median(base.whole);
            one["p99_ratio"] = percentile_99(p.whole) / percentile_99(base.whole);
        }
        out.push_back(std::move(one));
    }
    return out;
}

} // namespace apps
} // namespace rdma
} // namespace gr
