/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_VERBS_TRANSPORT_H
#define INCLUDED_RDMA_IO_VERBS_TRANSPORT_H

#include "io/verbs/address.h"
#include "io/verbs/completion_queue.h"
#include "io/verbs/handles.h"
#include "io/verbs/plan.h"
#include "io/verbs/registration.h"
#include "mem/region.h"

#include <array>
#include <memory>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

/*!
 * \brief The device objects of one endpoint: protection domain, memory registrations, two
 * completion queues, one queue pair and its way through its states.
 *
 * close() gives them back in order: queue pair to error, completions drained by whoever
 * owns them, queue pair, registrations, completion queues with their channels,
 * protection domain, context. Not thread-safe: one thread at a time, except that the
 * queues are used by their two threads while the queue pair lives.
 */
class transport
{
public:
    transport(const verbs_api& api, const endpoint_config& config)
        : d_api(api), d_config(config)
    {
    }
    ~transport() { close(); }
    transport(const transport&) = delete;
    transport& operator=(const transport&) = delete;

    //! Take \p context, for good or (\p owned empty) as a guest of the connection
    //! manager's, and make everything up to a queue pair in INIT.
    //! \throws os_error, config_error; nothing is left behind
    void open(context_handle owned, ibv_context* context, const device_facts& facts);
    bool is_open() const noexcept { return static_cast<bool>(d_qp); }

    /*!
     * \brief Register what receives go to. \param direct a registration of the ring that
     * was made here before, or null: it is host memory, and registered now
     * \throws os_error the memory cannot be registered \throws config_error \p direct is
     * another endpoint's, or there is none and the CPU cannot reach the ring
     */
    void register_regions(const mem::region& ring,
                          const mem::region& headers,
                          std::unique_ptr<mem::registration> direct);
    //! What a device may do with the ring's memory.
    unsigned ring_access() const noexcept;

    /*!
     * \brief INIT to RTS by hand, for static connections and datagrams.
     * \return 0, or an errno that may pass (no answer from the peer's address)
     * \throws os_error
     */
    int connect_static(const ibv_gid& peer,
                       std::uint8_t gid_index,
                       std::uint32_t remote_qpn,
                       std::uint32_t mtu);
    //! INIT to RTS with the connection manager's attributes. \throws os_error
    void connect_by(rdma_cm_id* id);
    //! Path MTU that the connection manager proposes for \p id, bytes. \throws os_error
    std::uint32_t proposed_mtu(rdma_cm_id* id);
    //! Back to INIT; what was posted is gone. \throws os_error
    void start_over();
    void to_error() noexcept;
    //! The address handle of a peer. \throws os_error
    ah_handle make_ah(ibv_ah_attr attributes) const;
    ibv_ah_attr
    ah_attributes(const ibv_gid& peer, std::uint8_t gid_index, std::uint8_t hops) const;
    void close_queue_pair() noexcept { d_qp.reset(); }
    void close() noexcept;

    const verbs_api& api() const noexcept { return d_api; }
    ibv_context* context() const noexcept { return d_context; }
    ibv_pd* pd() const noexcept { return d_pd.get(); }
    ibv_qp* qp() const noexcept { return d_qp.get(); }
    std::uint32_t qpn() const noexcept { return d_qp ? d_qp->qp_num : 0; }
    const device_facts& facts() const noexcept { return d_facts; }
    const queue_plan& plan() const noexcept { return d_plan; }
    std::uint32_t mtu() const noexcept { return d_mtu; } //!< bytes; 0: not known yet
    const registration& ring() const noexcept { return d_ring; }
    const registration& headers() const noexcept { return d_headers; }
    //! Where each datagram's routing header goes; nobody reads it.
    ibv_sge grh_piece() const noexcept;

    completion_queue recv_cq;
    completion_queue send_cq;

private:
    void initialise();
    void modify(ibv_qp_attr& attributes, int mask, const char* to);
    std::uint32_t qkey() const noexcept;

    const verbs_api& d_api;
    const endpoint_config& d_config;
    context_handle d_owned;
    ibv_context* d_context = nullptr;
    pd_handle d_pd;
    std::array<std::byte, grh_bytes> d_grh{};
    registration d_grh_memory;
    registration d_headers;
    registration d_ring;
    qp_handle d_qp;
    device_facts d_facts;
    queue_plan d_plan;
    std::uint32_t d_mtu = 0;
};

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_VERBS_TRANSPORT_H */
