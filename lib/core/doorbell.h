/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CORE_DOORBELL_H
#define INCLUDED_RDMA_CORE_DOORBELL_H

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace gr {
namespace rdma {
namespace core {

/*!
 * \brief Wakes one sleeping thread when something was published; costs one atomic
 * operation when nobody sleeps.
 *
 * The publisher makes its condition true, then calls ring(). The sleeper passes that
 * condition to wait(). No wake-up is lost: both sides do a read-modify-write on one
 * atomic, so either the sleeper sees what was published or the publisher sees the
 * sleeper.
 *
 * Any number of threads may ring; one may wait.
 */
class doorbell
{
public:
    void ring() noexcept
    {
        if (d_sleeping.fetch_add(0, std::memory_order_acq_rel) != 0) {
            // Taking the mutex orders this after the sleeper's check under it.
            std::lock_guard<std::mutex> lock(d_mutex);
            d_condition.notify_all();
        }
    }

    //! Wait until \p ready() or \p timeout_ns has passed. \return the last value of
    //! ready()
    template <typename Ready>
    bool wait(Ready ready, std::int64_t timeout_ns)
    {
        if (ready())
            return true;
        if (timeout_ns <= 0)
            return false;
        std::unique_lock<std::mutex> lock(d_mutex);
        d_sleeping.fetch_add(1, std::memory_order_acq_rel);
        const bool result =
            d_condition.wait_for(lock, std::chrono::nanoseconds(timeout_ns), ready);
        d_sleeping.fetch_sub(1, std::memory_order_acq_rel);
        return result;
    }

private:
    std::atomic<int> d_sleeping{ 0 };
    std::mutex d_mutex; // guards the sleep itself, no data
    std::condition_variable d_condition;
};

} // namespace core
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CORE_DOORBELL_H */
