/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_SPECTRUM_ENGINE_H
#define INCLUDED_RDMA_SPECTRUM_ENGINE_H

#include "dsp/spectrum.h"

#include <cstddef>
#include <memory>
#include <string>

namespace gr {
namespace rdma {

/*!
 * \brief Where the spectrometer computes: dsp::spectrum, but vectors may come later than
 * the samples that they are of, in their order.
 *
 * One thread at a time.
 */
class spectrum_engine
{
public:
    using progress = dsp::spectrum::progress;
    using dropped = dsp::spectrum::dropped;

    virtual ~spectrum_engine() = default;

    /*!
     * \brief Take samples, and put out what is finished. Never waits for it.
     * \return produced: vectors written to \p out, of these samples or of earlier ones.
     * consumed is less than \p n where the engine, or the output, is full
     */
    virtual progress process(const void* samples,
                             std::size_t n,
                             float* out,
                             std::size_t max_out) noexcept = 0;
    //! process() of no samples.
    virtual std::size_t fetch(float* out, std::size_t max_out) noexcept = 0;
    //! Are there vectors that process() or fetch() will put out without further samples?
    virtual bool pending() const noexcept = 0;
    //! Wait until one of them can be fetched, or failure() has come. pending() is true.
    virtual void wait() noexcept = 0;
    //! As dsp::spectrum::reset(). pending() is false, or what was pending is lost.
    virtual dropped reset() noexcept = 0;
    //! Why it works no more; empty: it does.
    virtual const std::string& failure() const noexcept = 0;
};

//! dsp::spectrum itself, on the CPU: nothing is ever pending.
std::unique_ptr<spectrum_engine> make_host_engine(const dsp::spectrum_config& config);

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_SPECTRUM_ENGINE_H */
