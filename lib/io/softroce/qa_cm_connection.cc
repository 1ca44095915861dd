/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The connection manager's machine: two of them, joined by hand on stepped time.
#include "io/softroce/cm_connection.h"

#include <algorithm>
#include <functional>

#include <boost/test/unit_test.hpp>

using namespace gr::rdma;
using namespace gr::rdma::io;
using namespace gr::rdma::io::softroce;

namespace {

const auto address_a = wire::ip_address::ipv4(0x7f000001);
const auto address_b = wire::ip_address::ipv4(0x7f000002);
const auto stranger = wire::ip_address::ipv4(0x7f000009);

cm_settings settings(bool active)
{
    cm_settings s;
    s.own = active ? address_a : address_b;
    s.peer = active ? address_b : wire::ip_address();
    s.port = 18515;
    s.comm_id = active ? 100 : 200;
    s.transaction_id = active ? 0xaaaa : 0xbbbb;
    s.guid = active ? 1 : 2;
    s.qpn = active ? 0x111111 : 0x222222;
    s.first_psn = wire::psn(active ? 0xffffff : 5);
    s.private_data = { std::byte(active ? 'a' : 'b') };
    return s;
}

// Both ends and the way between; lose() decides what does not arrive.
struct two_ends {
    explicit two_ends(cm_settings active = settings(true),
                      cm_settings passive = settings(false))
        : a(active), b(passive)
    {
    }

    //! Move messages until none is left.
    void exchange()
    {
        wire::cm_message m;
        for (bool any = true; any;) {
            any = false;
            while (a.take(m)) {
                any = true;
                to_b.push_back(m);
                if (lose && lose(m))
                    continue;
                if (!b.on_message(m, address_a, now) &&
                    std::holds_alternative<wire::cm_req>(m.body) &&
                    b.state() == cm_state::idle)
                    b.accept(m, address_a, now);
            }
            while (b.take(m)) {
                any = true;
                to_a.push_back(m);
                if (!(lose && lose(m)))
                    a.on_message(m, address_b, now);
            }
        }
    }
    //! Exchange, then step to the next deadline, until nobody waits or \p ns have passed.
    void run(std::int64_t ns = INT64_C(60000000000))
    {
        const std::int64_t end = now + ns;
        for (;;) {
            exchange();
            const std::int64_t next = std::min(a.deadline(), b.deadline());
            if (next > end)
                return;
            now = std::max(now, next);
            a.on_time(now);
            b.on_time(now);
        }
    }
    void connect()
    {
        a.connect(now);
        run();
    }
    bool up() const
    {
        return a.state() == cm_state::established && b.state() == cm_state::established;
    }

    cm_connection a, b;
    std::int64_t now = 1000;
    std::function<bool(const wire::cm_message&)> lose;
    std::vector<wire::cm_message> to_a, to_b;
};

template <typename Body>
bool is(const wire::cm_message& m)
{
    return std::holds_alternative<Body>(m.body);
}

// Loses the first \p count messages of a kind.
template <typename Body>
std::function<bool(const wire::cm_message&)> first(int count)
{
    return
        [count](const wire::cm_message& m) mutable { return is<Body>(m) && count-- > 0; };
}

} // namespace

BOOST_AUTO_TEST_CASE(both_sides_learn_the_others_numbers)
{
    two_ends e;
    e.connect();
    BOOST_TEST(e.up());
    BOOST_TEST(e.a.peer().qpn == 0x222222u);
    BOOST_TEST(e.b.peer().qpn == 0x111111u);
    BOOST_TEST(e.a.peer().first_psn.value() == 5u);
    BOOST_TEST(e.b.peer().first_psn.value() == 0xffffffu);
    BOOST_TEST(e.b.peer().mtu == 4096u);
    BOOST_TEST((e.a.peer().private_data.at(0) == std::byte('b')));
    BOOST_TEST((e.b.peer().private_data.at(0) == std::byte('a')));
    BOOST_TEST(e.to_b.size() == 2u); // REQ, RTU
    BOOST_TEST(e.to_a.size() == 1u); // REP
    BOOST_TEST(e.to_a[0].transaction_id == e.to_b[0].transaction_id);
}

BOOST_AUTO_TEST_CASE(every_message_of_the_handshake_may_be_lost)
{
    for (const auto& lose :
         { first<wire::cm_req>(3), first<wire::cm_rep>(3), first<wire::cm_rtu>(3) }) {
        two_ends e;
        e.lose = lose;
        e.connect();
        BOOST_TEST(e.up());
    }
}

