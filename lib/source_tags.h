/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_SOURCE_TAGS_H
#define INCLUDED_RDMA_SOURCE_TAGS_H

#include "io/endpoint.h"

#include <cstddef>
#include <cstdint>
#include <gnuradio/tags.h>
#include <pmt/pmt.h>
#include <string>
#include <vector>

namespace gr {
namespace rdma {

/*!
 * \brief Turns finished receives into the tags of rdma.source. Knows the policy and the
 * stream's time; no buffers, no endpoint.
 *
 * rx_time counts samples, lost ones included, from the arrival of the first message where
 * the rate is known; it never runs backwards. Not thread-safe.
 */
class source_tags
{
public:
    struct config {
        unsigned every = 1; //!< rx_buffer on every Nth message; 0: at discontinuities
        double rate = 0;    //!< samples per second; 0: unknown
        double freq = 0;    //!< Hz
        std::size_t sample_bytes = 4;
        std::size_t item_bytes = 4;
        std::uint64_t slot_items = 1;
        std::string device = "host";
    };

    //! One message as it lies in the ring.
    struct message {
        io::completion done;
        std::uint64_t address = 0; //!< of its first item
        std::uint64_t slot = 0;    //!< number in the ring
        std::uint64_t bytes = 0;   //!< payload, header not counted
        const std::byte* header = nullptr;
        std::size_t header_bytes = 0;
    };

    source_tags(const config& c, pmt::pmt_t source_id);

    //! A new session: rx_time and friends are stated again.
    void restart() noexcept;
    //! From the next message on. \param rate samples per second, \param freq Hz
    void set_rate(double rate) noexcept;
    void set_freq(double freq) noexcept;
    //! Where the ring is, before the first message: "host", "cuda:0".
    void set_device(const std::string& device) { d_config.device = device; }

    //! Append the tags of \p m, whose first item is number \p offset of the stream.
    void make(const message& m, std::uint64_t offset, std::vector<tag_t>& out);

private:
    void add(std::vector<tag_t>& out,
             std::uint64_t offset,
             const pmt::pmt_t& key,
             const pmt::pmt_t& value) const;
    pmt::pmt_t buffer_dict(const message& m) const;
    pmt::pmt_t time_of(const message& m);

    config d_config;
    pmt::pmt_t d_id;
    bool d_first = true;
    bool d_rate_changed = true;
    bool d_freq_changed = true;
    bool d_short_before = false; // the message before was shorter than its slot
    std::uint64_t d_messages = 0;
    std::int64_t d_epoch_ns = 0;  // time of the sample that d_samples counts from
    std::uint64_t d_samples = 0;  // received and lost since
    std::int64_t d_latest_ns = 0; // last time stated
};

//! rx_gap's dict: messages, bytes (numbers, or the symbol "unknown"), reason.
pmt::pmt_t gap_dict(const io::gap& g);

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_SOURCE_TAGS_H */
