/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_ENDPOINT_H
#define INCLUDED_RDMA_IO_ENDPOINT_H

#include "io/counters.h"
#include "io/endpoint_config.h"
#include "mem/region.h"
#include "mem/registrar.h"

#include <cstdint>
#include <memory>
#include <string>

namespace gr {
namespace rdma {
namespace io {

//! A place for one message: up to \p bytes of the ring at \p offset.
struct recv_slot {
    std::uint64_t offset = 0; //!< in the attached ring region
    std::uint32_t bytes = 0;  //!< at most 2^30
    std::uint64_t cookie = 0; //!< comes back in the completion
    std::uint64_t header_offset =
        0; //!< in the header region, if header_bytes was configured
};

enum class wc_status : std::uint8_t {
    success,
    flushed,        //!< the endpoint was stopped or failed first
    length_error,   //!< message longer than the slot
    access_error,   //!< key, bounds or permission
    remote_error,   //!< the peer refused the request (NAK)
    retry_exceeded, //!< the peer did not answer
    rnr_exceeded,   //!< the peer had no receive posted for too long
};
const char* to_string(wc_status status) noexcept;

enum class wc_opcode : std::uint8_t { send, send_immediate, write_immediate };

enum class gap_reason : std::uint8_t {
    none,
    packet_loss,  //!< PSN jumped
    no_slot,      //!< nothing posted when it came
    length_error, //!< longer than the slot
    access_error, //!< an RDMA WRITE that was not allowed
    late_start,   //!< joined a stream that was already running
    reconnect,    //!< a new connection
    overrun,      //!< dropped on this machine before it reached us
};
const char* to_string(gap_reason reason) noexcept;

//! What was lost in front of a message (or at the end of a stream).
struct gap {
    gap_reason reason = gap_reason::none; //!< none: nothing was lost
    bool messages_known = false;
    bool bytes_known = false;
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    explicit operator bool() const noexcept { return reason != gap_reason::none; }
};

//! One finished receive.
struct completion {
    std::uint64_t cookie = 0;
    std::uint32_t bytes = 0;        //!< message length, header included
    std::uint32_t header_bytes = 0; //!< of these, how many went to the header region
    wc_status status = wc_status::success;
    wc_opcode opcode = wc_opcode::send;
    bool has_immediate = false;
    std::uint32_t immediate = 0; //!< host byte order
    std::uint64_t sequence = 0; //!< messages delivered on this connection before this one
    std::int64_t time_ns = 0;   //!< arrival of the first packet, ns since the Unix epoch
    gap lost;                   //!< what was lost in front of it
};

//! One message to send. The memory stays the endpoint's until the send completion.
struct send_request {
    const std::byte* data = nullptr;
    std::uint64_t bytes = 0; //!< at most 2^30; 0 is a legal message
    std::uint64_t cookie = 0;
    bool has_immediate = false;
    std::uint32_t immediate = 0; //!< host byte order
    //! An RDMA WRITE to remote_address of the peer's memory instead of a SEND (RC, UC).
    bool write = false;
    std::uint64_t remote_address = 0;
    std::uint32_t rkey = 0;
};

struct send_completion {
    std::uint64_t cookie = 0;
    wc_status status = wc_status::success;
};

enum class endpoint_state : std::uint8_t {
    idle,       //!< not started, or stopped while none of the last two
    connecting, //!< listening, or waiting for the peer's answer
    connected,
    closed, //!< the peer ended the connection in order: everything it sent was delivered
    failed, //!< see status_text()
};
const char* to_string(endpoint_state state) noexcept;

/*!
 * \brief One connection, or the wish for one: receives go in, completions come out.
 *
 * Requires: attach() before start(), and memory that outlives stop().
 * Threads: one thread calls post_recv(), poll() and wait_readable(); one (it may be the
 * same) calls post_send(), poll_send() and wait_sendable(); any thread may call stop(),
 * state(), status_text() and counters(). stop() wakes both waits. Memory order: data of a
 * completion is visible to the CPU thread whose poll() returned it. Nothing here throws
 * once start() has returned.
 */
class endpoint
{
public:
    virtual ~endpoint() = default;