BOOST_AUTO_TEST_CASE(data_stands_for_a_lost_rtu)
{
    two_ends e;
    e.lose = first<wire::cm_rtu>(1000);
    e.a.connect(e.now);
    e.exchange();
    BOOST_TEST((e.b.state() == cm_state::rep_sent));
    e.b.on_data(e.now);
    BOOST_TEST(e.up());
    BOOST_TEST((e.b.deadline() == INT64_MAX));
}

BOOST_AUTO_TEST_CASE(a_silent_peer_ends_the_handshake_in_time)
{
    two_ends e;
    e.lose = [](const wire::cm_message&) { return true; };
    const std::int64_t begin = e.now;
    e.connect();
    BOOST_TEST((e.a.state() == cm_state::failed));
    BOOST_TEST(e.now - begin == settings(true).patience_ns);
    BOOST_TEST(e.to_b.size() <= 41u); // four a second
    two_ends f;
    f.lose = first<wire::cm_rtu>(1000000);
    f.a.connect(f.now);
    f.a.disconnect(f.now); // its REQ is taken back
    BOOST_TEST((f.a.state() == cm_state::closed));
    wire::cm_message m;
    BOOST_TEST(!f.a.take(m));
}

BOOST_AUTO_TEST_CASE(the_smaller_mtu_is_agreed_on)
{
    auto small = settings(false);
    small.mtu = 1024;
    two_ends e(settings(true), small);
    e.a.connect(e.now);
    wire::cm_message req, rej;
    BOOST_TEST(e.a.take(req));
    BOOST_TEST(!e.b.accept(req, address_a, e.now));
    BOOST_TEST(e.b.take(rej));
    BOOST_TEST((std::get<wire::cm_rej>(rej.body).reason ==
                wire::cm_rej_reason::invalid_path_mtu));
    BOOST_TEST(e.a.on_message(rej, address_b, e.now));
    // As the agent does: a new connection for the new request.
    cm_connection again(small);
    wire::cm_message second, rep;
    BOOST_TEST(e.a.take(second));
    BOOST_TEST(std::get<wire::cm_req>(second.body).local_comm_id !=
               std::get<wire::cm_req>(req.body).local_comm_id);
    BOOST_TEST(again.accept(second, address_a, e.now));
    BOOST_TEST(again.take(rep));
    BOOST_TEST(e.a.on_message(rep, address_b, e.now));
    BOOST_TEST((e.a.state() == cm_state::established));
    BOOST_TEST(e.a.peer().mtu == 1024u);
    BOOST_TEST(again.peer().mtu == 1024u);
}

BOOST_AUTO_TEST_CASE(another_service_is_refused_with_the_reason)
{
    auto uc = settings(false);
    uc.service = service_type::uc;
    two_ends e(settings(true), uc);
    e.connect();
    BOOST_TEST((e.a.state() == cm_state::refused));
    BOOST_TEST((e.a.reason() == wire::cm_rej_reason::invalid_transport_service_type));
}

BOOST_AUTO_TEST_CASE(either_side_ends_the_connection)
{
    for (const bool active : { true, false }) {
        two_ends e;
        e.connect();
        (active ? e.a : e.b).disconnect(e.now);
        e.run();
        BOOST_TEST((e.a.state() == cm_state::closed));
        BOOST_TEST((e.b.state() == cm_state::closed));
    }
    two_ends both;
    both.connect();
    both.a.disconnect(both.now);
    both.b.disconnect(both.now);
    both.run();
    BOOST_TEST((both.a.state() == cm_state::closed));
    BOOST_TEST((both.b.state() == cm_state::closed));
}

BOOST_AUTO_TEST_CASE(a_goodbye_does_not_wait_for_a_dead_peer)
{
    two_ends e;
    e.connect();
    e.lose = [](const wire::cm_message&) { return true; };
    const std::int64_t begin = e.now;
    e.a.disconnect(e.now);
    e.a.disconnect(e.now); // twice is once
    e.run();
    BOOST_TEST((e.a.state() == cm_state::closed));
    BOOST_TEST(e.now - begin < 300000000);
}

