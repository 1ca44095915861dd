/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_SIDR_QUERY_H
#define INCLUDED_RDMA_IO_SOFTROCE_SIDR_QUERY_H

#include "wire/cm.h"
#include "wire/ip_address.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

//! What is asked, of whom, and how patiently.
struct sidr_settings {
    wire::ip_address own;
    wire::ip_address peer;
    std::uint16_t own_port = 0;           //!< a number to show; RoCE has no use for it
    std::uint16_t port = 0;               //!< the listener's, in rdma_cm's UDP port space
    std::uint32_t request_id = 0;         //!< random
    std::uint64_t transaction_id = 0;     //!< random
    std::vector<std::byte> private_data;  //!< at most 180 bytes
    std::int64_t response_ns = 250000000; //!< until the request is sent again
    std::int64_t patience_ns = 10000000000; //!< until it is given up
};

enum class sidr_state : std::uint8_t {
    idle,
    asking,
    resolved, //!< qpn() and qkey() are the peer's
    refused,  //!< see status()
    failed,   //!< no answer in time
};

/*!
 * \brief The calling half of service ID resolution (InfiniBand spec vol. 1, 12.11): asks
 * for queue pair number and Q_Key of a datagram service. The answering half needs no
 * memory: see cm_agent.
 *
 * Pure: messages and time in, messages and states out. The request goes out again until
 * it is answered. Only the first answer of the peer's own address counts. Not
 * thread-safe. Times are core::monotonic_ns().
 */
class sidr_query
{
public:
    explicit sidr_query(const sidr_settings& settings);

    void ask(std::int64_t now_ns);
    //! \return false if the message is no answer to this request, or none that could be
    bool on_reply(const wire::cm_message& message, const wire::ip_address& from);
    //! Call at deadline() or later.
    void on_time(std::int64_t now_ns);
    std::int64_t deadline() const noexcept { return d_deadline_ns; }
    //! The next message to send to settings().peer, if there is one.
    bool take(wire::cm_message& out);

    sidr_state state() const noexcept { return d_state; }
    const sidr_settings& settings() const noexcept { return d_settings; }
    std::uint32_t qpn() const noexcept { return d_reply.qpn; }
    std::uint32_t qkey() const noexcept { return d_reply.qkey; }
    wire::cm_sidr_status status() const noexcept { return d_reply.status; }
    //! The listener's, padded with zeros to 136 bytes.
    const wire::cm_private_data<136>& private_data() const noexcept
    {
        return d_reply.private_data;
    }

private:
    void send(std::int64_t now_ns);
    void end(sidr_state state) noexcept;

    const sidr_settings d_settings;
    sidr_state d_state = sidr_state::idle;
    bool d_has_message = false;
    std::int64_t d_deadline_ns = INT64_MAX;
    std::int64_t d_give_up_ns = INT64_MAX;
    wire::cm_sidr_rep d_reply;
};

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_SOFTROCE_SIDR_QUERY_H */
