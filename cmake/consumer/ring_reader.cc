/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// A block of another module that asks for our ring as its input and output buffer, in a
// flowgraph with GNU Radio's own blocks: the sum of 1 to 1000 must come out.
#include <algorithm>
#include <gnuradio/blocks/vector_sink.h>
#include <gnuradio/blocks/vector_source.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/rdma/ring_buffer.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>
#include <iostream>
#include <numeric>
#include <vector>

namespace {

class ring_copy : public gr::sync_block
{
public:
    ring_copy()
        : gr::sync_block(
              "ring_copy",
              gr::io_signature::make(1, 1, sizeof(float), gr::rdma::ring_buffer::type),
              gr::io_signature::make(1, 1, sizeof(float), gr::rdma::ring_buffer::type))
    {
    }

    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override
    {
        const auto* in = static_cast<const float*>(input_items[0]);
        std::copy_n(in, noutput_items, static_cast<float*>(output_items[0]));
        return noutput_items;
    }
};

} // namespace

int main()
{
    std::vector<float> numbers(1000);
    std::iota(numbers.begin(), numbers.end(), 1.0f);
    auto top = gr::make_top_block("consumer");
    auto source = gr::blocks::vector_source_f::make(numbers);
    auto copy = gnuradio::make_block_sptr<ring_copy>();
    auto sink = gr::blocks::vector_sink_f::make();
    top->connect(source, 0, copy, 0);
    top->connect(copy, 0, sink, 0);
    top->run();
    const auto received = sink->data();
    const float sum = std::accumulate(received.begin(), received.end(), 0.0f);
    std::cout << received.size() << " items, sum " << sum << "\n";
    return received == numbers ? 0 : 1;
}
