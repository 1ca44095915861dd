/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_BENCH_GPU_BLOCKS_H
#define INCLUDED_RDMA_APPS_BENCH_GPU_BLOCKS_H

#include "cuda/memory.h"
#include "cuda/stream.h"
#include "mem/gpu.h"
#include "pending_work.h"
#include "ring_client.h"

#include <gnuradio/rdma/device_block.h>
#include <gnuradio/sync_block.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace gr {
namespace rdma {
namespace apps {

/*
 * Flowgraphs of two blocks for `gr-rdma bench gpu`. Items are 16 bytes. Only in builds
 * with CUDA.
 */
constexpr std::size_t bench_item_bytes = 16;

/*!
 * \brief The GPU's copy engine in a NIC's place: writes messages into a ring in GPU
 * memory and says produce() when they are there, as rdma.source does with a NIC's
 * completions.
 */
class copy_engine_source : public gr::block, public ring_client
{
public:
    //! \param from page-locked, whole messages, read over and over; outlives this
    copy_engine_source(std::shared_ptr<mem::gpu> gpu,
                       const cuda::pinned_memory& from,
                       std::size_t message_bytes);
    std::shared_ptr<mem::ring_memory>
    output_ring(int port, std::size_t item_bytes, std::size_t min_items) override;
    std::shared_ptr<mem::gpu> output_gpu() const override { return d_gpu; }
    bool start() override;
    bool stop() override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

private:
    const std::shared_ptr<mem::gpu> d_gpu;
    const cuda::pinned_memory& d_from;
    const std::size_t d_message; // items
    const std::unique_ptr<mem::gpu_stream> d_stream;
    std::shared_ptr<mem::ring_memory> d_ring;
    pending_work d_copies;
    std::uint64_t d_started = 0;
    std::size_t d_next = 0; // byte of d_from
};

//! Has a kernel read every byte.
class reading_sink : public device_block
{
public:
    explicit reading_sink(const std::string& memory);
    int device_work(int noutput_items,
                    gr_vector_int& ninput_items,
                    gr_vector_const_void_star& input_items,
                    gr_vector_void_star& output_items) override;
    //! Bytes whose kernel has been launched. Any thread.
    std::uint64_t bytes() const { return d_bytes; }

private:
    const cuda::device_memory d_sum;
    std::atomic<std::uint64_t> d_bytes{ 0 };
};

/*!
 * What both ends of a latency measurement look at: when the sample was there, and the
 * number that the kernel behind it has written into page-locked memory.
 */
struct latency_probe {
    explicit latency_probe(int device) : memory(device, 64) { flag() = 0; }
    volatile std::uint32_t& flag() const { return *memory.as<volatile std::uint32_t>(); }
    const cuda::pinned_memory memory;
    std::atomic<std::int64_t> produced_ns{ 0 };
    std::atomic<std::int64_t> entered_ns{ 0 };  //!< the reader's work() began
    std::atomic<std::int64_t> launched_ns{ 0 }; //!< the launch of the kernel returned
    std::atomic<std::uint32_t> wanted{ 0 };     //!< messages asked for
    std::atomic<bool> ended{ false };
};

//! A message each time that `wanted` is raised: a polled completion's place.
gr::block_sptr make_completion_source(latency_probe& probe,
                                      std::shared_ptr<mem::gpu> gpu);
//! Its ordinary counterpart, with GNU Radio's own buffer behind it.
gr::block_sptr make_stock_source(latency_probe& probe);
//! A device block that launches a kernel which writes the flag.
//! \param wait event or busy
gr::block_sptr
make_flag_sink(latency_probe& probe, const std::string& memory, const std::string& wait);
//! A gr::sync_block that launches the same kernel.
gr::block_sptr make_stock_flag_sink(latency_probe& probe, int device);

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_BENCH_GPU_BLOCKS_H */
