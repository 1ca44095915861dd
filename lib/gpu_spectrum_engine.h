/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_GPU_SPECTRUM_ENGINE_H
#define INCLUDED_RDMA_GPU_SPECTRUM_ENGINE_H

#include "cuda/spectrum.h"
#include "spectrum_engine.h"

namespace gr {
namespace rdma {

//! cuda::spectrum as the spectrometer's engine. Only in builds with CUDA.
class gpu_engine final : public spectrum_engine
{
public:
    //! \param work outlives this \throws as cuda::spectrum
    gpu_engine(const dsp::spectrum_config& config, int device, cuda::stream_ref work)
        : d_length(config.length), d_spectrum(config, settings(device), work)
    {
    }
    progress process(const void* samples,
                     std::size_t n,
                     float* out,
                     std::size_t max_out) noexcept override
    {
        const std::size_t before = d_spectrum.poll(out, max_out);
        const std::size_t taken = d_spectrum.submit(samples, n);
        return { taken,
                 before + d_spectrum.poll(out + before * d_length, max_out - before) };
    }
    std::size_t fetch(float* out, std::size_t max_out) noexcept override
    {
        return d_spectrum.poll(out, max_out);
    }
    bool pending() const noexcept override { return d_spectrum.pending() != 0; }
    void wait() noexcept override { d_spectrum.wait(); }
    dropped reset() noexcept override { return d_spectrum.reset(); }
    const std::string& failure() const noexcept override { return d_spectrum.failure(); }

private:
    static cuda::spectrum_settings settings(int device)
    {
        cuda::spectrum_settings s;
        s.device = device;
        return s;
    }
    const std::size_t d_length;
    cuda::spectrum d_spectrum;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_GPU_SPECTRUM_ENGINE_H */
