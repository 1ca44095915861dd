/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Two connection managers and a link that loses, doubles, delays and forges their
// messages, by the script that the input is. Each ends what it began in bounded time,
// what has ended stays ended, and two that are connected by true messages agree.
#include "fuzz/input.h"
#include "io/softroce/cm_connection.h"

#include <algorithm>
#include <array>
#include <deque>

namespace {

using namespace gr::rdma;
using io::softroce::cm_connection;
using io::softroce::cm_settings;
using io::softroce::cm_state;
using mad = std::array<std::byte, wire::mad_bytes>;

bool waits(cm_state s)
{
    return s == cm_state::req_sent || s == cm_state::rep_sent || s == cm_state::dreq_sent;
}
bool has_ended(cm_state s)
{
    return s == cm_state::closed || s == cm_state::refused || s == cm_state::failed;
}

cm_settings settings_of(fuzz::input& in, unsigned who)
{
    cm_settings s;
    const unsigned bits = in.u8();
    s.service = bits & 1 ? io::service_type::uc : io::service_type::rc;
    s.own = wire::ip_address::ipv4(0x0a000001 + who);
    s.peer = wire::ip_address::ipv4(0x0a000002 - who);
    s.port = 18515;
    s.comm_id = 0x1000 + who;
    s.transaction_id = 0x2000 + who;
    s.guid = 1 + who;
    s.qpn = 0x30 + who;
    s.first_psn = wire::psn(0xfffff0 + who);
    s.mtu = 256u << (bits >> 1) % 5;
    s.private_data.resize(bits >> 4 & 1 ? 56 : 7, static_cast<std::byte>(who + 1));
    s.patience_ns = bits & 128 ? 1000000000 : 10000000000;
    return s;
}

class bench
{
public:
    explicit bench(fuzz::input& in)
        : d_side{ cm_connection(settings_of(in, 0)), cm_connection(settings_of(in, 1)) }
    {
        act(0, [this] { d_side[0].connect(d_now_ns); });
    }

    void deliver(unsigned to, std::size_t at, bool keep)
    {
        if (d_link[to].empty())
            return;
        at %= d_link[to].size();
        const mad m = d_link[to][at];
        if (!keep)
            d_link[to].erase(d_link[to].begin() + std::ptrdiff_t(at));
        arrive(to, m);
    }
    void drop(unsigned to)
    {
        if (!d_link[to].empty())
            d_link[to].pop_front();
    }
    void forge(unsigned to, fuzz::input& in)
    {
        if (d_link[to].empty())
            return;
        mad& m = d_link[to].front();
        const unsigned at = in.u8();
        m[at] = static_cast<std::byte>(in.u8());
        d_true = false;
    }
    void forge_anew(unsigned to, fuzz::input& in)
    {
        wire::cm_message message;
        mad m;
        wire::write_cm(message, m.data());
        m[17] = static_cast<std::byte>(0x10 + in.less_than(9));
        const std::uint32_t ids[] = { 0x1000u + to, 0x1001u - to };
        for (unsigned i = 0; i < 4; ++i) {
            m[24 + i] = static_cast<std::byte>(ids[1] >> (24 - 8 * i));
            m[28 + i] = static_cast<std::byte>(ids[0] >> (24 - 8 * i));
        }
        for (unsigned i = 32; i < 48; ++i)
            m[i] = static_cast<std::byte>(in.u8());
        d_true = false;
        arrive(to, m);
    }

    void pass_time(std::int64_t ns)
    {
        d_now_ns += ns;
        for (unsigned who : { 0u, 1u })
            act(who, [&] { d_side[who].on_time(d_now_ns); });
    }
    void data(unsigned who)
    {
        d_true = false; // none was sent
        act(who, [&] { d_side[who].on_data(d_now_ns); });
    }
    // Somebody else asks for the place of the caller.
    void ask()
    {
        act(1, [this] {
            const bool asked = d_side[1].asks();
            const io::softroce::cm_liveness is = d_side[1].liveness(d_now_ns);
            FUZZ_REQUIRE(asked || is != io::softroce::cm_liveness::dead);
            FUZZ_REQUIRE(d_side[1].asks() || is == io::softroce::cm_liveness::alive);
        });
    }
    void disconnect(unsigned who)
    {
        act(who, [&] { d_side[who].disconnect(d_now_ns); });
        FUZZ_REQUIRE(d_side[who].state() == cm_state::dreq_sent ||
                     has_ended(d_side[who].state()));
    }

