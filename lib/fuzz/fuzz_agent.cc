/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The connection manager of an address with three listeners and two callers, one of each
// for datagrams, among peers that keep to no rule, by the script that the input is.
// Whatever they send, memory stays bounded, answers go to who asked, a list of peers is
// kept to, and only a handshake connects a queue pair.
#include "fuzz/input.h"
#include "io/softroce/cm_agent.h"
#include "wire/cma.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace {

using namespace gr::rdma;
using io::endpoint_state;
using io::softroce::cm_agent;
using io::softroce::cm_outgoing;
using io::softroce::cm_state;
using io::softroce::queue_pair;
using mad = std::array<std::byte, wire::mad_bytes>;

using wire::ip_address;

constexpr ip_address own = ip_address::ipv4(0x0a000001);
constexpr ip_address server = ip_address::ipv4(0x0a000002); // whom the caller calls
constexpr ip_address allowed = ip_address::ipv4(0x0a000003);
constexpr std::uint16_t rc_port = 18515;
constexpr std::uint16_t uc_port = 18516;
constexpr std::uint16_t ud_port = rc_port; // the port spaces are apart
constexpr std::size_t outbox = 64;

std::unique_ptr<queue_pair>
make_pair(std::uint32_t qpn, io::service_type service, std::uint16_t port)
{
    io::endpoint_config c;
    c.service = service;
    c.recv_depth = c.send_depth = 2;
    c.qpn = qpn;
    auto qp = std::make_unique<queue_pair>(c);
    qp->own_address = own;
    qp->uses_cm = true;
    qp->listens = true;
    qp->port = port;
    return qp;
}

class bench
{
public:
    bench()
    {
        d_pairs.push_back(make_pair(0x11, io::service_type::rc, rc_port));
        d_pairs.push_back(make_pair(0x12, io::service_type::uc, uc_port));
        d_pairs.push_back(make_pair(0x13, io::service_type::rc, rc_port));
        d_pairs.push_back(make_pair(0x14, io::service_type::ud, ud_port));
        d_pairs.push_back(make_pair(0x15, io::service_type::ud, ud_port));
        d_pairs[0]->allowed = d_pairs[3]->allowed = { allowed };
        for (const std::size_t caller : { 2, 4 }) {
            d_pairs[caller]->listens = false;
            d_pairs[caller]->peer_address = server;
        }
        for (const auto& qp : d_pairs)
            d_all.push_back(qp.get());
    }

    void request(fuzz::input& in)
    {
        wire::cm_message m;
        wire::cm_req req;
        const unsigned bits = in.u8();
        req.local_comm_id = 0x5000 + (bits & 3);
        req.local_qpn = 0x77;
        const std::uint16_t ports[] = { rc_port, uc_port, 7, uc_port };
        req.service_id =
            wire::cma_service_id(wire::cma_port_space::tcp, ports[bits >> 2 & 3]);
        req.transport = static_cast<wire::cm_transport>(bits >> 4 & 3);
        req.path_mtu = in.u8() % 8;
        wire::write_cma({ 1, {}, {} }, req.private_data.data());
        m.body = req;
        arrive(written(m), address(bits >> 6));
    }

    void resolution_request(fuzz::input& in)
    {
        wire::cm_message m;
        m.transaction_id = in.u16();
        wire::cm_sidr_req req;
        const unsigned bits = in.u8();
        req.request_id = 0x6000 + (bits & 3);
        const std::uint16_t ports[] = { ud_port, uc_port, 7, ud_port };
        req.service_id = wire::cma_service_id(bits & 0x20 ? wire::cma_port_space::tcp
                                                          : wire::cma_port_space::udp,
                                              ports[bits >> 2 & 3]);
        m.body = req;
        arrive(written(m), address(bits >> 6));
    }

