/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// How a listener's peer gives its place to the next one.
#include "io/verbs/cm_connection.h"

#include "core/clock.h"

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

namespace {

constexpr std::int64_t answer_interval_ns = 5000000;

} // namespace

// Of a dead peer the queue pair goes into error; who polls the receives by then must not
// take that for the end.
void cm_connection::ask_for_life(id_handle caller)
{
    keep_flushed(true);
    bool sends = false; // which was meant for this peer
    {
        std::lock_guard<std::mutex> lock(d_sends.mutex);
        sends = d_sends.sent_anything();
        if (!sends)
            d_sends.probe();
    }
    if (sends) {
        keep_flushed(false);
        return refuse(std::move(caller), "busy with another peer");
    }
    d_caller = std::move(caller);
    const std::int64_t now_ns = core::monotonic_ns();
    d_ask_until_ns = now_ns + retry_limit_ns(d_session.config);
    d_deadline_ns = now_ns + answer_interval_ns;
}

void cm_connection::keep_flushed(bool keep)
{
    std::lock_guard<std::mutex> lock(d_receives.mutex);
    d_receives.keep_flushed(keep);
}

// Completions of sends are looked at here, for nobody else may do so.
void cm_connection::on_answer()
{
    const std::int64_t now_ns = core::monotonic_ns();
    send_queue::sign sign;
    {
        std::lock_guard<std::mutex> lock(d_sends.mutex);
        d_sends.harvest();
        sign = d_sends.probe_result();
    }
    if (sign == send_queue::sign::pending && now_ns < d_ask_until_ns) {
        d_deadline_ns = now_ns + answer_interval_ns;
        return;
    }
    if (sign == send_queue::sign::dead)
        return replace_peer();
    keep_flushed(false);
    refuse(std::move(d_caller), "busy with another sender");
}

void cm_connection::replace_peer()
{
    d_session.counts.cm_replaced.add();
    d_session.log(core::log_level::warn,
                  text_of(names_for(d_peer_id.get())) +
                      ": the peer no longer answers; another takes its place");
    d_standing = false;
    d_peer_id.reset();
    d_session.set_state(endpoint_state::connecting,
                        "listening on " + d_session.config.listen);
    {
        std::lock_guard<std::mutex> recv_lock(d_receives.mutex);
        std::lock_guard<std::mutex> send_lock(d_sends.mutex);
        d_transport.start_over();
        d_sends.unbind();
        d_receives.start_over();
    }
    accept(std::move(d_caller));
}

// Listen on; what was posted for that peer is posted again.
void cm_connection::give_up_peer(const std::string& why)
{
    d_session.log(core::log_level::warn, why + "; listening on");
    d_deadline_ns = INT64_MAX;
    d_peer_id.reset();
    d_standing = false;
    std::lock_guard<std::mutex> lock(d_receives.mutex);
    d_transport.start_over();
    d_receives.bind(true);
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
