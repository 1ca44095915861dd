/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_MEM_RING_CURSOR_H
#define INCLUDED_RDMA_MEM_RING_CURSOR_H

#include <cstdint>

namespace gr {
namespace rdma {
namespace mem {

/*!
 * \brief Arithmetic on the 32-bit indices of a ring of \p size items, modulo twice the
 * size.
 *
 * Write index minus read index is then 0 for an empty ring and \p size for a full one, so
 * every item can be filled. Any size from 1 to 2**31 - 1; no power of two needed.
 * Stateless, and safe from any thread.
 */
class ring_index
{
public:
    static constexpr std::uint64_t max_size = 0x7fffffff;

    constexpr explicit ring_index(std::uint32_t size) noexcept : d_size(size) {}

    //! \p a and \p b in [0, 2 * size)
    constexpr std::uint32_t add(std::uint32_t a, std::uint32_t b) const noexcept
    {
        const std::uint64_t sum = std::uint64_t(a) + b;
        return static_cast<std::uint32_t>(sum < modulus() ? sum : sum - modulus());
    }
    //! \p a and \p b in [0, 2 * size)
    constexpr std::uint32_t sub(std::uint32_t a, std::uint32_t b) const noexcept
    {
        return static_cast<std::uint32_t>(a >= b ? a - b : a + modulus() - b);
    }
    //! Where the item with this index lies: [0, size).
    constexpr std::uint32_t offset(std::uint32_t index) const noexcept
    {
        return index < d_size ? index : index - d_size;
    }

private:
    constexpr std::uint64_t modulus() const noexcept { return 2 * std::uint64_t(d_size); }
    std::uint32_t d_size;
};

/*!
 * \brief Two positions in a ring of slots: the head claims slots in order, the tail
 * retires them in the same order.
 *
 * For a receiver the head is the next slot to post and the tail the next one to produce.
 * Positions are absolute 64-bit counts since reset(); slot numbers are in [0, slots) and
 * need no power of two. Full (every slot claimed) and empty differ, because the counts
 * do. Owns no memory; a slot's byte offset is its number times the slot's bytes.
 *
 * Not thread-safe: it belongs to the thread that posts and polls. Never waits, never
 * throws.
 */
class ring_cursor
{
public:
    //! \param slots at least 1
    explicit ring_cursor(std::uint64_t slots) noexcept : d_slots(slots) {}

    std::uint64_t slots() const noexcept { return d_slots; }
    //! Slots claimed since reset().
    std::uint64_t head() const noexcept { return d_head; }
    //! Slots retired since reset().
    std::uint64_t tail() const noexcept { return d_tail; }
    //! Claimed and not retired: [0, slots].
    std::uint64_t outstanding() const noexcept { return d_head - d_tail; }
    bool empty() const noexcept { return d_head == d_tail; }
    bool full() const noexcept { return outstanding() == d_slots; }

    //! Number of the slot that the next claim() takes; meaningless while full().
    std::uint64_t head_slot() const noexcept { return d_head_slot; }
    //! Number of the slot that the next retire() gives up; meaningless while empty().
    std::uint64_t tail_slot() const noexcept { return d_tail_slot; }

    /*!
     * \brief How many slots may be claimed now.
     *
     * \param free_slots slots from the tail on, outstanding ones among them, that nobody
     * reads: the ring buffer's free space in whole slots. More than slots() counts as
     * slots(); fewer than are outstanding gives 0.
     */
    std::uint64_t claimable(std::uint64_t free_slots) const noexcept
    {
        const std::uint64_t limit = free_slots < d_slots ? free_slots : d_slots;
        return limit > outstanding() ? limit - outstanding() : 0;
    }

    //! Takes the next slot. \return its number. Not while full().
    std::uint64_t claim() noexcept
    {
        const std::uint64_t slot = d_head_slot;
        ++d_head;
        d_head_slot = next(slot);
        return slot;
    }
    //! Gives up the oldest claimed slot. \return its number. Not while empty().
    std::uint64_t retire() noexcept
    {
        const std::uint64_t slot = d_tail_slot;
        ++d_tail;
        d_tail_slot = next(slot);
        return slot;
    }

    //! Nothing outstanding, counts at zero, both positions at \p slot (below slots()).
    void reset(std::uint64_t slot = 0) noexcept
    {
        d_head = d_tail = 0;
        d_head_slot = d_tail_slot = slot;
    }

private:
    // Slot numbers are kept beside the counts: no division a slot, and no jump should a
    // count ever wrap.
    std::uint64_t next(std::uint64_t slot) const noexcept
    {
        return slot + 1 < d_slots ? slot + 1 : 0;
    }

    std::uint64_t d_slots;
    std::uint64_t d_head = 0;
    std::uint64_t d_tail = 0;
    std::uint64_t d_head_slot = 0;
    std::uint64_t d_tail_slot = 0;
};

} // namespace mem
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_MEM_RING_CURSOR_H */
