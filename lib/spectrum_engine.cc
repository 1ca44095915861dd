/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spectrum_engine.h"

#include <gnuradio/fft/fft.h>

namespace gr {
namespace rdma {

namespace {

class host_engine final : public spectrum_engine
{
public:
    explicit host_engine(const dsp::spectrum_config& config)
        : d_spectrum(dsp::make_host_spectrum(config, fft::planner::mutex()))
    {
    }
    progress process(const void* samples,
                     std::size_t n,
                     float* out,
                     std::size_t max_out) noexcept override
    {
        return d_spectrum->process(samples, n, out, max_out);
    }
    std::size_t fetch(float*, std::size_t) noexcept override { return 0; }
    bool pending() const noexcept override { return false; }
    void wait() noexcept override {}
    dropped reset() noexcept override { return d_spectrum->reset(); }
    const std::string& failure() const noexcept override { return d_failure; }

private:
    const std::unique_ptr<dsp::spectrum> d_spectrum;
    const std::string d_failure;
};

} // namespace

std::unique_ptr<spectrum_engine> make_host_engine(const dsp::spectrum_config& config)
{
    return std::make_unique<host_engine>(config);
}

} // namespace rdma
} // namespace gr
