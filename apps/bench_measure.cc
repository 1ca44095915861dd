/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench_measure.h"

#include "core/clock.h"
#include "usage_error.h"

#include <algorithm>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace apps {

namespace {

constexpr int warm_up_ms = 200;
constexpr std::int64_t first_byte_ns = 10000000000;

double cpu_seconds()
{
    rusage u;
    getrusage(RUSAGE_SELF, &u);
    const auto seconds = [](const timeval& t) {
        return double(t.tv_sec) + 1e-6 * double(t.tv_usec);
    };
    return seconds(u.ru_utime) + seconds(u.ru_stime);
}

} // namespace

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    return n == 0 ? 0 : (values[(n - 1) / 2] + values[n / 2]) / 2;
}

double percentile_99(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values.empty() ? 0 : values[(values.size() - 1) * 99 / 100];
}

double series::low() const { return *std::min_element(rates.begin(), rates.end()); }
double series::high() const { return *std::max_element(rates.begin(), rates.end()); }

double series::lost() const
{
    return reliable || sent <= 0 ? 0 : std::max(0.0, 1 - received / sent);
}

traffic_config loopback_config(std::uint32_t mtu, std::uint64_t message_bytes)
{
    // An own pair in 127.5.0.0/16, so that nothing else on this machine is in the way.
    const int pid = getpid();
    const std::string net = "127.5." + std::to_string(pid / 120 % 254 + 1) + ".";
    traffic_config c;
    c.from = net + std::to_string(2 * (pid % 120) + 1);
    c.to = net + std::to_string(2 * (pid % 120) + 2);
    c.mtu = mtu;
    c.message_bytes = message_bytes;
    return c;
}

bool measure(const path& p,
             const traffic_config& config,
             double seconds,
             stop_signals& signals,
             series& into)
{
    const auto busy = p.make(config);
    const std::int64_t begin = core::monotonic_ns();
    while (busy->received() == 0) {
        if (signals.received())
            return false;
        if (core::monotonic_ns() - begin > first_byte_ns)
            throw run_error(std::string(p.name) + ": nothing arrived within 10 s");
        signals.wait(10);
    }
    signals.wait(warm_up_ms);
    const std::int64_t t0 = core::monotonic_ns();
    const std::uint64_t received0 = busy->received(), sent0 = busy->sent();
    const double cpu0 = cpu_seconds();
    signals.wait(static_cast<int>(seconds * 1e3));
    const std::int64_t t1 = core::monotonic_ns();
    const double received = double(busy->received() - received0);
    into.sent += double(busy->sent() - sent0);
    into.received += received;
    into.cpu_seconds += cpu_seconds() - cpu0;
    into.rates.push_back(received / (double(t1 - t0) * 1e-9));
    return !signals.received();
}

bool find_lossless(const path& p,
                   traffic_config config,
                   double seconds,
                   stop_signals& signals,
                   series& into)
{
    double best = 0;
    for (config.rate = 1e5; config.rate < 20e9; config.rate *= 1.25) {
        const auto busy = p.make(config);
        const std::int64_t t0 = core::monotonic_ns();
        const double cpu0 = cpu_seconds();
        signals.wait(static_cast<int>(seconds * 1e3));
        busy->end_sending();
        const double elapsed = double(core::monotonic_ns() - t0) * 1e-9;
        const std::uint64_t sent = busy->sent();
        // What is under way may come in pieces, a quarter of a second apart.
        std::uint64_t before = UINT64_MAX;
        while (busy->received() < sent && busy->received() != before &&
               !signals.received()) {
            before = busy->received();
            signals.wait(600);
        }
        if (signals.received())
            return false;
        if (busy->received() < sent)
            break;
        best = double(sent) / elapsed;
        into.sent = into.received = double(sent);
        into.cpu_seconds = cpu_seconds() - cpu0;
    }
    into.rates.push_back(best);
    return true;
}

} // namespace apps
} // namespace rdma
} // namespace gr
