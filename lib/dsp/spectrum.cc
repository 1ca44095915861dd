/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dsp/spectrum.h"

#include "core/sizes.h"
#include "dsp/spectrum_kernels.h"

#include <algorithm>
#include <cstring>
#include <fftw3.h>
#include <new>

namespace gr {
namespace rdma {
namespace dsp {

namespace {

// Samples per call of FFTW: short transforms go in batches that stay in the first cache.
constexpr std::size_t batch_samples = 1024;
// Transforms summed in float before the sum goes to double: 16 roundings stay below 1e-6.
constexpr unsigned float_sums = 16;

template <class T>
struct fftw_array {
    explicit fftw_array(std::size_t n)
        : data(static_cast<T*>(fftwf_malloc(std::max<std::size_t>(n, 1) * sizeof(T))))
    {
        if (!data)
            throw std::bad_alloc();
        std::fill_n(data, n, T{});
    }
    ~fftw_array() { fftwf_free(data); }
    fftw_array(const fftw_array&) = delete;
    fftw_array& operator=(const fftw_array&) = delete;
    T* const data;
};

// Complex bins from one transform of a batch to the next: each begins a cache line.
std::size_t bins_stride(std::size_t bins) { return core::round_up(bins, 8); }

class host_spectrum final : public spectrum
{
public:
    host_spectrum(const spectrum_config& config, std::mutex& planner);
    ~host_spectrum() override;

    progress process(const void* samples,
                     std::size_t n,
                     float* out,
                     std::size_t max_out) noexcept override;
    dropped reset() noexcept override;

private:
    void make_taps(const spectrum_config& config);
    void make_plan();
    void convert(const std::uint8_t* samples,
                 std::size_t first,
                 std::size_t n,
                 float* frame) const noexcept;
    std::size_t transform_pending(float* out) noexcept;
    void add_frame(const float* bins) noexcept;
    void finish_average(float* out) noexcept;

    const core::sample_type d_sample;
    const std::size_t d_sample_bytes;
    const bool d_real; // one element per sample; half the bins
    const std::size_t d_length;
    const std::size_t d_hop;
    const std::size_t d_bins;     // computed: length, or length / 2 + 1 of a real signal
    const std::size_t d_stride;   // bins_stride()
    const std::size_t d_elements; // floats per windowed frame
    const std::size_t d_batch;    // transforms per call of FFTW
    const unsigned d_average;
    const bool d_fftshift;
    std::mutex& d_planner;

    fftw_array<float> d_taps;          // one per element, all scale factors folded in
    fftw_array<float> d_frames;        // d_batch windowed frames
    fftw_array<float> d_transforms;    // d_batch of d_bins, interleaved complex
    fftw_array<float> d_part;          // sum of up to float_sums transforms
    fftw_array<double> d_total;        // sum of the parts
    fftw_array<float> d_mean;          // one finished average, before its order is chosen
    std::vector<std::uint8_t> d_carry; // samples taken, from the next frame's first on
    std::size_t d_carried = 0;         // how many, below d_length
    fftwf_plan d_plan = nullptr;

