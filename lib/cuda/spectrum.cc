/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cuda/spectrum.h"

#include "cuda/cufft_api.h"
#include "cuda/device.h"
#include "cuda/error.h"

#include <algorithm>
#include <cstring>
#include <cuda_runtime_api.h>
#include <gnuradio/rdma/error.h>
#include <utility>

namespace gr {
namespace rdma {
namespace cuda {

namespace {

// A batch that is not full runs in the smallest plan that holds it; each plan is this
// much larger than the one before.
constexpr unsigned plan_ratio = 4;

unsigned log2_of(std::size_t power_of_two) noexcept
{
    unsigned log2 = 0;
    while (std::size_t(1) << log2 < power_of_two)
        ++log2;
    return log2;
}

unsigned batch_frames(const dsp::spectrum_config& config, std::size_t samples)
{
    // Indices of one launch are 32 bits.
    samples = std::min(samples, std::size_t(1) << 27);
    return static_cast<unsigned>(std::max<std::size_t>(1, samples / config.length));
}

bin_layout layout_of(const dsp::spectrum_config& config)
{
    const auto length = static_cast<unsigned>(config.length);
    const bool real = config.sample == core::sample_type::byte;
    return { length, real ? length / 2 + 1 : length, config.fftshift ? length / 2 : 0 };
}

const dsp::spectrum_config& checked(const dsp::spectrum_config& config,
                                    const spectrum_settings& settings)
{
    dsp::validate(config);
    dsp::validate_window(config);
    if (settings.in_flight == 0)
        throw config_error("in_flight=0 is no number of launches; use 1 or more");
    return config;
}

} // namespace

// Owns a cuFFT plan of `frames` transforms.
struct spectrum::plan {
    explicit plan(unsigned n) : frames(n)
    {
        check_cufft(cufft_api::get().create(&handle), "cufftCreate");
    }
    plan(plan&& other) noexcept
        : frames(other.frames), handle(std::exchange(other.handle, -1))
    {
    }
    ~plan()
    {
        if (handle != -1)
            cufft_api::get().destroy(handle);
    }
    unsigned frames;
    cufftHandle handle = -1;
};

spectrum::slot::slot(int device_number, std::size_t floats)
    : device(device_number, floats * sizeof(float)),
      host(device_number, floats * sizeof(float)),
      finished(device_number, event::blocking)
{
}

spectrum::spectrum(const dsp::spectrum_config& config,
                   const spectrum_settings& s,
                   stream_ref work)
    : d_sample(checked(config, s).sample),
      d_sample_bytes(core::sample_bytes(config.sample)),
      d_real(config.sample == core::sample_type::byte),
      d_length(config.length),
      d_hop(config.hop()),
      d_log2_length(log2_of(config.length)),
      d_average(config.average),
      d_batch(batch_frames(config, s.batch_samples)),
      d_layout(layout_of(config)),
      d_stream(work),
      d_taps(s.device, d_length * sizeof(float)),
      d_frames(s.device, d_batch * d_length * (d_real ? 1 : 2) * sizeof(float)),
      d_transforms(s.device, d_real ? d_batch * d_layout.bins * 2 * sizeof(float) : 0),
      d_parts(s.device,
              d_average > part_frames
                  ? std::size_t(most_parts(d_batch)) * d_layout.bins * sizeof(float)
                  : 0),
      d_part_state{ { s.device, d_layout.bins * sizeof(float) },
                    { s.device, d_layout.bins * sizeof(float) } },
      d_total_state{ { s.device, d_layout.bins * sizeof(double) },
                     { s.device, d_layout.bins * sizeof(double) } },
      d_carry{ { s.device, d_length * d_sample_bytes },
               { s.device, d_length * d_sample_bytes } }
{
    const device_guard guard(s.device);
    const std::vector<float> taps = dsp::scaled_taps(config);
    check(copy_async(d_taps.data(), taps.data(), d_taps.bytes(), d_stream),
          "cudaMemcpyAsync");
    check(d_stream.wait(), "cudaStreamSynchronize"); // the copy reads `taps`
    make_plans(s);
    const std::size_t vectors = (d_batch + std::size_t(d_average) - 1) / d_average;
    d_slots.reserve(s.in_flight);
    for (unsigned i = 0; i < s.in_flight; ++i)
        d_slots.emplace_back(s.device, vectors * d_length);
}

spectrum::~spectrum()
{
    // Copies under way write to the slots, transforms to the work area.
    (void)d_stream.wait();
}

void spectrum::make_plans(const spectrum_settings& settings)
{
    const cufft_api& cufft = cufft_api::get();
    int n = static_cast<int>(d_length);
    const int bins = static_cast<int>(d_layout.bins);
    std::size_t work_bytes = 0;
    for (unsigned frames = 1;; frames = std::min(frames * plan_ratio, d_batch)) {
        d_plans.emplace_back(frames);
        const auto handle = d_plans.back().handle;
        std::size_t bytes = 0;
        check_cufft(cufft.set_auto_allocation(handle, 0), "cufftSetAutoAllocation");
        check_cufft(cufft.make_plan_many(handle,
                                         1,
                                         &n,
                                         &n,
                                         1,
                                         n,
                                         &n,
                                         1,
                                         bins,
                                         d_real ? CUFFT_R2C : CUFFT_C2C,
                                         static_cast<int>(frames),
                                         &bytes),
                    "cufftMakePlanMany");
        check_cufft(cufft.set_stream(handle, d_stream.get()), "cufftSetStream");
        work_bytes = std::max(work_bytes, bytes);
        if (frames == d_batch)
            break;
    }
    d_work_area.emplace(settings.device, work_bytes);
    for (const plan& p : d_plans)
        check_cufft(cufft.set_work_area(p.handle, d_work_area->data()),
                    "cufftSetWorkArea");
}

const spectrum::plan& spectrum::plan_for(unsigned frames) const noexcept
{
    return *std::find_if(d_plans.begin(), d_plans.end(), [&](const plan& p) {
        return p.frames >= frames;
    });
}

bool spectrum::fail(std::string (*describe)(int, const char*),
                    int code,
                    const char* call) noexcept
{
    if (code == 0)
        return false;
    if (d_failure.empty())
        d_failure = describe(code, call);
    return true;
}

bool spectrum::ok(int code, const char* call) noexcept
{
    return !fail(&describe, code, call);
}

std::size_t
spectrum::submit(const void* samples, std::size_t n, std::size_t max_vectors) noexcept
{
    if (n == 0 || !d_failure.empty())
        return 0;
    const sample_source from = { d_carry[d_carry_current].data(), d_carried, samples };
    const std::size_t end = d_carried + n;
    std::size_t frame = 0; // first sample of the next frame
    while (frame + d_length <= end) {
        const std::size_t available = (end - frame - d_length) / d_hop + 1;
        const unsigned frames = frames_now(available, max_vectors);
        if (frames == 0)
            break;
        const auto before = d_counts.averages;
        if (!run_batch(from, frame, frames))
            return 0;
        max_vectors -= static_cast<std::size_t>(d_counts.averages - before);
        frame += frames * d_hop;
    }
    const std::size_t taken = std::min(end, frame + d_length - 1);
    if (!keep(from, frame, taken - frame))
        return 0;
    const std::size_t used = taken - from.carried;
    d_counts.samples += used;
    return used;
}

// Transforms to launch next: of those available as many as a plan takes and vectors have
// room for.
unsigned spectrum::frames_now(std::size_t available, std::size_t max_vectors) noexcept
{
    const auto frames = static_cast<unsigned>(std::min<std::size_t>(available, d_batch));
    const std::uint64_t room = free_slot() ? max_vectors : 0;
    if (batch_shape{ d_average, d_position, frames }.completed_averages() <= room)
        return frames;
    // Up to one short of the first that has no room; room is small here.
    return static_cast<unsigned>((room + 1) * d_average - 1 - d_position);
}

spectrum::slot* spectrum::free_slot() noexcept
{
    return d_used == d_slots.size() ? nullptr
                                    : &d_slots[(d_oldest + d_used) % d_slots.size()];
}

bool spectrum::run_batch(const sample_source& from,
                         std::size_t first,
                         unsigned frames) noexcept
{
    const cufft_api& cufft = cufft_api::get();
    const frame_grid grid = { first, d_hop, d_log2_length, frames };
    if (!ok(launch_window(d_sample,
                          from,
                          grid,
                          d_taps.as<float>(),
                          { d_frames.as<float>(), d_frames.bytes() / sizeof(float) },
                          d_stream),
            "launch of window_kernel"))
        return false;
    // A plan larger than the batch transforms what earlier batches left, to no end.
    const auto handle = plan_for(frames).handle;
    const device_memory& spectra = d_real ? d_transforms : d_frames;
    if (fail(&describe_cufft,
             d_real ? cufft.exec_r2c(
                          handle, d_frames.as<float>(), spectra.as<cufftComplex>())
                    : cufft.exec_c2c(handle,
                                     d_frames.as<cufftComplex>(),
                                     spectra.as<cufftComplex>(),
                                     CUFFT_FORWARD),
             "cufftExec"))
        return false;

    const batch_shape shape = { d_average, d_position, frames };
    const std::size_t vectors = shape.completed_averages();
    slot* const to = vectors ? free_slot() : nullptr;
    averages_out out = {};
    out.part_before = d_part_state[d_state].as<float>();
    out.part_after = d_part_state[1 - d_state].as<float>();
    out.total_before = d_total_state[d_state].as<double>();
    out.total_after = d_total_state[1 - d_state].as<double>();
    out.parts = { d_parts.as<float>(), d_parts.bytes() / sizeof(float) };
    if (to)
        out.vectors = { to->device.as<float>(), to->device.bytes() / sizeof(float) };
    if (!ok(launch_average({ spectra.as<float>(), spectra.bytes() / sizeof(float) },
                           shape,
                           d_layout,
                           out,
                           d_stream),
            "launch of parts_kernel"))
        return false;
    if (to) {
        if (!ok(copy_async(to->host.data(),
                           to->device.data(),
                           vectors * d_length * sizeof(float),
                           d_stream),
                "cudaMemcpyAsync") ||
            !ok(d_stream.record(to->finished), "cudaEventRecord"))
            return false;
        to->vectors = vectors;
        to->fetched = 0;
        ++d_used;
    }
    d_state = 1 - d_state;
    d_position = static_cast<unsigned>((std::uint64_t(d_position) + frames) % d_average);
    d_pending += vectors;
    d_counts.frames += frames;
    d_counts.averages += vectors;
    return true;
}

// The samples [begin, begin + n) become the carried ones.
bool spectrum::keep(const sample_source& from, std::size_t begin, std::size_t n) noexcept
{
    if (n != 0 &&
        !ok(launch_keep(
                d_sample, from, begin, n, d_carry[1 - d_carry_current].data(), d_stream),
            "launch of keep_kernel"))
        return false;
    d_carry_current = 1 - d_carry_current;
    d_carried = n;
    return true;
}

std::size_t spectrum::poll(float* out, std::size_t max_vectors) noexcept
{
    std::size_t fetched = 0;
    while (d_used != 0 && fetched < max_vectors && d_failure.empty()) {
        slot& oldest = d_slots[d_oldest];
        int code = 0;
        const event_state state = oldest.finished.query(&code);
        if (state == event_state::pending)
            break;
        if (state == event_state::failed) {
            ok(code, "a kernel of the spectrum");
            break;
        }
        const std::size_t n =
            std::min(oldest.vectors - oldest.fetched, max_vectors - fetched);
        std::memcpy(out + fetched * d_length,
                    oldest.host.as<float>() + oldest.fetched * d_length,
                    n * d_length * sizeof(float));
        fetched += n;
        oldest.fetched += n;
        if (oldest.fetched == oldest.vectors) {
            d_oldest = (d_oldest + 1) % d_slots.size();
            --d_used;
        }
    }
    d_pending -= fetched;
    return fetched;
}

void spectrum::wait() noexcept
{
    if (d_used != 0)
        ok(d_slots[d_oldest].finished.wait(), "a kernel of the spectrum");
}

dsp::spectrum::dropped spectrum::reset() noexcept
{
    const auto lost = d_counts.lost(d_length, d_hop, d_average);
    d_carried = 0;
    d_position = 0;
    d_counts = {};
    return lost;
}

} // namespace cuda
} // namespace rdma
} // namespace gr
