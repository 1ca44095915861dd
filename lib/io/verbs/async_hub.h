/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_VERBS_ASYNC_HUB_H
#define INCLUDED_RDMA_IO_VERBS_ASYNC_HUB_H

#include "io/verbs/verbs_api.h"

#include <memory>
#include <mutex>
#include <vector>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

//! Told of every asynchronous event of a device; picks its own by queue pair or port.
class async_listener
{
public:
    virtual ~async_listener() = default;
    //! In the thread of whoever reads the events.
    virtual void on_async_event(const ibv_async_event& event) noexcept = 0;
};

/*!
 * \brief Asynchronous events of one device context, for all endpoints on it.
 *
 * The connection manager has one context a device for the whole process, and a context
 * has one descriptor for its events: whoever reads it must pass on what belongs to
 * others. Any thread. A listener must leave before it goes; leave() waits for a call into
 * it.
 */
class async_hub
{
public:
    //! The one of \p context; made if need be, gone with its last user.
    //! \throws os_error the descriptor cannot be set up
    static std::shared_ptr<async_hub> of(const verbs_api& api, ibv_context* context);

    int fd() const noexcept { return d_context->async_fd; }
    void join(async_listener& listener);
    void leave(async_listener& listener) noexcept;
    //! Read what is there, tell all listeners, acknowledge. Never waits for events.
    void dispatch() noexcept;

    async_hub(const verbs_api& api, ibv_context* context) : d_api(api), d_context(context)
    {
    }

private:
    const verbs_api& d_api;
    ibv_context* const d_context;
    std::mutex d_mutex; // guards d_listeners; held while they are called
    std::vector<async_listener*> d_listeners;
};

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_VERBS_ASYNC_HUB_H */
