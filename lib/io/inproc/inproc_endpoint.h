/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_INPROC_INPROC_ENDPOINT_H
#define INCLUDED_RDMA_IO_INPROC_INPROC_ENDPOINT_H

#include "core/doorbell.h"
#include "io/endpoint.h"

#include <atomic>
#include <memory>

namespace gr {
namespace rdma {
namespace io {
namespace inproc {

class link;
struct side;

/*!
 * \brief Two endpoints of one process, joined by name: no network, one copy, done by
 * whichever thread posts second.
 *
 * `source` is the own name and `connect` the peer's; they meet when both have started.
 * RC: a message waits until the peer has posted a slot. UC: it is dropped then, and shows
 * as a gap. Host memory only. QPNs, PSNs and the MTU have no meaning here and are
 * ignored.
 */
class inproc_endpoint : public endpoint
{
public:
    //! \throws config_error a name is missing, both are the same, service is ud, or a
    //! rate is given
    explicit inproc_endpoint(const endpoint_config& config);
    ~inproc_endpoint() override;

    void attach(const mem::region& ring, const mem::region& headers) override;
    //! \throws config_error another endpoint of this process has the same names
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
    const io::counters& counters() const noexcept override;
    void stop() noexcept override;

private:
    bool wait(core::doorbell& bell,
              const std::atomic<std::size_t>& count,
              std::int64_t timeout_ns) noexcept;

    const endpoint_config d_config;
    std::shared_ptr<link> d_link;
    std::shared_ptr<side> d_side;
};

} // namespace inproc
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_INPROC_INPROC_ENDPOINT_H */
