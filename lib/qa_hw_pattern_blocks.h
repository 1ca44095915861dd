/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_QA_HW_PATTERN_BLOCKS_H
#define INCLUDED_RDMA_QA_HW_PATTERN_BLOCKS_H

#include "testing/pattern_kernels.h"

#include <gnuradio/io_signature.h>
#include <gnuradio/rdma/device_block.h>
#include <gnuradio/sync_block.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <random>
#include <thread>

//! Blocks for the machine's GPU whose items say what they have to be.
namespace gr {
namespace rdma {
namespace testing {

inline const auto on_ring = std::cref<const gr::buffer_type_base>(ring_buffer::type);

class pattern_source : public device_block
{
public:
    //! \p words: of 32 bits, in an item; the total counts words.
    explicit pattern_source(std::uint64_t total,
                            int words = 1,
                            const std::string& memory = "auto")
        : gr::block("pattern_source",
                    gr::io_signature::make(0, 0, 0),
                    gr::io_signature::make(1, 1, 4 * words, on_ring)),
          device_block(memory),
          d_words(static_cast<unsigned>(words)),
          d_total(total)
    {
    }
    int device_work(int room,
                    gr_vector_int&,
                    gr_vector_const_void_star&,
                    gr_vector_void_star& out) override
    {
        if (d_n == d_total || ended)
            return WORK_DONE;
        const auto n = std::min<std::uint64_t>(static_cast<std::uint64_t>(room) * d_words,
                                               d_total - d_n);
        check(launch_pattern(static_cast<std::uint32_t*>(out[0]), d_n, n, stream()),
              "launch_pattern");
        d_n += n;
        return static_cast<int>(n / d_words);
    }

    std::atomic<bool> ended{ false }; //!< no more of it

private:
    const std::uint64_t d_words;
    const std::uint64_t d_total;
    std::uint64_t d_n = 0;
};

// Counts what differs from the pattern, on the GPU. Reads each span twice if it is slow,
// and stalls on the CPU now and then.
class pattern_check : public device_block
{
public:
    explicit pattern_check(bool slow,
                           const std::string& wait = "event",
                           int words = 1,
                           const std::string& memory = "auto")
        : gr::block("pattern_check",
                    gr::io_signature::make(1, 1, 4 * words, on_ring),
                    gr::io_signature::make(0, 0, 0, on_ring)),
          device_block(memory, wait),
          d_slow(slow),
          d_words(static_cast<unsigned>(words))
    {
    }
    bool start() override
    {
        const bool started = device_block::start();
        d_wrong = make_count();
        return started;
    }
    bool stop() override
    {
        if (d_wrong)
            wrong = take_count(d_wrong, stream());
        d_wrong = nullptr;
        return device_block::stop();
    }
    int device_work(int n,
                    gr_vector_int&,
                    gr_vector_const_void_star& in,
                    gr_vector_void_star&) override
    {
        if (d_slow && d_random() % 50 == 0)
            std::this_thread::sleep_for(std::chrono::microseconds(d_random() % 3000));
        check(launch_check(static_cast<const std::uint32_t*>(in[0]),
                           items,
                           static_cast<std::uint64_t>(n) * d_words,
                           d_slow ? 2 : 1,
                           100000,
                           d_wrong,
                           stream()),
              "launch_check");
        items += static_cast<std::uint64_t>(n) * d_words;
        consume_each(n);
        return 0;
    }

    std::atomic<std::uint64_t> items{ 0 }; //!< words
    unsigned long long wrong = ~0ULL;

private:
    const bool d_slow;
    const std::uint64_t d_words;
    std::minstd_rand d_random;
    unsigned long long* d_wrong = nullptr;
};

// The same on the CPU, and the pattern from the CPU.
class host_check : public gr::sync_block
{
public:
    host_check()
        : gr::sync_block("host_check",
                         gr::io_signature::make(1, 1, 4),
                         gr::io_signature::make(0, 0, 0))
    {
    }
    int work(int n, gr_vector_const_void_star& in, gr_vector_void_star&) override
    {
        const auto* from = static_cast<const std::uint32_t*>(in[0]);
        for (int i = 0; i < n; ++i)
            wrong += from[i] != pattern_item(items++);
        return n;
    }
    std::atomic<std::uint64_t> items{ 0 };
    std::uint64_t wrong = 0;
};

class host_source : public gr::sync_block
{
public:
    explicit host_source(std::uint64_t total)
        : gr::sync_block("host_source",
                         gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(1, 1, 4)),
          d_total(total)
    {
    }
    int work(int room, gr_vector_const_void_star&, gr_vector_void_star& out) override
    {
        if (d_n == d_total)
            return WORK_DONE;
        const auto n =
            std::min<std::uint64_t>(static_cast<std::uint64_t>(room), d_total - d_n);
        for (std::uint64_t i = 0; i < n; ++i)
            static_cast<std::uint32_t*>(out[0])[i] = pattern_item(d_n++);
        return static_cast<int>(n);
    }

private:
    const std::uint64_t d_total;
    std::uint64_t d_n = 0;
};

template <typename Block, typename... Arguments>
std::shared_ptr<Block> make(Arguments&&... arguments)
{
    return gnuradio::make_block_sptr<Block>(std::forward<Arguments>(arguments)...);
}

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_QA_HW_PATTERN_BLOCKS_H */