    // The peer falls silent: nobody waits for ever.
    void finish()
    {
        for (unsigned who : { 0u, 1u }) {
            const std::int64_t begun = d_now_ns;
            while (d_side[who].deadline() != INT64_MAX) {
                d_now_ns = std::max(d_now_ns, d_side[who].deadline());
                FUZZ_REQUIRE(d_now_ns - begun <= 12000000000);
                act(who, [&] { d_side[who].on_time(d_now_ns); });
            }
        }
    }

private:
    void arrive(unsigned to, const mad& m)
    {
        wire::cm_message message;
        if (wire::parse_cm(m.data(), m.size(), message) != wire::cm_parse_status::ok)
            return;
        cm_connection& c = d_side[to];
        const wire::ip_address from = d_side[1 - to].settings().own;
        const bool request = std::holds_alternative<wire::cm_req>(message.body);
        act(to, [&] {
            if (to == 1 && c.state() == cm_state::idle) {
                if (request)
                    c.accept(message, from, d_now_ns);
            } else {
                c.on_message(message, from, d_now_ns);
            }
        });
    }

    template <typename Action>
    void act(unsigned who, Action action)
    {
        cm_connection& c = d_side[who];
        const cm_state before = c.state();
        action();
        FUZZ_REQUIRE(!has_ended(before) || has_ended(c.state()));
        FUZZ_REQUIRE(before != cm_state::dreq_sent || has_ended(c.state()) ||
                     c.state() == cm_state::dreq_sent);
        const bool asks = c.state() == cm_state::established && c.asks();
        FUZZ_REQUIRE(!waits(c.state()) || c.deadline() != INT64_MAX);
        FUZZ_REQUIRE(waits(c.state()) || asks || c.deadline() == INT64_MAX);
        wire::cm_message out;
        if (c.take(out)) {
            mad m;
            wire::write_cm(out, m.data());
            wire::cm_message back;
            FUZZ_REQUIRE(wire::parse_cm(m.data(), m.size(), back) ==
                         wire::cm_parse_status::ok);
            if (d_link[1 - who].size() < 32)
                d_link[1 - who].push_back(m);
        }
        FUZZ_REQUIRE(!c.take(out)); // one answer at most
        if (d_true && d_side[0].state() == cm_state::established &&
            d_side[1].state() == cm_state::established)
            agree();
    }

    void agree() const
    {
        for (unsigned who : { 0u, 1u }) {
            const cm_settings& mine = d_side[who].settings();
            const io::softroce::cm_peer& seen = d_side[1 - who].peer();
            FUZZ_REQUIRE(seen.address == mine.own && seen.comm_id == mine.comm_id);
            FUZZ_REQUIRE(seen.qpn == mine.qpn && seen.first_psn == mine.first_psn);
            FUZZ_REQUIRE(seen.private_data.size() >= mine.private_data.size());
            FUZZ_REQUIRE(std::equal(mine.private_data.begin(),
                                    mine.private_data.end(),
                                    seen.private_data.begin()));
        }
        FUZZ_REQUIRE(d_side[0].settings().service == d_side[1].settings().service);
        FUZZ_REQUIRE(d_side[0].peer().mtu == d_side[1].peer().mtu);
        FUZZ_REQUIRE(d_side[0].peer().mtu <= d_side[1].settings().mtu);
    }

    cm_connection d_side[2];   // 0 calls, 1 is called
    std::deque<mad> d_link[2]; // on their way to each
    std::int64_t d_now_ns = 1000;
    bool d_true = true; // nothing was forged
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes)
{
    fuzz::input in(data, bytes);
    bench b(in);
    while (!in.empty()) {
        const unsigned choice = in.u8();
        const unsigned who = choice >> 4 & 1;
        const unsigned n = choice >> 5;
        switch (choice & 15) {
        case 0:
        case 1:
        case 2:
        case 3:
            b.deliver(who, n, choice & 1);
            break;
        case 4:
            b.drop(who);
            break;
        case 5:
            b.forge(who, in);
            break;
        case 6:
            b.forge_anew(who, in);
            break;
        case 7:
            b.pass_time(std::int64_t{ 1000000 } << (2 * n));
            break;
        case 8:
            b.pass_time(60000000);
            break;
        case 9:
            b.disconnect(who);
            break;
        case 10:
            b.data(who);
            break;
        case 11:
            b.ask();
            break;
        default:
            b.deliver(who, 0, false);
        }
    }
    b.finish();
    return 0;
}
