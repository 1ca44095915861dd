/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */

// What softroce says on a wire, read from the wire: a veth pair in a network namespace of
// this process's own. Needs root; skipped without.
#include "io/softroce/addresses.h"
#include "testing/endpoint_contract.h"
#include "testing/own_network.h"

#include <gnuradio/rdma/error.h>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

using namespace gr::rdma;
using namespace gr::rdma::io;
using namespace gr::rdma::testing;

namespace {

const char* const own = "10.91.0.1";
const char* const far = "10.91.0.2"; // on no machine; its frames end at the other veth
const char* const own_6 = "fd91:5::1";
const char* const far_6 = "fd91:5::2";
const char* const near = "10.91.1.1"; // our own too, so reached over lo

// The wire: frames that leave on one end are read at the other.
struct veth_network : own_network {
    veth_network()
    {
        if (!shell("ip link add gr_near type veth peer name gr_far && "
                   "ip link set gr_near addrgenmode none && "
                   "ip link set gr_far addrgenmode none address 02:00:00:00:91:02 && "
                   "ip addr add 10.91.0.1/24 dev gr_near && "
                   "ip addr add 10.91.1.1/32 dev lo && ip link set gr_near mtu 5000 && "
                   "ip link set gr_far mtu 5000 && "
                   "ip addr add fd91:5::1/64 dev gr_near nodad && "
                   "ip link set gr_near up && ip link set gr_far up"))
            skip("root", "a veth pair: 'ip link add type veth' failed");
        const char* const link = " lladdr 02:00:00:00:91:02 dev gr_near";
        if (!shell(std::string("ip neigh add ") + far + link) ||
            !shell(std::string("ip neigh add ") + far_6 + link))
            skip("root", "a neighbour entry: 'ip neigh add' failed");
    }
};
BOOST_GLOBAL_FIXTURE(veth_network);

// One packet as it stood on the wire.
struct frame {
    bytes_t ip; //!< from the IP header on
    unsigned at(std::size_t i) const { return std::to_integer<unsigned>(ip[i]); }
    std::uint16_t ip_id() const { return std::uint16_t(at(4) << 8 | at(5)); }
    bool dont_fragment() const { return at(6) & 0x40; }
    bool is_v4() const { return at(0) >> 4 == 4; }
    std::size_t header() const { return is_v4() ? 4 * (at(0) & 15) : 40; }
    bool is_udp() const { return at(is_v4() ? 9 : 6) == 17; }
    const std::byte* bth() const { return ip.data() + header() + 8; }
    std::size_t bth_bytes() const { return ip.size() - header() - 8; }
    std::uint32_t word(std::size_t i) const
    {
        return at(i) << 24 | at(i + 1) << 16 | at(i + 2) << 8 | at(i + 3);
    }
    wire::ip_address address(std::size_t i) const
    {
        if (is_v4())
            return wire::ip_address::ipv4(word(i));
        wire::ip_address::bytes_type bytes;
        std::copy_n(ip.begin() + std::ptrdiff_t(i), bytes.size(), bytes.begin());
        return wire::ip_address(bytes);
    }
    wire::udp_flow flow() const
    {
        const std::size_t u = header();
        return { address(is_v4() ? 12 : 8),
                 address(is_v4() ? 16 : 24),
                 std::uint16_t(at(u) << 8 | at(u + 1)),
                 std::uint16_t(at(u + 2) << 8 | at(u + 3)) };
    }
    std::uint32_t right_icrc() const
    {
        return wire::icrc(flow(),
                          is_v4() ? ip_id() : 0,
                          is_v4() && dont_fragment(),
                          bth(),
                          bth_bytes() - wire::icrc_bytes,
                          nullptr,
                          0);
    }
};

class capture
{
public:
    capture() : d_fd(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL)))
    {
        BOOST_REQUIRE(d_fd >= 0);
        sockaddr_ll there{};
        there.sll_family = AF_PACKET;
        there.sll_protocol = htons(ETH_P_ALL);
        there.sll_ifindex = static_cast<int>(::if_nametoindex("gr_far"));
        BOOST_REQUIRE(::bind(d_fd, reinterpret_cast<sockaddr*>(&there), sizeof there) ==
                      0);
        const int bytes = 64 << 20;
        ::setsockopt(d_fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    }
    ~capture() { ::close(d_fd); }
    capture(const capture&) = delete;
    capture& operator=(const capture&) = delete;

    //! The next n RoCEv2 packets.
    std::vector<frame> take(std::size_t n)
    {
        std::vector<frame> out;
        bytes_t buffer(1 << 17);
        while (out.size() < n) {
            pollfd p{ d_fd, POLLIN, 0 };
            BOOST_REQUIRE(::poll(&p, 1, 10000) == 1);
            const ssize_t got = ::recv(d_fd, buffer.data(), buffer.size(), 0);
            BOOST_REQUIRE(got >= 14 + 20 + 8);
            frame f;
            f.ip.assign(buffer.begin() + 14, buffer.begin() + got);
            const bool is_ip = f.at(0) >> 4 == 4 || (f.at(0) >> 4 == 6 && got > 14 + 48);
            if (is_ip && f.is_udp() && f.flow().destination_port == wire::roce_udp_port)
                out.push_back(std::move(f));
        }
        return out;
    }

private:
    const int d_fd;
};

