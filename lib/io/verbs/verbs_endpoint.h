/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_VERBS_VERBS_ENDPOINT_H
#define INCLUDED_RDMA_IO_VERBS_VERBS_ENDPOINT_H

#include "io/endpoint.h"
#include "io/verbs/async_hub.h"
#include "io/verbs/cm_connection.h"
#include "io/verbs/endpoint_addresses.h"
#include "io/verbs/hw_counters.h"
#include "io/verbs/multicast_member.h"
#include "io/verbs/static_connection.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

/*!
 * \brief An RDMA device through libibverbs and librdmacm.
 *
 * The device writes messages into the attached memory and both threads read its
 * completion queues themselves; a thread of its own (the watcher) sleeps until the
 * connection manager or the device has news. Losses on UC and UD leave no trace: a device
 * does not show packet numbers. Waits sleep on the completion channel.
 *
 * The QPN is the device's to choose: description() tells it, qpn only says "static".
 *
 * Locks, in this order: d_mutex (open, start, stop) before d_reading or d_sending (a wait
 * is under way) before the queues' own, before the session's.
 */
class verbs_endpoint : public endpoint, private async_listener, private mem::registrar
{
public:
    //! \throws config_error service, addresses, depths are wrong or missing
    explicit verbs_endpoint(const endpoint_config& config,
                            const verbs_api& api = current_verbs());
    ~verbs_endpoint() override;

    //! Opens, too: memory is registered with a device.
    void attach(const mem::region& ring, const mem::region& headers) override;
    mem::registrar* registrar() noexcept override { return this; }
    void attach_registered(const mem::region& ring,
                           const mem::region& headers,
                           std::unique_ptr<mem::registration> registered) override;
    void open() override;
    void start() override;
    std::size_t post_recv(const recv_slot* slots, std::size_t n) noexcept override;
    std::size_t poll(completion* out, std::size_t max) noexcept override;
    bool wait_readable(std::int64_t timeout_ns) noexcept override;
    std::size_t post_send(const send_request* requests, std::size_t n) noexcept override;
    std::size_t poll_send(send_completion* out, std::size_t max) noexcept override;
    bool wait_sendable(std::int64_t timeout_ns) noexcept override;
    gap trailing_gap() const noexcept override { return gap(); }
    endpoint_state state() const noexcept override { return d_session.state(); }
    std::string status_text() const override { return d_session.text(); }
    std::string description() const override;
    const io::counters& counters() const noexcept override;
    void stop() noexcept override;

private:
    std::unique_ptr<mem::registration> register_dma_buf(const mem::dma_buf& buffer,
                                                        std::uint64_t address,
                                                        std::uint64_t bytes) override;
    std::unique_ptr<mem::registration> register_address(std::uint64_t address,
                                                        std::uint64_t bytes) override;
    void open_unlocked();
    void open_device_of(const gid_row& row);
    void announce(const gid_row& row);
    bool sends_to_somebody() const noexcept;
    template <typename Queue>
    bool wait(std::mutex& owner,
              Queue& queue,
              completion_queue& cq,
              waker& bell,
              std::int64_t timeout_ns) noexcept;
    void sleep(completion_queue* cq, waker& bell, std::int64_t until_ns) noexcept;

    void watch() noexcept;
    std::int64_t next_deadline_ns() const noexcept;
    void on_async_event(const ibv_async_event& event) noexcept override;
    void handle_async_events() noexcept;
    void find_out_why() noexcept;
    void on_deadlines() noexcept;

    void drain() noexcept;

    const endpoint_config d_config;
    const verbs_api& d_api;
    mutable io::counters d_counts;
    mutable session d_session;
    mutable transport d_transport;
    mutable receive_queue d_receives;
    mutable send_queue d_sends;
    mutable std::mutex d_hw_mutex; // guards d_hw
    mutable hw_counters d_hw;
    endpoint_addresses d_addresses;
    std::unique_ptr<cm_connection> d_cm;
    std::unique_ptr<static_connection> d_static;
    std::unique_ptr<multicast_member> d_member;
    std::shared_ptr<async_hub> d_hub;
    std::string d_description; // guarded by d_text_mutex
    mutable std::mutex d_text_mutex;

    std::mutex d_mutex;   // orders open(), attach(), start() and stop()
    std::mutex d_reading; // held by who waits for receives
    std::mutex d_sending; // held by who waits for sends
    std::atomic<bool> d_open{ false };
    bool d_attached = false;
    bool d_started = false;

    std::atomic<std::uint32_t> d_events{ 0 }; // bits: asynchronous events to handle
    std::int64_t d_port_limit_ns = INT64_MAX; // the port is down; watcher
    std::atomic<bool> d_stop_watching{ false };
    std::thread d_watcher;
};

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_VERBS_VERBS_ENDPOINT_H */