    std::size_t d_pending = 0; // frames windowed and not transformed yet
    unsigned d_summed = 0;     // transforms in d_part and d_total
    series_counts d_counts;
};

host_spectrum::host_spectrum(const spectrum_config& config, std::mutex& planner)
    : d_sample(config.sample),
      d_sample_bytes(core::sample_bytes(config.sample)),
      d_real(config.sample == core::sample_type::byte),
      d_length(config.length),
      d_hop(config.hop()),
      d_bins(d_real ? d_length / 2 + 1 : d_length),
      d_stride(bins_stride(d_bins)),
      d_elements(d_real ? d_length : 2 * d_length),
      d_batch(std::max<std::size_t>(1, batch_samples / d_length)),
      d_average(config.average),
      d_fftshift(config.fftshift),
      d_planner(planner),
      d_taps(d_elements),
      d_frames(d_batch * d_elements),
      d_transforms(d_batch * d_stride * 2),
      d_part(d_bins),
      d_total(d_bins),
      d_mean(d_bins),
      d_carry(d_length * d_sample_bytes)
{
    make_taps(config);
    make_plan();
}

host_spectrum::~host_spectrum()
{
    std::lock_guard<std::mutex> lock(d_planner);
    fftwf_destroy_plan(d_plan);
}

void host_spectrum::make_taps(const spectrum_config& config)
{
    const auto taps = scaled_taps(config);
    const std::size_t per_sample = d_elements / d_length;
    for (std::size_t i = 0; i < d_elements; ++i)
        d_taps.data[i] = taps[i / per_sample];
}

void host_spectrum::make_plan()
{
    const int n = static_cast<int>(d_length);
    const int many = static_cast<int>(d_batch);
    const int stride = static_cast<int>(d_stride);
    auto* const bins_out = reinterpret_cast<fftwf_complex*>(d_transforms.data);
    auto* const complex_in = reinterpret_cast<fftwf_complex*>(d_frames.data);
    const unsigned flags = FFTW_MEASURE | FFTW_DESTROY_INPUT;

    std::lock_guard<std::mutex> lock(d_planner);
    d_plan = d_real ? fftwf_plan_many_dft_r2c(1,
                                              &n,
                                              many,
                                              d_frames.data,
                                              nullptr,
                                              1,
                                              n,
                                              bins_out,
                                              nullptr,
                                              1,
                                              stride,
                                              flags)
                    : fftwf_plan_many_dft(1,
                                          &n,
                                          many,
                                          complex_in,
                                          nullptr,
                                          1,
                                          n,
                                          bins_out,
                                          nullptr,
                                          1,
                                          stride,
                                          FFTW_FORWARD,
                                          flags);
    if (!d_plan)
        throw std::bad_alloc(); // FFTW has a plan for every size; only memory can lack
}

// Samples [first, first + n) of a frame.
void host_spectrum::convert(const std::uint8_t* samples,
                            std::size_t first,
                            std::size_t n,
                            float* frame) const noexcept
{
    const std::size_t per_sample = d_real ? 1 : 2;
    const float* const taps = d_taps.data + first * per_sample;
    float* const out = frame + first * per_sample;
    n *= per_sample;
    switch (d_sample) {
    case core::sample_type::cu8:
        return window_u8(samples, taps, out, n);
    case core::sample_type::sc8:
    case core::sample_type::byte:
        return window_s8(reinterpret_cast<const std::int8_t*>(samples), taps, out, n);
    case core::sample_type::sc16:
        return window_s16(reinterpret_cast<const std::int16_t*>(samples), taps, out, n);
    case core::sample_type::fc32:
        return window_f32(reinterpret_cast<const float*>(samples), taps, out, n);
    }
}

spectrum::progress host_spectrum::process(const void* samples,
                                          std::size_t n,
                                          float* out,
                                          std::size_t max_out) noexcept
{
    if (n == 0)
        return { 0, 0 };
    const auto* const in = static_cast<const std::uint8_t*>(samples);
    // Positions count from the first carried sample; the input starts at `carried`.
    const std::size_t carried = d_carried;
    const std::size_t end = carried + n;
    std::size_t frame = 0;
    std::size_t produced = 0;
    std::size_t due = 0; // vectors that the pending frames complete

    while (frame + d_length <= end) {
        const bool completes = (d_summed + d_pending + 1) % d_average == 0;
        if (completes && produced + due == max_out)
            break;
        float* const slot = d_frames.data + d_pending * d_elements;
        const std::size_t old = frame < carried ? carried - frame : 0;
        if (old)
            convert(d_carry.data() + frame * d_sample_bytes, 0, old, slot);
        convert(in + (frame + old - carried) * d_sample_bytes, old, d_length - old, slot);
        due += completes;
        ++d_counts.frames;
        frame += d_hop;
        if (++d_pending == d_batch) {
            produced += transform_pending(out + produced * d_length);
            due = 0;
        }
    }
    // Frames that complete nothing wait for the batch to fill.
    if (due)
        produced += transform_pending(out + produced * d_length);

    const std::size_t taken = std::min(end, frame + d_length - 1);
    const std::size_t kept = frame < carried ? carried - frame : 0;
    std::memmove(d_carry.data(),
                 d_carry.data() + (carried - kept) * d_sample_bytes,
                 kept * d_sample_bytes);
    d_carried = taken - frame;
    std::memcpy(d_carry.data() + kept * d_sample_bytes,
                in + (frame + kept - carried) * d_sample_bytes,
                (d_carried - kept) * d_sample_bytes);
    d_counts.samples += taken - carried;
    d_counts.averages += produced;
    return { taken - carried, produced };
}

// A batch that is not full is transformed whole: the same plan gives the same bits, and
// what the unused places hold goes nowhere.
std::size_t host_spectrum::transform_pending(float* out) noexcept
{
    fftwf_execute(d_plan);
    std::size_t produced = 0;
    for (std::size_t i = 0; i < d_pending; ++i) {
        add_frame(d_transforms.data + i * 2 * d_stride);
        if (d_summed == d_average) {
            finish_average(out + produced++ * d_length);
            d_summed = 0;
        }
    }
    d_pending = 0;
    return produced;
}

void host_spectrum::add_frame(const float* bins) noexcept
{
    const unsigned in_part = d_summed % float_sums;
    if (in_part == 0)
        power_set(bins, d_part.data, d_bins);
    else
        power_add(bins, d_part.data, d_bins);
    ++d_summed;
    if (d_average > float_sums && (in_part == float_sums - 1 || d_summed == d_average)) {
        if (d_summed <= float_sums)
            std::fill_n(d_total.data, d_bins, 0.0);
        total_add(d_part.data, d_total.data, d_bins);
    }
}

void host_spectrum::finish_average(float* out) noexcept
{
    const std::size_t half = d_length / 2;
    float* const mean = d_real ? d_mean.data : out;
    const auto scale = [&](float* to, std::size_t first, std::size_t n) {
        if (d_average > float_sums)
            scale_f64(d_total.data + first, 1.0 / d_average, to, n);
        else
            scale_f32(d_part.data + first, static_cast<float>(1.0 / d_average), to, n);
    };
    if (!d_real && d_fftshift) {
        scale(out, half, half);
        scale(out + half, 0, half);
        return;
    }
    scale(mean, 0, d_bins);
    if (!d_real)
        return;
    const std::size_t zero = d_fftshift ? half : 0;
    for (std::size_t k = 0; k < d_length; ++k)
        out[(k + zero) % d_length] = mean[k <= half ? k : d_length - k];
}

spectrum::dropped host_spectrum::reset() noexcept
{
    const dropped lost = d_counts.lost(d_length, d_hop, d_average);
    d_carried = 0;
    d_pending = 0;
    d_summed = 0;
    d_counts = {};
    return lost;
}

} // namespace

std::unique_ptr<spectrum> make_host_spectrum(const spectrum_config& config,
                                             std::mutex& planner)
{
    validate(config);
    validate_window(config);
    return std::make_unique<host_spectrum>(config, planner);
}

} // namespace dsp
} // namespace rdma
} // namespace gr