endpoint_config sender(std::uint32_t qpn, std::uint32_t mtu, const char* to)
{
    endpoint_config c = contract_config(service_type::uc, 16);
    c.endpoint = "softroce";
    c.source = own;
    c.connect = to;
    c.qpn = qpn;
    c.remote_qpn = 0x345678 + qpn;
    c.psn = 0xfffff0;
    c.mtu = mtu;
    return c;
}

// A packet of ours, right in all that the ICRC covers, by the header that was on the
// wire.
void check_packet(const frame& f, std::uint32_t qpn, std::uint32_t psn)
{
    wire::packet p;
    BOOST_REQUIRE((wire::parse(f.bth(), f.bth_bytes(), p) == wire::parse_status::ok));
    BOOST_TEST(f.header() == 20u);
    BOOST_TEST(f.dont_fragment());
    BOOST_TEST(f.word(12) == ntohl(::inet_addr(own)));
    BOOST_TEST(f.word(16) == ntohl(::inet_addr(far)));
    BOOST_TEST(p.bth.psn.value() == (psn & 0xffffff));
    BOOST_TEST(p.bth.dest_qpn == 0x345678 + qpn);
    BOOST_TEST(p.icrc == f.right_icrc());
}

// Send messages of `bytes`; check each packet, and return the identifications.
std::vector<std::uint16_t>
identifications(std::uint32_t qpn, std::size_t bytes, unsigned messages)
{
    capture wire;
    contract_end tx(sender(qpn, 1024, far), 100, 1);
    for (unsigned k = 0; k < messages; ++k)
        tx.send(pattern(k, bytes));
    tx.ep->start();
    for (unsigned k = 0; k < messages; ++k)
        BOOST_TEST((tx.next_sent().status == wc_status::success));
    const std::size_t each = std::max<std::size_t>(1, (bytes + 1023) / 1024);
    const std::vector<frame> frames = wire.take(messages * each);
    std::vector<std::uint16_t> ids;
    bytes_t sent;
    for (std::size_t k = 0; k < frames.size(); ++k) {
        check_packet(frames[k], qpn, std::uint32_t(0xfffff0 + k));
        ids.push_back(frames[k].ip_id());
        wire::packet p;
        wire::parse(frames[k].bth(), frames[k].bth_bytes(), p);
        sent.insert(sent.end(), p.payload, p.payload + p.payload_bytes);
    }
    bytes_t right;
    for (const bytes_t& m : tx.messages)
        right.insert(right.end(), m.begin(), m.end());
    BOOST_TEST((sent == right));
    BOOST_TEST(tx.ep->counters().send_errors.value() == 0u);
    return ids;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_packet_sent_alone_has_identification_zero)
{
    for (const std::size_t bytes : { 0u, 1u, 2u, 3u, 4u, 1023u, 1024u })
        BOOST_TEST(identifications(0x10 + std::uint32_t(bytes), bytes, 1)[0] == 0);
}

BOOST_AUTO_TEST_CASE(segments_of_one_send_count_from_zero)
{
    // Segmentation by software in front of the wire, as for a NIC that cannot do it: a
    // veth would hand the large packet over whole.
    BOOST_REQUIRE(shell("ip link set gr_near gso_max_segs 1"));
    const auto ids = identifications(0x2000, 150 * 1024 + 77, 2);
    // Runs 0, 1, 2, ... of at most 64, some of them longer than one.
    unsigned run = 0;
    unsigned longest = 0;
    for (const std::uint16_t id : ids) {
        BOOST_TEST((id == 0 || id == run));
        run = id + 1u;
        longest = std::max(longest, run);
    }
    BOOST_TEST(longest <= 64u);
    BOOST_TEST_MESSAGE("longest run of identifications: " << longest);
    BOOST_TEST(longest > 8u);
}

