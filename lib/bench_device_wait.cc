/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a source that has an item to the work() of the block behind it, on an imitated
 * GPU: what GNU Radio's scheduler takes, and what wait=busy saves of it. Beside it a
 * stock block behind a stock buffer.
 *
 *     bench_device_wait [MESSAGES [MICROSECONDS_BETWEEN]]
 *
 * Each thread needs a CPU of its own, 0 and 1 are taken: on a busy machine put
 * "chrt -f 20" in front.
 */
#include "core/clock.h"
#include "qa_device_blocks.h"
#include "ring_client.h"

#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

constexpr int item = 4096;
constexpr std::size_t warm_up = 50;

struct measurement {
    int messages = 4000;
    std::int64_t between_ns = 200000;
    std::atomic<std::int64_t> produced_ns{ 0 };
    std::vector<double> microseconds; // of the reader's thread while it runs

    void entered()
    {
        microseconds.push_back(double(core::monotonic_ns() - produced_ns) * 1e-3);
    }
};

int produce_later(measurement& m, int& done)
{
    if (done == m.messages)
        return gr::block::WORK_DONE;
    const std::int64_t until = core::monotonic_ns() + m.between_ns;
    while (core::monotonic_ns() < until) {
    }
    ++done;
    m.produced_ns = core::monotonic_ns();
    return 1;
}

class ring_source : public gr::block, public ring_client
{
public:
    ring_source(measurement& m, std::shared_ptr<mem::gpu> gpu)
        : gr::block("ring_source",
                    gr::io_signature::make(0, 0, 0),
                    gr::io_signature::make(1, 1, item, ring_buffer::type)),
          d_m(m),
          d_gpu(std::move(gpu))
    {
    }
    std::shared_ptr<mem::ring_memory>
    output_ring(int, std::size_t item_bytes, std::size_t) override
    {
        mem::gpu_ring_config config;
        config.min_bytes = 4 << 20;
        config.unit_bytes = item_bytes;
        d_ring = d_ring ? d_ring : d_gpu->make_ring(config);
        return d_ring;
    }
    std::shared_ptr<mem::gpu> output_gpu() const override { return d_gpu; }
    int general_work(int,
                     gr_vector_int&,
                     gr_vector_const_void_star&,
                     gr_vector_void_star&) override
    {
        return produce_later(d_m, d_done);
    }

private:
    measurement& d_m;
    const std::shared_ptr<mem::gpu> d_gpu;
    std::shared_ptr<mem::ring_memory> d_ring;
    int d_done = 0;
};

class stock_source : public gr::sync_block
{
public:
    explicit stock_source(measurement& m)
        : gr::sync_block("stock_source",
                         gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(1, 1, item)),
          d_m(m)
    {
    }
    int work(int, gr_vector_const_void_star&, gr_vector_void_star&) override
    {
        return produce_later(d_m, d_done);
    }

private:
    measurement& d_m;
    int d_done = 0;
};

class ring_sink : public device_block
{
public:
    ring_sink(measurement& m, const std::string& wait)
        : gr::block("ring_sink",
                    gr::io_signature::make(1, 1, item, ring_buffer::type),
                    gr::io_signature::make(0, 0, 0, ring_buffer::type)),
          device_block("cuda:0", wait),
          d_m(m)
    {
    }
    int device_work(int noutput_items,
                    gr_vector_int&,
                    gr_vector_const_void_star&,
                    gr_vector_void_star&) override
    {
        d_m.entered();
        consume_each(noutput_items);
        return 0;
    }

private:
    measurement& d_m;
};

class stock_sink : public gr::sync_block
{
public:
    explicit stock_sink(measurement& m)
        : gr::sync_block("stock_sink",
                         gr::io_signature::make(1, 1, item),
                         gr::io_signature::make(0, 0, 0)),
          d_m(m)
    {
    }
    int work(int noutput_items, gr_vector_const_void_star&, gr_vector_void_star&) override
    {
        d_m.entered();
        return noutput_items;
    }

private:
    measurement& d_m;
};

// Runs it, prints a line. \return the median
double
run(const char* name, gr::block_sptr from, gr::block_sptr to, measurement& m, double base)
{
    const auto top = gr::make_top_block("bench_device_wait");
    from->set_processor_affinity({ 0 });
    to->set_processor_affinity({ 1 });
    top->connect(from, 0, to, 0);
    top->run();
    auto& us = m.microseconds;
    if (us.empty()) {
        std::printf("%-28s nothing came\n", name);
        std::exit(1);
    }
    // On a busy machine several come in one call.
    us.erase(us.begin(),
             us.begin() + static_cast<std::ptrdiff_t>(std::min(warm_up, us.size() / 4)));
    std::sort(us.begin(), us.end());
    const double median = us[us.size() / 2];
    std::printf("%-28s  %8.1f us  %8.1f us  %.3f\n",
                name,
                median,
                us[us.size() * 99 / 100],
                base == 0 ? 1.0 : median / base);
    us.clear();
    return median;
}

} // namespace

int main(int argc, char** argv)
{
    measurement m;
    if (argc > 1)
        m.messages = std::max(std::atoi(argv[1]), 100);
    if (argc > 2)
        m.between_ns = std::max(std::atoi(argv[2]), 1) * std::int64_t(1000);
    const on_imitated_driver driver;
    const auto gpu = mem::open_gpu("cuda:0");
    m.microseconds.reserve(static_cast<std::size_t>(m.messages));
    std::printf("%-28s  %11s  %11s  %s\n", "until work()", "median", "99th", "ratio");
    const double base = run("gr::sync_block, stock buffer",
                            gnuradio::make_block_sptr<stock_source>(m),
                            gnuradio::make_block_sptr<stock_sink>(m),
                            m,
                            0);
    for (const char* const wait : { "event", "busy" })
        run((std::string("device block, wait=") + wait).c_str(),
            gnuradio::make_block_sptr<ring_source>(m, gpu),
            gnuradio::make_block_sptr<ring_sink>(m, wait),
            m,
            base);
    return 0;
}
