/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/queue_pair.h"

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

namespace {

responder_config responder_settings(const endpoint_config& c)
{
    responder_config r;
    r.service = c.service;
    r.mtu = c.mtu;
    r.first_psn = wire::psn(c.remote_psn);
    r.header_bytes = c.header_bytes;
    r.message_bytes = c.message_bytes;
    r.rnr_timer = c.rnr_timer;
    return r;
}

requester_config requester_settings(const endpoint_config& c)
{
    requester_config r;
    r.service = c.service;
    r.mtu = c.mtu;
    r.first_psn = wire::psn(c.psn);
    r.dest_qpn = c.remote_qpn;
    r.retry_count = c.retry_count;
    r.rnr_retry = c.rnr_retry;
    r.ack_timeout_ns = c.ack_timeout_ns;
    r.rate_bytes = c.rate_bytes;
    return r;
}

} // namespace

queue_pair::queue_pair(const endpoint_config& config)
    : qpn(config.qpn),
      dest_qpn(config.remote_qpn),
      service(config.service),
      slots(config.recv_depth),
      completions(config.recv_depth),
      requests(config.send_depth),
      done(config.send_depth),
      rx(responder_settings(config), slots, completions, counts),
      tx(requester_settings(config), config.send_depth, requests, done, counts)
{
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
