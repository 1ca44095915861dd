/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_DEVICE_H
#define INCLUDED_RDMA_IO_SOFTROCE_DEVICE_H

#include "io/softroce/cm_agent.h"
#include "io/softroce/queue_pair.h"
#include "io/softroce/scatter_reader.h"
#include "io/softroce/udp_socket.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <poll.h>
#include <thread>
#include <vector>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

//! What all connections at one own address share; the first of them decides.
struct device_config {
    std::uint32_t buffer_bytes = 4u << 20; //!< of the socket, asked of the kernel
    wait_mode wait = wait_mode::hybrid;
    receive_strategy receive = receive_strategy::automatic;
    int cpu = -1; //!< that the pump thread is bound to; -1: any
};

/*!
 * \brief One own address: its UDP socket, the pump thread, and the queue pairs that share
 * them.
 *
 * The pump reads, hands packets to machines, sends what machines want sent, and sleeps
 * when there is nothing to do. It knows addresses and QPNs; protocol is the machines'
 * business.
 *
 * add(), remove() and kick() may be called by any thread but the pump.
 */
class device
{
public:
    /*!
     * \brief The device of the own address \p own in this process, made if there is none
     * yet. \throws os_error as udp_socket
     */
    static std::shared_ptr<device> open(const host_address& own,
                                        const device_config& config);
    ~device();

    //! Take the QPN of \p qp. \throws config_error another has it at this address
    void reserve(queue_pair& qp);
    //! Let the pump into a queue pair that was reserved. On return it is in: what comes
    //! from now on is heard.
    void add(queue_pair& qp);
    //! Let the connection manager tell the peer that \p qp ends; waits for its answer,
    //! but not long.
    void disconnect(queue_pair& qp) noexcept;
    //! On return the pump is out of \p qp and never enters it again.
    void remove(queue_pair& qp) noexcept;
    //! Packets to groups get the largest TTL that was asked for at this address.
    void raise_multicast_ttl(std::uint8_t ttl) noexcept;
    //! A queue pair of this device has something to send.
    void kick() noexcept;

    //! In words: how it reads.
    const char* strategy() const noexcept;
    std::uint32_t receive_buffer() const noexcept { return d_socket.receive_buffer(); }

private:
    device(const host_address& own, const device_config& config);
    void draw_qpn(queue_pair& qp) const;
    void run() noexcept;
    void count_opening() noexcept;
    void take_changes() noexcept;
    bool receive() noexcept;
    bool receive_scattered() noexcept;
    struct guess {
        queue_pair* qp = nullptr;
        wire::psn psn;
        bool inside = false; // of a message
        bool ended = false;  // it goes no further than one message
    };
    bool take_in_place(std::size_t i, guess& g, wire::packet& p) noexcept;
    queue_pair* expected() noexcept;
    void after_reading() noexcept;
    bool receive_groups() noexcept;
    bool receive_group(queue_pair& member) noexcept;
    // member: what came to its group; null: to the own address
    void
    dispatch(const datagrams& read, queue_pair* member, std::int64_t now_ns) noexcept;
    void dispatch_one(const wire::udp_flow& flow,
                      queue_pair* member,
                      const std::byte* data,
                      std::size_t bytes,
                      std::int64_t now_ns) noexcept;
    void deliver(queue_pair& qp, const wire::packet& p, std::int64_t now_ns) noexcept;
    queue_pair* find(std::uint32_t qpn) noexcept;
    bool serve(std::int64_t now_ns) noexcept;
    bool send_requests(queue_pair& qp, std::int64_t now_ns) noexcept;
    void send_packet(queue_pair& qp, const wire::packet& p, std::int64_t now_ns);
    void release_held(queue_pair& qp, std::int64_t now_ns) noexcept;
    void send_ack(queue_pair& qp) noexcept;
    void serve_cm(queue_pair& qp, std::int64_t now_ns) noexcept;
    void send_cm() noexcept;
    void queue(const wire::ip_address& destination, const wire::packet& p) noexcept;
    void flush() noexcept;
    void note_kernel_drops() noexcept;
    void check_failure(queue_pair& qp);
    void tell(queue_pair& qp, const std::string& what);
    void tell_refusal(queue_pair& qp);
    void tell_elsewhere(queue_pair& qp);
    void sleep() noexcept;

    // A junk packet belongs to nobody: each queue pair at this address shows it.
    template <typename Field>
    void count_at_all(Field field) noexcept
    {
        for (queue_pair* qp : d_qps)
            (qp->counts.*field).add();
    }

    static constexpr std::size_t longest_datagram = 8192; // no RoCEv2 packet is longer

    const device_config d_config;
    udp_socket d_socket;
    std::unique_ptr<scatter_reader> d_scatter; // if that is the strategy
    int d_eventfd = -1;

    // Pump thread only.
    std::vector<queue_pair*> d_qps;
    std::vector<queue_pair*> d_members; // those of d_qps that are in a multicast group
    std::vector<pollfd> d_wakers;       // what ends a sleep
    queue_pair* d_last = nullptr;
    cm_agent d_agent;
    icrc_check d_cm_icrc{ false };
    wire::psn d_cm_psn;
    std::uint32_t d_seen_drops = 0;
    std::uint64_t d_seen_unsent = 0;

    std::mutex d_mutex;               // guards the next five
    std::uint8_t d_multicast_ttl = 0; // the largest asked for
    std::condition_variable d_taken_changed;
    std::vector<queue_pair*> d_reserved;
    std::vector<queue_pair*> d_wanted;
    std::uint64_t d_generation = 0; // of d_wanted
    std::uint64_t d_taken = 0;      // generation that the pump works on
    std::atomic<bool> d_changed{ false };
    std::atomic<bool> d_stop{ false };
    std::atomic<int> d_sleeping{ 0 };
    std::thread d_thread; // last: it uses all of the above
};

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_SOFTROCE_DEVICE_H */
