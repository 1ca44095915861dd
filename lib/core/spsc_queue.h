/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CORE_SPSC_QUEUE_H
#define INCLUDED_RDMA_CORE_SPSC_QUEUE_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr {
namespace rdma {
namespace core {

/*!
 * \brief Bounded first-in first-out queue between two threads, without a lock.
 *
 * One thread pushes, one pops; which ones may change only at a point where both are known
 * to be outside (start, stop). Holds exactly the asked number of items. Never waits,
 * never allocates after construction.
 *
 * Memory order: what the pushing thread wrote before push() is visible to the thread
 * whose pop() returned the item.
 */
template <typename T>
class spsc_queue
{
public:
    explicit spsc_queue(std::size_t capacity) : d_items(capacity) {}

    std::size_t capacity() const noexcept { return d_items.size(); }

    //! Exact for the calling side's own end, a snapshot for the other.
    std::size_t size() const noexcept
    {
        return static_cast<std::size_t>(d_tail.load(std::memory_order_acquire) -
                                        d_head.load(std::memory_order_acquire));
    }
    bool empty() const noexcept { return size() == 0; }

    //! Pushing thread. \return false if full
    bool push(const T& item) noexcept
    {
        const std::uint64_t tail = d_tail.load(std::memory_order_relaxed);
        if (tail - d_head.load(std::memory_order_acquire) == d_items.size())
            return false;
        d_items[tail % d_items.size()] = item;
        d_tail.store(tail + 1, std::memory_order_release);
        return true;
    }

    //! Popping thread. The oldest item, or nullptr. Stays valid until pop().
    T* front() noexcept
    {
        const std::uint64_t head = d_head.load(std::memory_order_relaxed);
        if (head == d_tail.load(std::memory_order_acquire))
            return nullptr;
        return &d_items[head % d_items.size()];
    }

    //! Popping thread; the queue is not empty.
    void pop() noexcept
    {
        d_head.store(d_head.load(std::memory_order_relaxed) + 1,
                     std::memory_order_release);
    }

    //! Popping thread. \return false if empty
    bool pop(T& out) noexcept
    {
        T* item = front();
        if (!item)
            return false;
        out = *item;
        pop();
        return true;
    }

private:
    std::vector<T> d_items;
    alignas(64) std::atomic<std::uint64_t> d_head{ 0 };
    alignas(64) std::atomic<std::uint64_t> d_tail{ 0 };
};

} // namespace core
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CORE_SPSC_QUEUE_H */