    //! An answer to something that was sent, true or not.
    void answer(fuzz::input& in)
    {
        if (d_sent.empty())
            return;
        const mad& to = d_sent[in.u8() % d_sent.size()];
        mad m{};
        wire::cm_message blank;
        wire::write_cm(blank, m.data());
        m[17] = static_cast<std::byte>(0x10 + in.less_than(9));
        // Its transaction, and its ID for ours; then what may be that of the peer.
        std::copy(to.begin() + 8, to.begin() + 16, m.begin() + 8);
        if (to[17] == std::byte{ 0x17 } && in.u8() % 4 != 0) { // a query's ID comes first
            m[17] = std::byte{ 0x18 };
            std::copy(to.begin() + 24, to.begin() + 28, m.begin() + 24);
            for (unsigned i = 28; i < 48; ++i)
                m[i] = static_cast<std::byte>(in.u8());
            m[28] &= std::byte{ 3 };
            return arrive(m, address(in.u8()));
        }
        std::copy(to.begin() + 24, to.begin() + 28, m.begin() + 28);
        std::copy(to.begin() + 28, to.begin() + 32, m.begin() + 24);
        for (unsigned i = 32; i < 48; ++i)
            m[i] = static_cast<std::byte>(in.u8());
        arrive(m, address(in.u8()));
    }

    void noise(fuzz::input& in)
    {
        mad m{};
        wire::cm_message blank;
        wire::write_cm(blank, m.data());
        for (unsigned i = in.less_than(32); i-- > 0;)
            m[in.u8()] = static_cast<std::byte>(in.u8());
        arrive(m, address(in.u8()), in.u8() % 8 ? m.size() : in.u8(), in.u8() % 16 == 0);
    }

    void serve(std::int64_t ns)
    {
        d_now_ns += ns;
        for (queue_pair* qp : d_all) {
            const std::int64_t ready = cm_agent::ready_in(*qp, d_now_ns);
            const bool gone = d_agent.serve(*qp, d_now_ns);
            FUZZ_REQUIRE(!gone || qp->leaving);
            FUZZ_REQUIRE(ready != INT64_MAX || !gone);
        }
        check();
    }
    void leave(unsigned n)
    {
        d_all[n % d_all.size()]->leaving = true;
        serve(0);
    }
    void data(unsigned n)
    {
        queue_pair& qp = *d_all[n % d_all.size()];
        if (qp.cm)
            d_agent.on_data(qp, d_now_ns);
        check();
    }
    void collect()
    {
        cm_outgoing out;
        std::size_t n = 0;
        while (d_agent.take(out)) {
            FUZZ_REQUIRE(++n <= outbox);
            FUZZ_REQUIRE(out.destination == server ||
                         std::find(d_heard.begin(), d_heard.end(), out.destination) !=
                             d_heard.end());
            d_sent.push_back(written(out.message));
            if (d_sent.size() > 16)
                d_sent.erase(d_sent.begin());
        }
    }

    //! All go, and nobody answers: they may go in bounded time.
    void finish()
    {
        for (queue_pair* qp : d_all) {
            qp->leaving = true;
            const std::int64_t begun = d_now_ns;
            while (!d_agent.serve(*qp, d_now_ns)) {
                const std::int64_t ready = cm_agent::ready_in(*qp, d_now_ns);
                FUZZ_REQUIRE(ready > 0 && ready != INT64_MAX);
                d_now_ns += ready;
                FUZZ_REQUIRE(d_now_ns - begun <= 1000000000);
                collect();
            }
            FUZZ_REQUIRE(!qp->may_send);
        }
    }

private:
    static ip_address address(unsigned n)
    {
        const ip_address from[] = { server,
                                    allowed,
                                    ip_address::ipv4(0x0a000004),
                                    ip_address({ std::byte{ 0xfd } }) };
        return from[n & 3];
    }
    static mad written(const wire::cm_message& m)
    {
        mad out;
        wire::write_cm(m, out.data());
        wire::cm_message back;
        FUZZ_REQUIRE(wire::parse_cm(out.data(), out.size(), back) ==
                     wire::cm_parse_status::ok);
        return out;
    }

