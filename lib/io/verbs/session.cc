/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/verbs/session.h"

#include "io/verbs/handles.h"

#include <cerrno>
#include <sys/eventfd.h>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

waker::waker() : d_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))
{
    if (d_fd < 0)
        fail(last_error(), "eventfd", "");
}

waker::~waker() { close(d_fd); }

void waker::wake() noexcept
{
    const std::uint64_t one = 1;
    // EAGAIN means that it is awake already.
    if (write(d_fd, &one, sizeof one) != sizeof one)
        errno = 0;
}

void waker::clear() noexcept
{
    std::uint64_t count;
    if (read(d_fd, &count, sizeof count) != sizeof count)
        errno = 0;
}

std::string session::text() const
{
    std::lock_guard<std::mutex> lock(d_mutex);
    return d_text;
}

bool session::set_state(endpoint_state next, const std::string& text)
{
    {
        std::lock_guard<std::mutex> lock(d_mutex);
        if (over())
            return false;
        d_text = text;
        d_state.store(next, std::memory_order_release);
    }
    wake_all();
    return true;
}

void session::set_text(const std::string& text)
{
    std::lock_guard<std::mutex> lock(d_mutex);
    if (!over())
        d_text = text;
}

connection_names session::names() const
{
    std::lock_guard<std::mutex> lock(d_mutex);
    return d_names;
}

void session::set_names(const connection_names& names)
{
    std::lock_guard<std::mutex> lock(d_mutex);
    d_names = names;
}

void session::log(core::log_level level, const std::string& text) const
{
    if (config.log)
        config.log(level, text);
}

void session::wake_all() noexcept
{
    readable.wake();
    sendable.wake();
    watcher.wake();
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
