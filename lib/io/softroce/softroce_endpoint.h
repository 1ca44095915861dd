/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_SOFTROCE_ENDPOINT_H
#define INCLUDED_RDMA_IO_SOFTROCE_SOFTROCE_ENDPOINT_H

#include "io/endpoint.h"
#include "io/softroce/device.h"

#include <atomic>
#include <memory>
#include <mutex>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

/*!
 * \brief RoCEv2 over an ordinary UDP socket: no NIC, no driver, no privilege.
 *
 * Host memory only. A pump thread per own address does the protocol, so that a peer is
 * answered while the stream's consumer is busy or stopped. In a static RC connection the
 * state is "connecting" until the peer was heard.
 */
class softroce_endpoint : public endpoint
{
public:
    //! \throws config_error service, addresses, QPNs, PSNs, MTU or depths are wrong or
    //! missing
    explicit softroce_endpoint(const endpoint_config& config);
    ~softroce_endpoint() override;

    void attach(const mem::region& ring, const mem::region& headers) override;
    void open() override;
    void start() override;
    std::size_t post_recv(const recv_slot* slots, std::size_t n) noexcept override;
    std::size_t poll(completion* out, std::size_t max) noexcept override;
    bool wait_readable(std::int64_t timeout_ns) noexcept override;
    std::size_t post_send(const send_request* requests, std::size_t n) noexcept override;
    std::size_t poll_send(send_completion* out, std::size_t max) noexcept override;
    bool wait_sendable(std::int64_t timeout_ns) noexcept override;
    gap trailing_gap() const noexcept override;
    endpoint_state state() const noexcept override;
    std::string status_text() const override;
    std::string description() const override;
    const io::counters& counters() const noexcept override { return d_qp->counts; }
    void stop() noexcept override;

private:
    host_address resolve();
    host_address resolve_peer();
    void resolve_peers(const host_address& own);
    void open_unlocked();
    template <typename Ready>
    bool wait(core::doorbell& bell, Ready ready, std::int64_t timeout_ns) noexcept;

    const endpoint_config d_config;
    std::unique_ptr<queue_pair> d_qp;
    // Taken in this order. The last two keep a post from falling behind stop().
    std::mutex d_mutex;              // orders open(), start() and stop()
    std::mutex d_recv_mutex;         // post_recv()
    mutable std::mutex d_send_mutex; // post_send(); guards d_device
    std::shared_ptr<device> d_device;
    std::atomic<bool> d_started{ false };
    std::atomic<bool> d_stopped{ false };
    std::atomic<bool> d_finished{ false }; // the pump is out for good
    std::size_t d_receives = 0;            // posted and not polled; receiving thread
    std::size_t d_sends = 0;               // posted and not polled; sending thread
};

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_SOFTROCE_SOFTROCE_ENDPOINT_H */