    void arrive(const mad& m,
                const ip_address& from,
                std::size_t bytes = wire::mad_bytes,
                bool other_key = false)
    {
        const std::vector<std::byte> exact(m.begin(), m.begin() + std::ptrdiff_t(bytes));
        wire::packet p;
        p.deth.qkey = wire::cm_qkey + other_key;
        p.payload = exact.data();
        p.payload_bytes = exact.size();
        d_heard.push_back(from);
        std::vector<before> all;
        for (const queue_pair* qp : d_all)
            all.push_back(before(*qp, from));
        d_agent.on_packet(p, from, d_all, d_now_ns);
        for (std::size_t i = 0; i < d_all.size(); ++i)
            FUZZ_REQUIRE(!all[i].safe || all[i].still(*d_all[i]));
        check();
    }

    // Others cannot touch a connection, but take its place if its peer was asked for a
    // sign of life and gave none.
    struct before {
        before(const queue_pair& qp, const ip_address& from)
            : safe(qp.cm && qp.peer_address != from),
              state(safe ? qp.cm->state() : cm_state::idle),
              asked(safe && qp.cm->asks()),
              left(left_by(qp))
        {
        }
        bool still(const queue_pair& qp) const
        {
            return (asked && left_by(qp) == left + 1) ||
                   (qp.cm && qp.cm->state() == state);
        }
        static std::uint64_t left_by(const queue_pair& qp)
        {
            return qp.counts.cm_replaced.value() + qp.counts.cm_timeouts.value();
        }
        bool safe;
        cm_state state;
        bool asked;
        std::uint64_t left;
    };

    void check() const
    {
        for (const queue_pair* qp : d_all) {
            const bool connected = qp->state.load() == endpoint_state::connected;
            if (qp->service == io::service_type::ud) {
                check_datagrams(*qp, connected);
                continue;
            }
            FUZZ_REQUIRE(!connected || qp->cm);
            if (qp->may_send)
                FUZZ_REQUIRE(qp->cm && qp->cm->state() == cm_state::established);
            if (qp->open_for_data() && qp->listens) {
                FUZZ_REQUIRE(qp->allowed.empty() || qp->peer_address == allowed);
                FUZZ_REQUIRE(qp->cm->peer().address == qp->peer_address);
            }
            if (!qp->listens)
                FUZZ_REQUIRE(qp->peer_address == server);
        }
    }

    // A listener hears those on its list, a caller whom it has asked, once that has said
    // where it may send to.
    static void check_datagrams(const queue_pair& qp, bool connected)
    {
        FUZZ_REQUIRE(!qp.cm);
        if (qp.listens) {
            FUZZ_REQUIRE(!qp.query && !qp.may_send);
            FUZZ_REQUIRE(qp.hears(allowed) && !qp.hears(server));
            return;
        }
        FUZZ_REQUIRE(qp.peer_address == server && !qp.hears(allowed));
        FUZZ_REQUIRE(qp.may_send == qp.open_for_data());
        FUZZ_REQUIRE(!connected || qp.query || qp.leaving);
        if (qp.may_send)
            FUZZ_REQUIRE(qp.query->state() == io::softroce::sidr_state::resolved &&
                         qp.dest_qpn > 1 && qp.dest_qpn < 0xffffff);
    }

    std::vector<std::unique_ptr<queue_pair>> d_pairs;
    std::vector<queue_pair*> d_all;
    cm_agent d_agent{ 1 };
    std::vector<mad> d_sent; // the last ones
    std::vector<ip_address> d_heard;
    std::int64_t d_now_ns = 1000;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes)
{
    fuzz::input in(data, bytes);
    bench b;
    while (!in.empty()) {
        const unsigned choice = in.u8();
        const unsigned n = choice >> 3;
        switch (choice & 7) {
        case 0:
            b.request(in);
            break;
        case 1:
            n & 1 ? b.resolution_request(in) : b.request(in);
            break;
        case 2:
        case 3:
            b.answer(in);
            break;
        case 4:
            b.serve(std::int64_t{ 1000 } << n);
            break;
        case 5:
            b.collect();
            break;
        case 6:
            b.noise(in);
            break;
        case 7:
            if (n & 4)
                b.data(n);
            else if (n & 8)
                b.leave(n);
            else
                b.collect();
            break;
        }
    }
    b.collect();
    b.finish();
    return 0;
}
