/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_VERBS_SESSION_H
#define INCLUDED_RDMA_IO_VERBS_SESSION_H

#include "io/endpoint.h"
#include "io/verbs/words.h"

#include <atomic>
#include <mutex>
#include <string>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

//! Wakes one thread that sleeps in poll() on fd(). An eventfd: any thread may wake it.
class waker
{
public:
    waker(); //!< \throws os_error no descriptor left
    ~waker();
    waker(const waker&) = delete;
    waker& operator=(const waker&) = delete;

    int fd() const noexcept { return d_fd; }
    void wake() noexcept;
    void clear() noexcept; //!< the sleeper, after it woke and before it looks again

private:
    int d_fd;
};

/*!
 * \brief What the parts of one endpoint share: its state, why it is in it, and who must
 * be woken when that changes.
 *
 * closed and failed are final: the first reason stays. Any thread.
 */
class session
{
public:
    session(const endpoint_config& config, io::counters& counts)
        : config(config), counts(counts)
    {
    }

    endpoint_state state() const noexcept
    {
        return d_state.load(std::memory_order_acquire);
    }
    bool over() const noexcept
    {
        const endpoint_state now = state();
        return now == endpoint_state::closed || now == endpoint_state::failed;
    }
    std::string text() const;
    //! \return false if it was over before, and nothing changed
    bool set_state(endpoint_state next, const std::string& text);
    //! Words for a state that goes on; none: "".
    void set_text(const std::string& text);
    void fail(const std::string& text) noexcept
    {
        set_state(endpoint_state::failed, text);
    }
    //! The peer has spoken, or has acknowledged.
    void heard() noexcept
    {
        if (state() == endpoint_state::connecting)
            set_state(endpoint_state::connected, "");
    }

    connection_names names() const;
    void set_names(const connection_names& names);
    void log(core::log_level level, const std::string& text) const;
    void wake_all() noexcept;

    const endpoint_config& config;
    io::counters& counts;
    waker readable; //!< for the receiving thread
    waker sendable; //!< for the sending thread
    waker watcher;  //!< for the thread that looks after events
    std::atomic<bool> stopped{ false };
    //! Work came back flushed though nobody has ended the connection: the watcher finds
    //! out why.
    std::atomic<bool> broken{ false };

private:
    mutable std::mutex d_mutex; // guards the next two, and changes of d_state
    std::string d_text;
    connection_names d_names;
    std::atomic<endpoint_state> d_state{ endpoint_state::idle };
};

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_VERBS_SESSION_H */
