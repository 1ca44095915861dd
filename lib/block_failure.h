/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_BLOCK_FAILURE_H
#define INCLUDED_RDMA_BLOCK_FAILURE_H

#include <atomic>
#include <mutex>
#include <string>

namespace gr {
namespace rdma {

//! Why a block ended its stream: the first reason of a run. Any thread.
class block_failure
{
public:
    //! A run begins.
    void clear()
    {
        const std::lock_guard<std::mutex> lock(d_mutex);
        d_text.clear();
        d_has_come = false;
    }
    //! \return whether \p text is the first, and so the one that is kept. To be logged
    //! without any lock: who listens to the log may ask for text().
    bool set(const std::string& text)
    {
        const std::lock_guard<std::mutex> lock(d_mutex);
        if (!d_text.empty())
            return false;
        d_text = text;
        d_has_come = true;
        return true;
    }
    //! For the block's work: without a lock.
    bool has_come() const noexcept { return d_has_come; }
    //! Empty while all is well.
    std::string text() const
    {
        const std::lock_guard<std::mutex> lock(d_mutex);
        return d_text;
    }

private:
    mutable std::mutex d_mutex;
    std::string d_text;
    std::atomic<bool> d_has_come{ false };
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_BLOCK_FAILURE_H */
