/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/verbs/async_hub.h"

#include "io/verbs/handles.h"

#include <algorithm>
#include <fcntl.h>
#include <map>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

std::shared_ptr<async_hub> async_hub::of(const verbs_api& api, ibv_context* context)
{
    static std::mutex registry_mutex;
    static auto* hubs = // outlives static destructors
        new std::map<ibv_context*, std::weak_ptr<async_hub>>;
    std::lock_guard<std::mutex> lock(registry_mutex);
    for (auto i = hubs->begin(); i != hubs->end();)
        i = i->second.expired() ? hubs->erase(i) : std::next(i);
    std::weak_ptr<async_hub>& known = (*hubs)[context];
    auto found = known.lock();
    if (!found) {
        const int fd = context->async_fd;
        check_errno(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK),
                    "fcntl",
                    "on the events of " +
                        std::string(api.get_device_name(context->device)));
        known = found = std::make_shared<async_hub>(api, context);
    }
    return found;
}

void async_hub::join(async_listener& listener)
{
    std::lock_guard<std::mutex> lock(d_mutex);
    d_listeners.push_back(&listener);
}

void async_hub::leave(async_listener& listener) noexcept
{
    std::lock_guard<std::mutex> lock(d_mutex);
    d_listeners.erase(std::remove(d_listeners.begin(), d_listeners.end(), &listener),
                      d_listeners.end());
}

void async_hub::dispatch() noexcept
{
    std::lock_guard<std::mutex> lock(d_mutex);
    ibv_async_event event{};
    while (d_api.get_async_event(d_context, &event) == 0) {
        for (async_listener* listener : d_listeners)
            listener->on_async_event(event);
        d_api.ack_async_event(&event);
    }
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
