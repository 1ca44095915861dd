/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "messages.h"

#include <algorithm>
#include <vector>

namespace gr {
namespace rdma {
namespace apps {

namespace {

class limited
{
public:
    explicit limited(const feed_limits& limits) : d_left(limits) {}
    bool over() const { return d_left.messages == 0 || d_left.bytes == 0; }
    //! Bytes that a message of \p wanted may have.
    std::uint64_t take(std::uint64_t wanted)
    {
        const std::uint64_t bytes = std::min(wanted, d_left.bytes);
        --d_left.messages;
        d_left.bytes -= bytes;
        return bytes;
    }

private:
    feed_limits d_left;
};

class recording_feed : public message_feed
{
public:
    recording_feed(const recording& source,
                   std::uint64_t message_bytes,
                   std::uint64_t rounds,
                   const feed_limits& limits)
        : d_data(source.data.data()),
          d_bytes(source.data.bytes()),
          d_message_bytes(message_bytes),
          d_rounds(rounds),
          d_limit(limits)
    {
    }
    bool next(io::send_request& request) override
    {
        if (finished())
            return false;
        request = io::send_request();
        request.data = d_data + d_at;
        request.bytes = d_limit.take(std::min(d_message_bytes, d_bytes - d_at));
        d_at += request.bytes;
        if (d_at == d_bytes) {
            d_at = 0;
            ++d_done_rounds;
        }
        return true;
    }
    void release(std::uint64_t) override {}
    bool finished() const override
    {
        return d_limit.over() || (d_rounds != 0 && d_done_rounds == d_rounds);
    }

private:
    const std::byte* d_data;
    std::uint64_t d_bytes;
    std::uint64_t d_message_bytes;
    std::uint64_t d_rounds;
    std::uint64_t d_done_rounds = 0;
    std::uint64_t d_at = 0;
    limited d_limit;
};

class scene_feed : public message_feed
{
public:
    scene_feed(std::unique_ptr<scene> source,
               core::sample_type sample,
               std::uint64_t message_bytes,
               std::size_t depth,
               const feed_limits& limits,
               std::function<bool()> cancelled)
        : d_cancelled(std::move(cancelled)),
          d_scene(std::move(source)),
          d_sample(sample),
          d_message_bytes(message_bytes),
          d_memory(depth * message_bytes),
          d_limit(limits)
    {
        for (std::size_t i = depth; i-- > 0;)
            d_free.push_back(i);
    }
    bool next(io::send_request& request) override
    {
        if (finished() || d_free.empty())
            return false;
        const std::uint64_t cookie = d_free.back();
        d_free.pop_back();
        request = io::send_request();
        request.cookie = cookie;
        request.bytes = d_limit.take(d_message_bytes);
        request.data = &d_memory[cookie * d_message_bytes];
        return fill(&d_memory[cookie * d_message_bytes],
                    request.bytes / core::sample_bytes(d_sample));
    }
    void release(std::uint64_t cookie) override { d_free.push_back(cookie); }
    bool finished() const override { return d_limit.over(); }

private:
    bool fill(std::byte* out, std::uint64_t samples)
    {
        // In pieces that stay in the cache.
        std::complex<float> piece[4096];
        while (samples > 0) {
            if (d_cancelled && d_cancelled())
                return false; // a long message takes seconds
            const std::size_t n = std::min<std::uint64_t>(samples, 4096);
            d_scene->generate(piece, n);
            quantise(d_sample, piece, n, out);
            out += n * core::sample_bytes(d_sample);
            samples -= n;
        }
        return true;
    }

    std::function<bool()> d_cancelled;
    std::unique_ptr<scene> d_scene;
    core::sample_type d_sample;
    std::uint64_t d_message_bytes;
    std::vector<std::byte> d_memory;
    std::vector<std::uint64_t> d_free;
    limited d_limit;
};

} // namespace

std::unique_ptr<message_feed> make_recording_feed(const recording& source,
                                                  std::uint64_t message_bytes,
                                                  std::uint64_t rounds,
                                                  const feed_limits& limits)
{
    return std::make_unique<recording_feed>(source, message_bytes, rounds, limits);
}

std::unique_ptr<message_feed> make_scene_feed(std::unique_ptr<scene> source,
                                              core::sample_type sample,
                                              std::uint64_t message_bytes,
                                              std::size_t depth,
                                              const feed_limits& limits,
                                              std::function<bool()> cancelled)
{
    return std::make_unique<scene_feed>(
        std::move(source), sample, message_bytes, depth, limits, std::move(cancelled));
}

} // namespace apps
} // namespace rdma
} // namespace gr
