/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_FAKE_WORLD_H
#define INCLUDED_RDMA_TESTING_FAKE_WORLD_H

#include "testing/fake_verbs.h"

#include <deque>
#include <list>
#include <set>

//! What fake_verbs*.cc share: the objects behind the libraries' pointers, and the world
//! that they live in. One mutex guards all of it.
namespace gr {
namespace rdma {
namespace testing {

struct fake_device {
    ibv_device device{};
    fake_verbs::device_options options;
    std::vector<ibv_gid_entry> gids;
};

struct fake_context {
    ibv_context context{}; // first: the libraries' pointer is this
    fake_device* device = nullptr;
    std::deque<ibv_async_event> events;
    int unacknowledged = 0;
};

struct fake_pd : ibv_pd {
    int users = 0;
};

struct fake_mr : ibv_mr {
    unsigned access = 0;
};

struct fake_channel : ibv_comp_channel {
    std::deque<ibv_cq*> events;
    int users = 0;
};

struct fake_cq {
    ibv_cq_ex extended{}; // first; the same members as ibv_cq
    fake_channel* channel = nullptr;
    std::deque<ibv_wc> entries;
    std::deque<std::uint64_t> stamps; // beside entries
    bool armed = false;
    int users = 0;
    int unacknowledged = 0;
    std::size_t room = 0;
    ibv_cq* cq() { return ibv_cq_ex_to_cq(&extended); }
};

struct fake_ah : ibv_ah {
    ibv_ah_attr attributes{};
};

struct fake_send {
    ibv_send_wr wr{};
    std::vector<ibv_sge> pieces;
    bool waited = false; // an RNR NAK was counted
};

struct fake_recv {
    std::uint64_t wr_id = 0;
    std::vector<ibv_sge> pieces;
};

struct fake_qp : ibv_qp {
    ibv_qp_state now = IBV_QPS_RESET;
    ibv_qp_cap cap{};
    std::map<ibv_qp_state, ibv_qp_attr> attributes;
    std::deque<fake_send> sends;
    std::deque<fake_recv> receives;
    std::set<std::string> groups; // multicast GIDs, as text
    ibv_wc_status next_status = IBV_WC_SUCCESS;
    std::uint32_t next_vendor = 0;
    bool cut_off = false;
    bool error_refused = false; // a test has let the change to ERR fail
};

struct fake_id;
struct fake_event : rdma_cm_event {
    fake_id* owner = nullptr;
    std::string data;
};

struct fake_event_channel : rdma_event_channel {
    std::deque<fake_event*> events;
    int users = 0;
};

struct fake_id : rdma_cm_id {
    fake_device* device = nullptr;
    fake_id* other = nullptr; // the peer's
    bool bound = false;
    bool listening = false;
    bool connected = false;
    std::uint32_t qp_num = 0;
    std::uint32_t psn = 0;
    int unacknowledged = 0;
    std::set<std::string> groups;
};

struct scripted {
    bool silent = false;
    rdma_cm_event_type event{};
    int status = 0;
    std::string data;
};

struct fake_world {
    static fake_world* current;

    std::mutex mutex;
    io::verbs::verbs_api api{};
    std::list<fake_device> devices;
    std::map<std::string, std::map<unsigned, int>> failures; // by call, by its number
    std::map<std::string, unsigned> counts;
    std::vector<std::string> log;
    std::map<std::string, std::deque<scripted>> script;
    std::vector<std::string> problems;
    std::map<std::string, std::map<std::string, std::uint64_t>> hw; // by device
    std::function<bool(const void*)> is_device_memory;
    int device_memory_code = 0; // of ibv_reg_mr on it

    std::set<fake_context*> contexts;
    std::map<fake_device*, fake_context*> cm_contexts; // librdmacm's own
    std::set<fake_pd*> pds;
    std::map<std::uint32_t, fake_mr*> mrs; // by key
    std::set<fake_channel*> channels;
    std::set<fake_cq*> cqs;
    std::map<std::uint32_t, fake_qp*> qps; // by number
    std::set<fake_ah*> ahs;
    std::set<fake_event_channel*> event_channels;
    std::set<fake_id*> ids;
    std::uint32_t next_key = 0x100;
    std::uint32_t next_qpn = 0x11;

    //! Called first in every entry. \return the errno it shall fail with, or 0
    int enter(const char* call);
    void problem(const std::string& text) { problems.push_back(text); }

    fake_context* open(fake_device& device);
    void close(fake_context* context);

    //! Move what can be moved, until nothing changes.
    void run();
    void to_error(fake_qp& qp);
    void complete(ibv_cq* cq, const ibv_wc& wc);
    void complete_receive(fake_qp& qp, const fake_recv& r, ibv_wc wc);
    fake_device* device_with(const ibv_gid& gid);
    void post_event(fake_id* to,
                    const char* cause,
                    rdma_cm_event_type type,
                    int status,
                    const void* data = nullptr,
                    std::size_t bytes = 0,
                    fake_id* listener = nullptr);

private:
    bool step(fake_qp& qp);
    bool deliver(fake_qp& from, fake_qp& to, fake_send& s);
    bool send_datagram(fake_qp& from, fake_send& s);
    void finish_send(fake_qp& qp, ibv_wc_status status);
    fake_qp* peer_of(fake_qp& qp);
    bool gather(const fake_send& s, ibv_pd* pd, std::vector<std::uint8_t>& out);
    ibv_wc_status scatter(const std::vector<ibv_sge>& pieces,
                          ibv_pd* pd,
                          const std::vector<std::uint8_t>& data);
    bool covered(const ibv_sge& piece, ibv_pd* pd, unsigned access) const;
};

//! The part of the table that each file fills.
void fill_objects(io::verbs::verbs_api& api);
void fill_queues(io::verbs::verbs_api& api);
void fill_cm(io::verbs::verbs_api& api);
void fill_cm_events(io::verbs::verbs_api& api);
//! The operations of a context that posts and polls go through.
void fill_operations(ibv_context& context);

//! "::ffff:192.0.2.1"
std::string fake_gid_text(const ibv_gid& gid);
ibv_gid fake_gid_of(const sockaddr* address);
int event_descriptor(); //!< a semaphore in an eventfd
void ring_descriptor(int fd);
bool take_from_descriptor(int fd);

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_FAKE_WORLD_H */
