/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_DSP_PADDING_H
#define INCLUDED_RDMA_DSP_PADDING_H

#include <cstdint>
#include <limits>

namespace gr {
namespace rdma {
namespace dsp {

/*!
 * \brief Finds the zeros that rdma.source puts behind a short message.
 *
 * A message fills its slot of the ring, which has one unknown size, or is short: then the
 * slot's rest is zeros, which are no samples. Tags may be thinned, but a short message
 * carries its length, and so does the message behind it, full or not. Hence:
 *
 * - a message that states its length is short, unless it is at least as long as the slot,
 *   whose size the last short message told: from its start to the next mark;
 * - padding runs from the stated end to the next mark (of any kind), and is empty where
 *   that mark stands at the end, as in GNU Radio's own tagged streams.
 *
 * Offsets are absolute item numbers of the stream. Not thread-safe.
 */
class padding
{
public:
    static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

    //! A message begins at \p offset: some tag says so. \param items its stated length,
    //! or none. Offsets ascend, one call per offset.
    void mark(std::uint64_t offset, std::uint64_t items = none);
    //! Items in [begin(), next mark) are padding; none if nothing is.
    std::uint64_t begin() const noexcept { return d_begin; }

private:
    std::uint64_t d_begin = none;
    std::uint64_t d_short_start =
        none;                          // of a message taken for short, slot not ended yet
    std::uint64_t d_slot_items = none; // none: not known yet
};

} // namespace dsp
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_DSP_PADDING_H */