BOOST_AUTO_TEST_CASE(messages_from_elsewhere_change_nothing)
{
    two_ends e;
    e.connect();
    wire::cm_message m;
    wire::cm_dreq dreq;
    dreq.local_comm_id = 100;
    dreq.remote_comm_id = 200;
    m.body = dreq;
    BOOST_TEST(!e.b.on_message(m, stranger, e.now));
    dreq.remote_comm_id = 201; // not this connection
    m.body = dreq;
    BOOST_TEST(!e.b.on_message(m, address_a, e.now));
    dreq.remote_comm_id = 200;
    dreq.local_comm_id = 101; // not this peer's
    m.body = dreq;
    BOOST_TEST(!e.b.on_message(m, address_a, e.now));
    wire::cm_rtu rtu;
    rtu.local_comm_id = 100;
    rtu.remote_comm_id = 201;
    m.body = rtu;
    BOOST_TEST(!e.b.on_message(m, address_a, e.now));
    BOOST_TEST(e.up());
}

BOOST_AUTO_TEST_CASE(a_reply_that_comes_twice_is_acknowledged_twice)
{
    two_ends e;
    e.connect();
    const auto rep = e.to_a[0];
    BOOST_TEST(e.a.on_message(rep, address_b, e.now));
    wire::cm_message m;
    BOOST_TEST(e.a.take(m));
    BOOST_TEST(is<wire::cm_rtu>(m));
    BOOST_TEST(e.up());
    // And a request that comes again after all does not start again.
    BOOST_TEST(e.b.on_message(e.to_b[0], address_a, e.now));
    BOOST_TEST(!e.b.take(m));
    BOOST_TEST(e.up());
}

BOOST_AUTO_TEST_CASE(an_mra_buys_time)
{
    two_ends e;
    e.a.connect(e.now);
    wire::cm_message m;
    BOOST_TEST(e.a.take(m));
    wire::cm_mra mra;
    mra.local_comm_id = 200;
    mra.remote_comm_id = 100;
    mra.service_timeout = wire::cm_timeout_code(2000000000);
    m.body = mra;
    const std::int64_t before = e.a.deadline();
    BOOST_TEST(e.a.on_message(m, address_b, e.now));
    BOOST_TEST(e.a.deadline() >= before + 2000000000);
    BOOST_TEST(e.a.deadline() <= e.now + settings(true).patience_ns);
}

BOOST_AUTO_TEST_CASE(an_unfinished_handshake_is_taken_back)
{
    two_ends e;
    e.lose = first<wire::cm_rtu>(1);
    e.a.connect(e.now);
    e.exchange();
    BOOST_TEST((e.b.state() == cm_state::rep_sent));
    e.b.disconnect(e.now);
    e.run();
    BOOST_TEST((e.b.state() == cm_state::closed));
    BOOST_TEST((e.a.state() == cm_state::refused)); // it was established on its side
    BOOST_TEST((e.a.reason() == wire::cm_rej_reason::consumer_reject));
}

// What Linux says when its REQ was never answered: it knows no communication ID of ours.
BOOST_AUTO_TEST_CASE(a_caller_that_gave_up_frees_its_place)
{
    const auto rej_of = [](const cm_connection& listener) {
        wire::cm_rej rej;
        rej.reason = wire::cm_rej_reason::timeout;
        rej.local_comm_id = listener.peer().comm_id;
        return rej;
    };
    two_ends e;
    e.lose = first<wire::cm_rep>(1000);
    e.a.connect(e.now);
    e.exchange();
    BOOST_REQUIRE((e.b.state() == cm_state::rep_sent));
    wire::cm_rej another = rej_of(e.b);
    another.local_comm_id ^= 1;
    BOOST_TEST(!e.b.on_message({ 1, another }, address_a, e.now));
    wire::cm_rej other_reason = rej_of(e.b);
    other_reason.reason = wire::cm_rej_reason::consumer_reject;
    BOOST_TEST(!e.b.on_message({ 1, other_reason }, address_a, e.now));
    BOOST_TEST(!e.b.on_message({ 1, rej_of(e.b) }, stranger, e.now));
    BOOST_TEST((e.b.state() == cm_state::rep_sent));
    BOOST_TEST(e.b.on_message({ 1, rej_of(e.b) }, address_a, e.now));
    BOOST_TEST((e.b.state() == cm_state::refused));
    two_ends up; // it has no meaning once both are connected, or to the caller
    up.a.connect(up.now);
    BOOST_TEST(!up.a.on_message({ 1, rej_of(up.a) }, address_b, up.now));
    up.run();
    BOOST_REQUIRE(up.up());
    BOOST_TEST(!up.b.on_message({ 1, rej_of(up.b) }, address_a, up.now));
    BOOST_TEST(up.up());
}