BOOST_AUTO_TEST_CASE(ipv6_packets_are_sealed_by_what_no_router_changes)
{
    BOOST_REQUIRE(shell("ip link set gr_near gso_max_segs 1"));
    std::uint32_t qpn = 0x2200;
    for (const std::size_t bytes : { 0u, 1u, 1023u, 1024u, 100u * 1024 + 77 }) {
        endpoint_config c = sender(++qpn, 1024, far_6);
        c.source = own_6;
        capture wire;
        contract_end tx(c, 100, 1);
        tx.send(pattern(1, bytes));
        tx.ep->start();
        BOOST_TEST((tx.next_sent().status == wc_status::success));
        const std::size_t packets = std::max<std::size_t>(1, (bytes + 1023) / 1024);
        bytes_t sent;
        std::uint32_t psn = c.psn;
        for (const frame& f : wire.take(packets)) {
            wire::packet p;
            BOOST_REQUIRE(
                (wire::parse(f.bth(), f.bth_bytes(), p) == wire::parse_status::ok));
            BOOST_TEST(!f.is_v4());
            BOOST_TEST(p.icrc == f.right_icrc());
            BOOST_TEST(p.bth.psn.value() == (psn++ & 0xffffff));
            sent.insert(sent.end(), p.payload, p.payload + p.payload_bytes);
        }
        BOOST_TEST((sent == tx.messages[0]));
        BOOST_TEST(tx.ep->counters().send_errors.value() == 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_group_is_sent_to_by_the_interface_of_the_own_address)
{
    std::uint32_t qpn = 0x2100;
    for (const char* group : { "239.91.1.2", "ff15::91:2" }) // no route leads there
        for (const std::uint8_t ttl : { 1, 1, 7, 3 }) {
            const bool v4 = group[0] == '2';
            endpoint_config c = sender(++qpn, 1024, group);
            if (!v4)
                c.source = own_6;
            c.service = service_type::ud;
            c.remote_qpn = 0;
            c.multicast_ttl = ttl;
            capture wire;
            contract_end tx(c, 100, 1);
            tx.ep->start();
            tx.send(pattern(ttl, 333));
            BOOST_TEST((tx.next_sent().status == wc_status::success));
            const frame f = wire.take(1)[0];
            wire::packet p;
            BOOST_REQUIRE(
                (wire::parse(f.bth(), f.bth_bytes(), p) == wire::parse_status::ok));
            BOOST_TEST(f.at(v4 ? 8 : 7) == ttl);
            BOOST_TEST(io::softroce::text_of(f.flow().source) == c.source);
            BOOST_TEST(io::softroce::text_of(f.flow().destination) == group);
            BOOST_TEST(p.bth.dest_qpn == 0xffffffu);
            BOOST_TEST(p.deth.source_qpn == c.qpn);
            BOOST_TEST(p.icrc == f.right_icrc());
        }
}

BOOST_AUTO_TEST_CASE(packets_too_large_for_one_path_fail_that_connection_only)
{
    // The interface takes them, a router behind it does not.
    BOOST_REQUIRE(shell("ip route add 10.91.0.2/32 dev gr_near mtu lock 1500"));
    contract_end too_large(sender(0x3001, 4096, far), 100, 1);
    contract_end fits(sender(0x3002, 1024, far), 100, 1);
    contract_end elsewhere(sender(0x3003, 4096, near), 100, 1);
    for (contract_end* e : { &too_large, &fits, &elsewhere })
        e->ep->start();
    for (contract_end* e : { &too_large, &elsewhere })
        e->send(pattern(1, 8192));
    BOOST_TEST(await([&] { return too_large.ep->state() == endpoint_state::failed; }));
    const std::string said = too_large.ep->status_text();
    BOOST_TEST(said.find("lower mtu") != said.npos);
    BOOST_TEST(said.find(far) != said.npos);
    BOOST_TEST(too_large.ep->counters().send_errors.value() != 0u);
    BOOST_TEST((elsewhere.next_sent().status == wc_status::success));
    BOOST_TEST((elsewhere.ep->state() == endpoint_state::connected));
    fits.send(pattern(2, 8192));
    BOOST_TEST((fits.next_sent().status == wc_status::success));
    BOOST_TEST((fits.ep->state() == endpoint_state::connected));
    BOOST_REQUIRE(shell("ip route del 10.91.0.2/32"));
}

BOOST_AUTO_TEST_CASE(an_mtu_above_the_interface_is_refused)
{
    BOOST_REQUIRE(shell("ip link set gr_near mtu 1500"));
    BOOST_CHECK_EXCEPTION(make_endpoint(sender(0x6001, 4096, far))->open(),
                          config_error,
                          [](const config_error& e) {
                              const std::string said = e.what();
                              return said.find("mtu=4096") != said.npos &&
                                     said.find(own) != said.npos &&
                                     said.find("1024") != said.npos;
                          });
    BOOST_REQUIRE(shell("ip link set gr_near mtu 5000"));
}

BOOST_AUTO_TEST_CASE(a_wire_that_goes_down_is_survived)
{
    contract_end tx(sender(0x4001, 1024, far), 100, 1);
    tx.ep->start();
    BOOST_REQUIRE(shell("ip route add unreachable 10.91.0.2/32"));
    tx.send(pattern(1, 5000));
    BOOST_TEST((tx.next_sent().status == wc_status::success)); // UC never knows
    BOOST_TEST(await([&] { return tx.ep->counters().send_errors.value() != 0; }));
    BOOST_REQUIRE(shell("ip route del unreachable 10.91.0.2/32"));
    capture wire;
    tx.send(pattern(2, 100));
    check_packet(wire.take(1)[0], 0x4001, 0xfffff0 + 5);
    BOOST_TEST((tx.ep->state() == endpoint_state::connected));
}

BOOST_AUTO_TEST_CASE(an_address_without_a_route_is_named)
{
    endpoint_config c = sender(0x5001, 1024, "203.0.113.9");
    c.source.clear();
    BOOST_CHECK_EXCEPTION(
        make_endpoint(c)->open(), config_error, [](const config_error& e) {
            return std::string(e.what()).find("connect='203.0.113.9'") !=
                   std::string::npos;
        });
}
