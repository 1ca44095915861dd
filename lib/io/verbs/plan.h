/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_VERBS_PLAN_H
#define INCLUDED_RDMA_IO_VERBS_PLAN_H

#include "io/endpoint_config.h"

#include <infiniband/verbs.h>
#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

//! Decisions of the endpoint as functions of facts: no device, no system call.

//! What a device says about itself and one of its ports.
struct device_facts {
    std::string name; //!< "rxe0"
    std::uint8_t port = 1;
    ibv_device_attr_ex device{};
    ibv_port_attr port_attributes{};
};

constexpr std::uint32_t grh_bytes = 40; //!< in front of each received datagram

struct queue_plan {
    std::uint32_t recv_requests = 0;
    std::uint32_t send_requests = 0;
    std::uint32_t recv_entries = 0; //!< of the receives' completion queue
    std::uint32_t send_entries = 0;
    std::uint32_t recv_pieces = 1; //!< scatter elements: GRH (UD), header, ring
    std::uint32_t send_pieces = 1;
};

/*!
 * \brief Sizes of the queues. Completion queues hold whatever may be outstanding, so that
 * none overruns however late it is read.
 * \throws config_error a depth beyond the device's limit: parameter, value, the limit
 * and its name
 */
queue_plan plan_queues(const endpoint_config& config, const device_facts& facts);

/*!
 * \brief Bytes of the path MTU. \param wanted 0: 1024, or less if the port holds less
 * \throws config_error the port holds less: both values, and what to set
 */
std::uint32_t plan_mtu(std::uint32_t wanted, const device_facts& facts);

std::uint32_t mtu_bytes(ibv_mtu code) noexcept; //!< 0 for no code
ibv_mtu mtu_code(std::uint32_t bytes) noexcept;

//! Code of the local ACK time-out (4.096 us x 2^code) that is at least \p ns: 1 to 31.
std::uint8_t ack_timeout_code(std::int64_t ns) noexcept;

//! What a queue pair is given as its retry count: at most 6, because rxe takes 7 for "for
//! ever", as if it were the count of RNR retries, and would never notice that a peer
//! died.
constexpr std::uint8_t plan_retries(const endpoint_config& config) noexcept
{
    return config.retry_count < 6 ? config.retry_count : std::uint8_t(6);
}

//! By then a reliable queue pair with these settings has given up a peer that does not
//! answer; devices stretch the time-out.
constexpr std::int64_t retry_limit_ns(const endpoint_config& config) noexcept
{
    return 8 * config.ack_timeout_ns * (config.retry_count + 1);
}

//! One row of a device's GID table.
struct gid_row {
    std::string device;
    ibv_gid_entry entry{};
};
std::string gid_text(const ibv_gid& gid);
//! The table as people read it, a line a row; \p mark: the row to mark, or none.
std::string gid_table_text(const std::vector<gid_row>& rows, const gid_row* mark);

struct gid_wish {
    ibv_gid own{};             //!< the interface's address
    std::string text;          //!< the same, for messages
    std::uint32_t ifindex = 0; //!< of a link-local address; 0: any
    std::string device;        //!< "": any
    unsigned port = 0;         //!< 0: any
    int index = -1;            //!< -1: by content
};

/*!
 * \brief The RoCE v2 row that carries the interface's own address, or the forced index.
 * \throws config_error a forced device, port or index that does not exist, carries
 * another address, or is RoCE v1 or InfiniBand; or no row fits. The table is in the text.
 */
const gid_row& choose_gid(const std::vector<gid_row>& rows, const gid_wish& wish);

/*!
 * \brief Whether \p bytes may be locked. \param limit RLIMIT_MEMLOCK \param unlimited the
 * limit is none, or this process is exempt (CAP_IPC_LOCK)
 * \return empty, or why not: bytes wanted, the limit, and the most slots that fit
 */
std::string memlock_problem(std::uint64_t bytes,
                            std::uint64_t limit,
                            bool unlimited,
                            std::uint64_t slot_bytes);

//! Interrupts of a completion queue are thinned out to this, where the device can.
//! count 0: not.
struct moderation_plan {
    std::uint16_t count = 0;
    std::uint16_t period_us = 0;
};
moderation_plan plan_moderation(wait_mode wait,
                                std::uint32_t depth,
                                const ibv_cq_moderation_caps& caps) noexcept;

/*!
 * \brief Puts the device's completion time stamps on the Unix time scale.
 *
 * Two readings of the device's counter beside the system's clock give an offset; the rate
 * is the device's own. Not thread-safe.
 */
class stamp_clock
{
public:
    //! \param khz rate of the counter \param mask its width
    stamp_clock(std::uint64_t khz, std::uint64_t mask) : d_khz(khz), d_mask(mask) {}
    bool wants_reading(std::int64_t now_ns) const noexcept
    {
        return d_khz != 0 && now_ns >= d_next_ns;
    }
    //! The counter stood at \p ticks at \p now_ns.
    void read(std::uint64_t ticks, std::int64_t now_ns) noexcept;
    //! Unix time of \p ticks; \p now_ns where nothing was read yet. Never later than
    //! \p now_ns.
    std::int64_t time_ns(std::uint64_t ticks, std::int64_t now_ns) const noexcept;

private:
    std::uint64_t d_khz;
    std::uint64_t d_mask;
    std::uint64_t d_ticks = 0;
    std::int64_t d_at_ns = 0;
    std::int64_t d_next_ns = 0;
};

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_VERBS_PLAN_H */
