/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CUDA_SPECTRUM_H
#define INCLUDED_RDMA_CUDA_SPECTRUM_H

#include "cuda/averaging.h"
#include "cuda/memory.h"
#include "cuda/spectrum_kernels.h"
#include "cuda/stream.h"
#include "dsp/spectrum.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace cuda {

//! How much is under way at once. The defaults suit streams.
struct spectrum_settings {
    int device = 0;
    //! Samples per launch of the transform, at least one transform. Larger batches gain
    //! little more (see bench_cuda_spectrum), and take more memory.
    std::size_t batch_samples = std::size_t(1) << 22;
    //! Launches whose vectors may wait for poll(), at least 1.
    unsigned in_flight = 4;
};

/*!
 * \brief dsp::spectrum on a GPU: the same vectors of the same samples, within 1e-4
 * relative, with the input in that GPU's memory and the work under way while the CPU goes
 * on.
 *
 * submit() puts the work for a span on the stream and returns. Everything that reads the
 * span is then on the stream: the span may be overwritten once an event recorded behind
 * submit() has come. Finished vectors come out of poll() in order, in host memory.
 *
 * Where the input is cut does not matter beyond rounding: cuFFT may compute a batch of
 * another size in another order.
 *
 * Uses about 8 to 16 bytes of GPU memory per sample of a batch, cuFFT's work area, and,
 * as page-locked host memory too, in_flight batches of vectors. All is allocated at
 * construction.
 *
 * Not thread-safe: one thread at a time, with the device current (use_device()).
 * Destruction waits for the work under way.
 */
class spectrum
{
public:
    /*!
     * \param work outlives this
     * \throws config_error as dsp::validate() and validate_window()
     * \throws out_of_memory, cuda_error no memory, no device, no cuFFT
     */
    spectrum(const dsp::spectrum_config& config,
             const spectrum_settings& settings,
             stream_ref work);
    ~spectrum();
    spectrum(const spectrum&) = delete;
    spectrum& operator=(const spectrum&) = delete;

    static constexpr std::size_t no_limit = static_cast<std::size_t>(-1);

    /*!
     * \brief Take samples. Never waits for the GPU.
     *
     * Takes everything, unless in_flight launches' vectors have not been fetched or more
     * than \p max_vectors would be completed; then it stops one sample short of
     * completing the next. What was taken is kept.
     *
     * \param samples \p n samples of the configured type in the device's memory, aligned
     * for whole samples (core::sample_bytes)
     * \return samples taken; 0 after a failure
     */
    std::size_t submit(const void* samples,
                       std::size_t n,
                       std::size_t max_vectors = no_limit) noexcept;

    //! Copy up to \p max_vectors finished vectors to host memory, oldest first. Never
    //! waits. \return how many
    std::size_t poll(float* out, std::size_t max_vectors) noexcept;

    //! Vectors submitted and not fetched yet, finished or not.
    std::size_t pending() const noexcept { return d_pending; }
    //! Wait until the oldest pending vector can be fetched (there is one), or the work
    //! failed. Sleeps.
    void wait() noexcept;

    //! As dsp::spectrum::reset(). Vectors that are pending stay so.
    dsp::spectrum::dropped reset() noexcept;

    //! Why nothing works any more: a launch or a kernel failed. Empty: nothing did.
    const std::string& failure() const noexcept { return d_failure; }

private:
    struct plan;
    struct slot {
        slot(int device, std::size_t floats);
        device_memory device;
        pinned_memory host;
        event finished;
        std::size_t vectors = 0;
        std::size_t fetched = 0;
    };

    void make_plans(const spectrum_settings& settings);
    const plan& plan_for(unsigned frames) const noexcept;
    unsigned frames_now(std::size_t available, std::size_t max_vectors) noexcept;
    bool
    run_batch(const sample_source& from, std::size_t first, unsigned frames) noexcept;
    bool keep(const sample_source& from, std::size_t begin, std::size_t n) noexcept;
    bool ok(int code, const char* call) noexcept;
    bool
    fail(std::string (*describe)(int, const char*), int code, const char* call) noexcept;
    slot* free_slot() noexcept;

    const core::sample_type d_sample;
    const std::size_t d_sample_bytes;
    const bool d_real;
    const std::size_t d_length;
    const std::size_t d_hop;
    const unsigned d_log2_length;
    const unsigned d_average;
    const unsigned d_batch; // transforms
    const bin_layout d_layout;
    const stream_ref d_stream;

    device_memory d_taps;
    device_memory d_frames;     // windowed; complex ones are transformed in place
    device_memory d_transforms; // of real ones
    device_memory d_parts;
    device_memory d_part_state[2];
    device_memory d_total_state[2];
    device_memory d_carry[2];
    std::optional<device_memory> d_work_area; // of cuFFT
    std::vector<plan> d_plans;                // ascending
    std::vector<slot> d_slots;                // a ring: d_used of them from d_oldest on
    std::size_t d_oldest = 0;
    std::size_t d_used = 0;

    unsigned d_state = 0;         // which of the state arrays is read next
    unsigned d_carry_current = 0; // which of d_carry holds the samples kept
    std::size_t d_carried = 0;    // how many, below d_length
    unsigned d_position = 0;      // transforms of the unfinished average
    std::size_t d_pending = 0;
    dsp::series_counts d_counts;
    std::string d_failure;
};

} // namespace cuda
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CUDA_SPECTRUM_H */
