/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/queue_pair.h"

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

queue_pair::queue_pair(const endpoint_config& c)
    : config(c),
      service(c.service),
      qpn(c.qpn),
      dest_qpn(c.remote_qpn),
      own_qkey(c.qkey),
      dest_qkey(c.qkey),
      slots(c.recv_depth),
      completions(c.recv_depth),
      requests(c.send_depth),
      done(c.send_depth)
{
    if (c.faults.harms())
        faults.emplace(c.faults);
    configure(c.remote_qpn, c.psn, c.remote_psn, c.mtu ? c.mtu : 1024, true);
}

void queue_pair::configure(std::uint32_t remote_qpn,
                           std::uint32_t psn,
                           std::uint32_t remote_psn,
                           std::uint32_t mtu,
                           bool wait_for_peer)
{
    dest_qpn = remote_qpn;
    responder_config r;
    r.service = service;
    r.mtu = mtu;
    r.first_psn = wire::psn(remote_psn);
    r.header_bytes = config.header_bytes;
    r.message_bytes = config.message_bytes;
    r.rnr_timer = config.rnr_timer;
    r.rkey = config.rkey;
    r.qkey = own_qkey;
    r.follows_another = rx && rx->heard();
    rx.emplace(r, slots, completions, counts);
    told = responder::refusal::none;
    rx->attach(d_ring, d_headers);
    requester_config t;
    t.service = service;
    t.mtu = mtu;
    t.first_psn = wire::psn(psn);
    t.dest_qpn = remote_qpn;
    t.own_qpn = qpn;
    t.qkey = dest_qkey;
    t.retry_count = config.retry_count;
    t.rnr_retry = config.rnr_retry;
    t.ack_timeout_ns = config.ack_timeout_ns;
    t.rate_bytes = config.rate_bytes;
    t.wait_for_peer = wait_for_peer;
    tx.emplace(t, config.send_depth, requests, done, counts);
}

void queue_pair::attach(const mem::region& ring, const mem::region& headers)
{
    d_ring = ring;
    d_headers = headers;
    rx->attach(ring, headers);
}

void queue_pair::set_state(endpoint_state next, const std::string& why)
{
    {
        std::lock_guard<std::mutex> lock(d_mutex);
        d_why = why;
    }
    state.store(next, std::memory_order_release);
    readable.ring();
    sendable.ring();
}

std::string queue_pair::status_text() const
{
    std::lock_guard<std::mutex> lock(d_mutex);
    return d_why;
}

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr
