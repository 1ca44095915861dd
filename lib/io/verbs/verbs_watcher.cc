/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The watcher thread of a verbs endpoint: events of the connection manager and the
// device.
#include "core/clock.h"
#include "io/verbs/verbs_endpoint.h"

#include <algorithm>
#include <poll.h>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

namespace {

constexpr std::uint32_t bit(ibv_event_type event)
{
    return static_cast<unsigned>(event) < 32 ? 1u << static_cast<unsigned>(event) : 0;
}

} // namespace

void verbs_endpoint::watch() noexcept
{
    while (!d_stop_watching.load()) {
        pollfd fds[4] = { { d_session.watcher.fd(), POLLIN, 0 },
                          { d_hub->fd(), POLLIN, 0 },
                          { d_cm ? d_cm->fd() : -1, POLLIN, 0 },
                          { d_member ? d_member->fd() : -1, POLLIN, 0 } };
        const std::int64_t until_ns = next_deadline_ns();
        const std::int64_t left_ns =
            std::max<std::int64_t>(until_ns - core::monotonic_ns(), 0);
        const timespec left = { static_cast<time_t>(left_ns / 1000000000),
                                static_cast<long>(left_ns % 1000000000) };
        ppoll(fds, 4, until_ns == INT64_MAX ? nullptr : &left, nullptr);
        d_session.watcher.clear();
        if (fds[1].revents)
            d_hub->dispatch();
        if (fds[2].revents)
            d_cm->on_events();
        if (fds[3].revents)
            d_member->on_events();
        handle_async_events();
        if (d_session.broken.exchange(false))
            find_out_why();
        on_deadlines();
    }
}

std::int64_t verbs_endpoint::next_deadline_ns() const noexcept
{
    if (d_session.over())
        return INT64_MAX;
    return std::min({ d_port_limit_ns,
                      d_sends.next_due_ns(),
                      d_cm ? d_cm->deadline_ns() : INT64_MAX,
                      d_static ? d_static->deadline_ns() : INT64_MAX });
}

void verbs_endpoint::on_deadlines() noexcept
{
    const std::int64_t now_ns = core::monotonic_ns();
    if (d_session.over())
        return;
    if (d_cm && d_cm->deadline_ns() <= now_ns)
        d_cm->on_deadline();
    if (d_static && d_static->deadline_ns() <= now_ns)
        d_static->on_deadline();
    if (d_sends.next_due_ns() <= now_ns) {
        std::lock_guard<std::mutex> lock(d_sends.mutex);
        d_sends.harvest();
    }
    if (d_port_limit_ns <= now_ns) {
        d_port_limit_ns = INT64_MAX;
        const device_facts& facts = d_transport.facts();
        d_session.fail(text_of(d_session.names()) + ": " +
                       async_event_words(IBV_EVENT_PORT_ERR, facts.name, facts.port) +
                       " It has been down for " +
                       std::to_string(retry_limit_ns(d_config) / 1000000) + " ms");
    }
}

// The reason is in the other queue, which nobody may be reading.
void verbs_endpoint::find_out_why() noexcept
{
    send_queue::sign sign;
    {
        std::lock_guard<std::mutex> lock(d_sends.mutex);
        d_sends.harvest();
        sign = d_sends.probe_result();
    }
    d_session.fail(text_of(d_session.names()) +
                   (sign == send_queue::sign::dead
                        ? ": the peer no longer answers"
                        : ": the queue pair is in error, and the device has not told "
                          "why: see the kernel log (dmesg)"));
}

// Events of all endpoints on the device come by, in the thread of any of them.
void verbs_endpoint::on_async_event(const ibv_async_event& event) noexcept
{
    switch (event.event_type) {
    case IBV_EVENT_CQ_ERR:
        if (event.element.cq != d_transport.recv_cq.get() &&
            event.element.cq != d_transport.send_cq.get())
            return;
        break;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
        if (event.element.qp != d_transport.qp())
            return;
        break;
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_GID_CHANGE:
        if (event.element.port_num != d_transport.facts().port)
            return;
        break;
    case IBV_EVENT_DEVICE_FATAL:
        break;
    default:
        return;
    }
    d_events.fetch_or(bit(event.event_type));
    d_session.watcher.wake();
}

void verbs_endpoint::handle_async_events() noexcept
{
    const std::uint32_t events = d_events.exchange(0);
    if (events == 0)
        return;
    const device_facts& facts = d_transport.facts();
    const auto words = [&](ibv_event_type event) {
        return async_event_words(event, facts.name, facts.port);
    };
    if (events & bit(IBV_EVENT_COMM_EST) && d_cm)
        d_cm->on_first_packet();
    if (events & bit(IBV_EVENT_GID_CHANGE))
        d_session.log(core::log_level::info, words(IBV_EVENT_GID_CHANGE));
    if (events & bit(IBV_EVENT_PORT_ERR)) {
        d_session.log(core::log_level::warn, words(IBV_EVENT_PORT_ERR));
        d_session.set_text(words(IBV_EVENT_PORT_ERR));
        if (state() == endpoint_state::connected && d_config.service == service_type::rc)
            d_port_limit_ns = core::monotonic_ns() + retry_limit_ns(d_config);
    }
    if (events & bit(IBV_EVENT_PORT_ACTIVE)) {
        d_session.log(core::log_level::info, words(IBV_EVENT_PORT_ACTIVE));
        d_session.set_text("");
        d_port_limit_ns = INT64_MAX;
    }
    for (const ibv_event_type fatal : { IBV_EVENT_DEVICE_FATAL,
                                        IBV_EVENT_CQ_ERR,
                                        IBV_EVENT_QP_FATAL,
                                        IBV_EVENT_QP_REQ_ERR,
                                        IBV_EVENT_QP_ACCESS_ERR })
        if (events & bit(fatal))
            d_session.fail(text_of(d_session.names()) + ": " + words(fatal));
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
