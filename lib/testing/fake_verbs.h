/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_FAKE_VERBS_H
#define INCLUDED_RDMA_TESTING_FAKE_VERBS_H

#include "io/verbs/verbs_api.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace testing {

struct fake_world; // fake_world.h

/*!
 * \brief RDMA devices in memory, behind the table of libibverbs' and librdmacm's calls.
 *
 * Queue pairs move bytes between each other at once, as RC, UC and UD do: receives in
 * order, RNR while none is posted, protection by lkey, rkey and Q_Key, states with
 * exactly the attributes that the specification asks for. rdma_cm resolves, connects,
 * refuses and disconnects through event channels. Completion queues, channels and events
 * have real descriptors to sleep on.
 *
 * Any call can be made to fail. What is not given back, or is given back in the wrong
 * order, is told by problems(). Endpoints made while one of these exists use it; there is
 * one at a time. Any thread.
 */
class fake_verbs
{
public:
    fake_verbs(); //!< with the device fake0, which has 192.0.2.1 and 192.0.2.2
    ~fake_verbs();
    fake_verbs(const fake_verbs&) = delete;

    struct device_options {
        std::string name = "fake1";
        std::vector<std::string> addresses;
        ibv_mtu mtu = IBV_MTU_4096;
        int max_qp_wr = 16384;
        int max_sge = 32;
        bool opens = true;   //!< else EACCES
        bool stamps = false; //!< completions, with a clock of 1 GHz
        bool relaxed = true; //!< takes relaxed ordering
        bool dma_buf = true; //!< registers dma-bufs, else EOPNOTSUPP
        bool has_moderation = false;
        bool roce_v1_only = false;
    };
    void add_device(const device_options& options);
    void remove_devices();
    //! Whether fake0 registers dma-bufs, and takes relaxed ordering.
    void set_dma_buf(bool takes);
    void set_relaxed(bool takes);
    //! What ibv_reg_mr says of memory that \p is_device knows for a GPU's: 0 as with
    //! nvidia-peermem, or an errno. \p is_device must not call this.
    void set_device_memory(std::function<bool(const void*)> is_device, int code);
    //! Move an address to another row of the table, as a link flap does.
    void move_gids();

    //! Let the \p nth call from now of \p call ("ibv_reg_mr", "rdma_bind_addr", ...; also
    //! "ibv_post_send" and "ibv_post_recv") fail with \p code; once.
    void fail(const std::string& call, unsigned nth, int code);
    //! How often each call was made since this was made.
    std::map<std::string, unsigned> calls() const;
    std::vector<std::string> log() const; //!< names of calls, in order

    //! The next event that \p call would cause is this one.
    void answer(const std::string& call,
                rdma_cm_event_type event,
                int status,
                const std::string& data = "");
    //! The next event that \p call would cause does not come.
    void swallow(const std::string& call);
    //! An event for every connection there is.
    void tell_all(rdma_cm_event_type event, int status);

    //! An asynchronous event: of the device, of port 1, or (queue pairs, completion
    //! queues) of all there are.
    void async_event(ibv_event_type event);
    //! The next completion of that queue pair number fails with this status.
    void fail_completion(std::uint32_t qpn, ibv_wc_status status, std::uint32_t vendor);

    //! Its machine has lost power: whoever sends to that queue pair gets no answer, and
    //! nobody is told that it has gone.
    void cut_off(std::uint32_t qpn);

    //! It goes into error, and nothing says why.
    void break_down(std::uint32_t qpn);

    //! Attributes that a queue pair was given with the last change to each state.
    std::map<ibv_qp_state, ibv_qp_attr> attributes_of(std::uint32_t qpn) const;
    std::vector<std::uint32_t> qpns() const;

    //! Objects that exist, by kind; empty if all were given back.
    std::map<std::string, int> alive() const;
    //! What was done against the rules: an empty text is what a test wants.
    std::string problems() const;

    const io::verbs::verbs_api& api() const noexcept;

private:
    std::unique_ptr<fake_world> d_world;
};

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_FAKE_VERBS_H */
