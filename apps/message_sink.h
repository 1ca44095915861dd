/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_MESSAGE_SINK_H
#define INCLUDED_RDMA_APPS_MESSAGE_SINK_H

#include "ending_sink.h"
#include "recording.h"

#include <cstdint>

namespace gr {
namespace rdma {
namespace apps {

/*!
 * \brief Writes what rdma.source puts out to a recording, without the zeros behind
 * messages shorter than their slot; captures and annotations at gaps.
 *
 * Items are samples. Reads rx_time, rx_freq, rx_gap and packet_len. The writer must
 * outlive it and be left alone until the flowgraph has ended.
 */
class message_sink : public ending_sink
{
public:
    /*!
     * \param item_bytes of a sample \param slot_items samples per slot of the ring: each
     * message starts at a multiple of it \param count messages to take; 0: all
     */
    message_sink(recording_writer& writer,
                 std::size_t item_bytes,
                 std::uint64_t slot_items,
                 std::uint64_t count,
                 std::function<void()> on_finished);

    //! Messages written whole. Any thread.
    std::uint64_t messages() const noexcept { return d_messages.load(); }
    //! Bytes written. Any thread.
    std::uint64_t bytes() const noexcept { return d_bytes.load(); }
    //! Gaps seen. Any thread.
    std::uint64_t gaps() const noexcept { return d_gaps.load(); }
    //! Seconds from the arrival of the first message to the end of the last work().
    double seconds_from_arrival() const noexcept
    {
        return double(d_span_ns.load()) * 1e-9;
    }

protected:
    void begin() override;
    int consume(const void* items, int n) override;

private:
    void apply(const gr::tag_t& tag);
    void begin_capture();
    const char* write_until(const char* at, std::uint64_t begin, std::uint64_t end);

    recording_writer& d_writer;
    const std::size_t d_item_bytes;
    const std::uint64_t d_slot_items;
    const std::uint64_t d_end_item; // count * slot_items
    std::uint64_t d_valid_end;      // items from here to the slot's end are padding
    double d_freq = 0;
    std::string d_datetime;
    bool d_capture_due = true;
    std::int64_t d_first_ns = 0;
    std::vector<gr::tag_t> d_tags;
    std::atomic<std::uint64_t> d_messages{ 0 };
    std::atomic<std::uint64_t> d_bytes{ 0 };
    std::atomic<std::uint64_t> d_gaps{ 0 };
    std::atomic<std::int64_t> d_span_ns{ 0 };
};

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_MESSAGE_SINK_H */
