/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench_gpu_spectra.h"

#include "core/clock.h"
#include "cuda/device.h"
#include "cuda/error.h"
#include "cuda/memory.h"
#include "cuda/spectrum.h"
#include "cuda/stream.h"
#include "usage_error.h"

#include <gnuradio/blocks/null_sink.h>
#include <gnuradio/fft/window.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/rdma/error.h>
#include <gnuradio/rdma/spectrometer.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

namespace gr {
namespace rdma {
namespace apps {

namespace {

constexpr std::size_t sample_bytes = 4;
constexpr std::size_t length = 1024;
constexpr unsigned average = 16;
constexpr std::size_t vector_bytes = sample_bytes * length * average; // of samples
constexpr std::uint32_t mtu = 4096;
constexpr std::uint64_t rate_message = 1 << 20;
constexpr std::int64_t patience_ns = 2000000000;
// Of one call, at most: ordinary buffers hold less.
constexpr std::size_t most_bytes = 4 << 20;

// What rdma.spectrometer's defaults are, for the same vectors.
dsp::spectrum_config spectra()
{
    dsp::spectrum_config c;
    c.length = length;
    c.average = average;
    c.window = fft::window::build(fft::window::WIN_HANN, static_cast<int>(length + 1), 0);
    c.window.resize(length);
    return c;
}

class copying_spectrometer : public gr::block
{
public:
    explicit copying_spectrometer(int device)
        : gr::block("copying_spectrometer",
                    io_signature::make(1, 1, static_cast<int>(sample_bytes)),
                    io_signature::make(1, 1, static_cast<int>(length * sizeof(float)))),
          d_stream((cuda::use_device(device), device)),
          d_samples(device, most_bytes),
          d_spectrum(spectra(), settings(device), d_stream.ref())
    {
        // Kernels are loaded by their first launch, during which datagrams would be lost.
        std::vector<std::byte> zeros(vector_bytes);
        std::vector<float> vector(length);
        transform(zeros.data(), zeros.size() / sample_bytes, vector.data(), 1);
        d_bytes = 0;
    }
    std::uint64_t bytes() const { return d_bytes; }
    void forecast(int, gr_vector_int& ninput_items_required) override
    {
        ninput_items_required[0] = 1;
    }
    bool start() override
    {
        cuda::use_device(d_stream.device());
        return gr::block::start();
    }
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override
    {
        const std::size_t n = std::min(static_cast<std::size_t>(ninput_items[0]),
                                       most_bytes / sample_bytes);
        d_taken = 0;
        const std::size_t vectors = transform(input_items[0],
                                              n,
                                              static_cast<float*>(output_items[0]),
                                              static_cast<std::size_t>(noutput_items));
        consume_each(static_cast<int>(d_taken));
        return static_cast<int>(vectors);
    }

private:
    static cuda::spectrum_settings settings(int device)
    {
        cuda::spectrum_settings s;
        s.device = device;
        return s;
    }
    std::size_t
    transform(const void* from, std::size_t n, float* to, std::size_t most_vectors)
    {
        cuda::check(
            cuda::copy_async(d_samples.data(), from, n * sample_bytes, d_stream.ref()),
            "cudaMemcpyAsync");
        d_taken = d_spectrum.submit(d_samples.data(), n, most_vectors);
        std::size_t vectors = 0;
        while (d_spectrum.pending() != 0 && d_spectrum.failure().empty()) {
            d_spectrum.wait();
            vectors += d_spectrum.poll(to + vectors * length, most_vectors - vectors);
        }
        cuda::check(d_stream.ref().wait(), "cudaStreamSynchronize");
        if (!d_spectrum.failure().empty())
            throw cuda_error(0, d_spectrum.failure());
        d_bytes += d_taken * sample_bytes;
        return vectors;
    }