    //! Give the memory that recv_slot offsets refer to. \p headers may be empty.
    //! \throws os_error the memory cannot be registered (bytes, route and errno named)
    virtual void attach(const mem::region& ring, const mem::region& headers) = 0;

    /*!
     * \brief Registers memory that the CPU cannot reach, a GPU's. Null: this endpoint has
     * no NIC that could write there.
     *
     * From open() to stop(), in the thread that attaches. What it makes goes to
     * attach_registered(), or is destroyed before stop().
     */
    virtual mem::registrar* registrar() noexcept { return nullptr; }
    /*!
     * \brief attach() of a ring that registrar() has registered. The registration is the
     * endpoint's from here on, and gone when stop() returns. Headers are host memory.
     *
     * \throws os_error the headers cannot be registered
     * \throws config_error \p registered is not of this endpoint's making
     */
    virtual void attach_registered(const mem::region& ring,
                                   const mem::region& headers,
                                   std::unique_ptr<mem::registration> registered);

    /*!
     * \brief Acquire what others may refuse: sockets, ports, devices. Idempotent.
     *
     * Apart from start(), because GNU Radio hangs if a block's start() throws: blocks
     * open while the flowgraph is checked, in the thread that asked for it. \throws
     * config_error address not on this machine, bad combination \throws os_error port in
     * use, limits, driver
     */
    virtual void open() = 0;

    /*!
     * \brief Begin to connect; opens first if that was not done. Post the receives first:
     * a peer may send in the same instant. Once only: make a new endpoint to start again.
     * \throws as open(); nothing if open() has succeeded
     */
    virtual void start() = 0;

    //! Offer up to \p n slots; never waits. \return how many were taken, in order; the
    //! rest stay the caller's (queue full, or stopped).
    [[nodiscard]] virtual std::size_t post_recv(const recv_slot* slots,
                                                std::size_t n) noexcept = 0;

    //! Move up to \p max finished receives into \p out, in the order of the stream; never
    //! waits.
    virtual std::size_t poll(completion* out, std::size_t max) noexcept = 0;

    //! Wait until poll() has something, the state changes, stop(), or \p timeout_ns
    //! passes. Spins, sleeps or both as configured. \return true if poll() has something.
    virtual bool wait_readable(std::int64_t timeout_ns) noexcept = 0;

    //! Queue up to \p n messages; never waits. \return how many were taken.
    [[nodiscard]] virtual std::size_t post_send(const send_request* requests,
                                                std::size_t n) noexcept = 0;
    virtual std::size_t poll_send(send_completion* out, std::size_t max) noexcept = 0;
    virtual bool wait_sendable(std::int64_t timeout_ns) noexcept = 0;

    //! What was lost after the last delivered message; known once stop() has returned.
    virtual gap trailing_gap() const noexcept = 0;

    virtual endpoint_state state() const noexcept = 0;
    //! In words: why it failed or closed, or what it waits for. Empty if there is nothing
    //! to say.
    virtual std::string status_text() const = 0;
    //! One line for logs: kind, service, both addresses, QPNs, MTU, receive strategy.
    virtual std::string description() const = 0;
    virtual const io::counters& counters() const noexcept = 0;

    //! Idempotent, from any thread, within half a second. Outstanding slots and sends
    //! come back as flushed; the memory is not touched after it returns.
    virtual void stop() noexcept = 0;
};

/*!
 * \brief Make the endpoint that \p config asks for; `auto` picks one and says so in
 * description(). \throws config_error an unknown or impossible parameter, by name
 */
std::unique_ptr<endpoint> make_endpoint(const endpoint_config& config);

} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_ENDPOINT_H */
