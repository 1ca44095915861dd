/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "flowgraph_memory.h"

#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/rdma/device_block.h>
#include <gnuradio/rdma/error.h>

#include <algorithm>
#include <vector>

namespace gr {
namespace rdma {
namespace flowgraph_memory {

namespace {

struct known_ring {
    std::weak_ptr<ring_buffer> ring;
    std::weak_ptr<block> writer;
    bool own_type;
};

struct account {
    std::vector<std::weak_ptr<block>> devices;
    std::vector<known_ring> rings;
    bool is_old = false; //!< buffers have been made: the next block is of the next one
};
thread_local account now;

bool lacks_input(const block& b)
{
    const block_detail_sptr detail = b.detail();
    for (int i = 0; detail && i < detail->ninputs(); ++i)
        if (!detail->input(static_cast<unsigned>(i)))
            return true;
    return false;
}

void check_readers(ring_buffer& ring)
{
    for (std::size_t i = 0; i < ring.nreaders(); ++i)
        if (const auto reader =
                std::dynamic_pointer_cast<device_block>(ring.reader(i)->link()))
            reader->require_memory_of(ring);
}

// Might a host block be meant, or a device block that reads another ring later?
bool is_open(const ring_buffer& ring, const std::vector<device_block*>& waiting)
{
    for (const known_ring& known : now.rings) {
        const auto other = known.ring.lock();
        const auto writer = known.writer.lock();
        if (!other || !writer)
            continue;
        const auto* const device = dynamic_cast<const device_block*>(writer.get());
        if (!device && known.own_type && lacks_input(*writer))
            return true;
        if (other.get() == &ring || other->nreaders() != 0)
            continue;
        if (std::any_of(waiting.begin(), waiting.end(), [&](const device_block* b) {
                return b != device && b->reads(*other);
            }))
            return true;
    }
    return false;
}

void check(ring_buffer& ring, bool wants_ring)
{
    check_readers(ring);
    for (const known_ring& known : now.rings)
        if (const auto other = known.ring.lock())
            check_readers(*other);
    if (!wants_ring)
        return;
    std::vector<device_block*> waiting;
    for (const auto& weak : now.devices)
        if (const auto device = std::dynamic_pointer_cast<device_block>(weak.lock()))
            if (lacks_input(*device))
                waiting.push_back(device.get());
    if (waiting.empty() ||
        std::any_of(waiting.begin(),
                    waiting.end(),
                    [&](const device_block* b) { return b->reads(ring); }) ||
        is_open(ring, waiting))
        return;
    // GNU Radio connects blocks in the order of their addresses.
    (*std::min_element(waiting.begin(),
                       waiting.end(),
                       [](device_block* a, device_block* b) {
                           return std::less<basic_block*>()(a, b);
                       }))
        ->require_memory_of(ring);
}

} // namespace

void step::forget() noexcept { now = account(); }

void has(device_block& block)
{
    if (now.is_old)
        now = account();
    now.devices.push_back(std::dynamic_pointer_cast<gr::block>(block.shared_from_this()));
}

void made(const std::shared_ptr<ring_buffer>& ring,
          const std::shared_ptr<block>& writer,
          bool own_type)
{
    now.is_old = true;
    if (!now.devices.empty())
        now.rings.push_back({ ring, writer, own_type });
}

void reader_comes(ring_buffer& ring, bool wants_ring)
{
    now.is_old = true;
    if (!now.devices.empty())
        check(ring, wants_ring);
}

} // namespace flowgraph_memory
} // namespace rdma
} // namespace gr