    const cuda::stream d_stream;
    const cuda::device_memory d_samples;
    cuda::spectrum d_spectrum;
    std::size_t d_taken = 0;
    std::atomic<std::uint64_t> d_bytes{ 0 };
};

gr::basic_block_sptr vector_sink()
{
    return gr::blocks::null_sink::make(length * sizeof(float));
}

// rdma.source and rdma.spectrometer wait so; "": each as by default.
std::unique_ptr<traffic> make_source_spectra(const traffic_config& config,
                                             const std::string& memory,
                                             const std::string& wait)
{
    spectrometer_config c;
    c.length = length;
    c.average = average;
    c.memory = memory;
    receiving r;
    r.memory = memory;
    if (!wait.empty())
        r.wait = c.wait = wait;
    const auto vectors = spectrometer::make(c);
    r.behind = { vectors, vector_sink() };
    r.received = [vectors] { return vectors->spectra() * vector_bytes; };
    return make_source_traffic(config, io::service_type::rc, r);
}

std::unique_ptr<traffic> make_udp_spectra(const traffic_config& config, int device)
{
    const auto vectors = gnuradio::make_block_sptr<copying_spectrometer>(device);
    receiving r;
    r.item_bytes = sample_bytes;
    r.behind = { vectors, vector_sink() };
    r.received = [vectors] { return vectors->bytes(); };
    return make_udp_source_traffic(config, r);
}

// Spins for the vector, as the sender would for an answer.
std::vector<double>
latencies(const path& p, double seconds, std::uint64_t samples, stop_signals& signals)
{
    traffic_config config = loopback_config(mtu, vector_bytes);
    config.on_demand = true;
    const auto idle = p.make(config);
    constexpr std::uint64_t warm_up = 5;
    const std::int64_t begin = core::monotonic_ns();
    const auto until = begin + static_cast<std::int64_t>(seconds * 5e9);
    std::vector<double> found;
    for (std::uint64_t n = 1; n <= samples + warm_up && !signals.received(); ++n) {
        const std::int64_t t0 = core::monotonic_ns();
        if (n > warm_up + 1 && t0 > until)
            break;
        idle->send_message();
        std::int64_t t1 = t0;
        while (idle->received() < n * vector_bytes && t1 < t0 + patience_ns)
            t1 = core::monotonic_ns();
        if (idle->received() < n * vector_bytes) {
            if (n > warm_up)
                break; // a datagram was lost
            throw run_error(std::string(p.name) + ": no spectrum came within 2 s");
        }
        if (n > warm_up)
            found.push_back(double(core::monotonic_ns() - t0) * 1e-3);
        signals.wait(1); // whoever sleeps is asleep again
    }
    return found;
}

} // namespace

std::vector<spectra_path> spectra_paths(const std::string& memory, int device)
{
    const auto of_source = [memory](const char* name, const std::string& wait) {
        const path p = { name,
                         [=](const traffic_config& c) {
                             return make_source_spectra(c, memory, wait);
                         },
                         true };
        return spectra_path{ name, p, { mtu, name, true, {} }, {} };
    };
    const char* const udp = "network.udp_source, cudaMemcpy";
    const path p = { udp,
                     [=](const traffic_config& c) { return make_udp_spectra(c, device); },
                     false };
    return { { udp, p, { mtu, udp, false, {} }, {} },
             of_source("rdma.source, RC", ""),
             of_source("rdma.source, RC, wait=busy", "busy") };
}

bool measure_round(spectra_path& p,
                   double seconds,
                   std::uint64_t samples,
                   stop_signals& signals)
{
    if (p.rate_of.reliable &&
        !measure(
            p.rate_of, loopback_config(mtu, rate_message), seconds, signals, p.rates))
        return false;
    const auto found = latencies(p.rate_of, seconds, samples, signals);
    p.microseconds.insert(p.microseconds.end(), found.begin(), found.end());
    return !signals.received();
}

bool measure_lossless(spectra_path& p, double seconds, stop_signals& signals)
{
    return find_lossless(p.rate_of,
                         loopback_config(mtu, rate_message),
                         std::min(seconds, 0.5),
                         signals,
                         p.rates);
}

} // namespace apps
} // namespace rdma
} // namespace gr
