/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Packets of another implementation: captured from Linux 6.1's rdma_rxe and rdma_cm
// (librdmacm's ucmatose, udaddy and rping at one end, 10.0.0.1 or fd00::1).
#include "wire/byte_order.h"
#include "wire/cm.h"
#include "wire/cma.h"
#include "wire/icrc.h"
#include "wire/packet.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace gr::rdma::wire;

namespace {

using buffer = std::vector<std::byte>;

// From the IP header to the ICRC. The zeros at the end of the private data are left out.
struct captured {
    std::string hex;
    std::size_t bytes;
    std::string icrc;
};

const captured req_v4{ "45000134cd4740004011586f0a0000010a000002d87212b7012000006400ffff"
                       "0000000180000000800100000000000101070203000000000000000260e73bdb"
                       "0010000000000000db3be760000000000000000001061d2fe4915afffe91fea1"
                       "00000000000000000000110100000001000000a054865aa5ffff50f0ffffffff"
                       "00000000000000000000ffff0a00000100000000000000000000ffff0a000002"
                       "20a2700000400098000000000000000000000000000000000000000000000000"
                       "0000000000000000000000000000000000000000004094080000000000000000"
                       "000000000a0000010000000000000000000000000a000002",
                       308,
                       "dca1b749" };
const captured req_v6{ "6000000001201140fd000000000000000000000000000001fd00000000000000"
                       "0000000000000002d87212b7012000006400ffff000000018000000580010000"
                       "0000000101070203000000000000000260e73bd80010000000000000d83be760"
                       "000000000000000001061d2fe4915afffe91fea1000000000000000000001401"
                       "00000001000000a0fe8f9ca5ffff50f0fffffffffd0000000000000000000000"
                       "00000001fd0000000000000000000000000000025984b0000040009800000000"
                       "0000000000000000000000000000000000000000000000000000000000000000"
                       "00000000000000000060b164fd000000000000000000000000000001fd000000"
                       "000000000000000000000002",
                       328,
                       "50828738" };
const captured rep_v4{ "45000134de5940004011475d0a0000010a000002d87212b7012000006400ffff"
                       "000000018000000b8001000000000001010702030000000000000000000decaf"
                       "0013000000000000dd3be7600badcafe00000000000016000000000082566c00"
                       "010178e0e4915afffe91fea1",
                       308,
                       "fcdba9bf" };
const captured rep_v6{ "6000000001201140fd000000000000000000000000000001fd00000000000000"
                       "0000000000000002d87212b7012000006400ffff000000018000001180010000"
                       "00000001010702030000000000000000000decaf0013000000000000d73be760"
                       "0badcafe0000000000001800000000008d918600010178e0e4915afffe91fea1",
                       328,
                       "0c300711" };
const captured rtu_v4{ "45000134cd4a40004011586c0a0000010a000002d87212b7012000006400ffff"
                       "0000000180000001800100000000000101070203000000000000000260e73bdb"
                       "0014000000000000db3be76011223344",
                       308,
                       "2ce5c93c" };
const captured dreq_v4{ "45000134cdba4000401157fc0a0000010a000002d87212b7012000006400ffff"
                        "0000000180000002800100000000000101070203000000000000000260e73bdb"
                        "0015000000000000db3be76011223344123456",
                        308,
                        "d0d34259" };
const captured drep_v4{ "45000134dea04000401147160a0000010a000002d87212b7012000006400ffff"
                        "000000018000000d8001000000000001010702030000000000000000000decb0"
                        "0016000000000000dd3be7600badcafe",
                        308,
                        "be52d678" };
const captured rej_4_v6{
    "6000000001201140fd000000000000000000000000000001fd00000000000000"
    "0000000000000002d87212b7012000006400ffff000000018000000680010000"
    "000000010107020300000000000000020d9a9c310012000000000000319c9a0d"
    "0000000080100004a0fbdcfffe95f078",
    328,
    "a801bbaf"
};
const captured rej_8_v4{
    "45000134defd4000401146b90a0000010a000002d87212b7012000006400ffff"
    "000000018000000e8001000000000001010702030000000000000000000decaf"
    "0012000000000000000000000badcafe00000008",
    308,
    "76f5c830"
};
const captured sidr_req_v4{
    "45000134cf5e4000401156580a0000010a000002d87212b7012000006400ffff"
    "0000000180000004800100000000000101070203000000000000000260e73bd9"
    "0017000000000000d93be760ffff00000000000001111c060040932000000000"
    "00000000000000000a0000010000000000000000000000000a000002",
    308,
    "d7a1b336"
};
const captured sidr_rep_0_v4{
    "45000134e2254000401143910a0000010a000002d87212b7012000006400ffff"
    "000000018000000f80010000000000010107020300000000000000000000feed"
    "00180000000000005566778800000000000017000000000001111c0601234567",
    308,
    "dd0b2c4e"
};
const captured sidr_rep_1_v4{
    "45000134e3764000401142400a0000010a000002d87212b7012000006400ffff"
    "000000018000001080010000000000010107020300000000000000000000feed"
    "00180000000000005566778801000000000000000000000001111c07",
    308,
    "254d1ac7"
};

buffer from_hex(const std::string& text)
{
    buffer bytes;
    for (std::size_t i = 0; i < text.size(); i += 2)
        bytes.push_back(
            static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
    return bytes;
}

// The MAD inside, after the packet around it was found right.
buffer mad_of(const captured& c)
{
    buffer ip = from_hex(c.hex);
    ip.resize(c.bytes - icrc_bytes);
    const buffer icrc = from_hex(c.icrc);
    ip.insert(ip.end(), icrc.begin(), icrc.end());

    const bool v4 = ip[0] == std::byte{ 0x45 };
    const std::byte* udp = ip.data() + (v4 ? 20 : 40);
    const std::byte* bth = udp + 8;
    const std::size_t bytes = c.bytes - static_cast<std::size_t>(bth - ip.data());
    const auto source_port = load_be<std::uint16_t>(udp);
    std::uint32_t computed;
    if (v4) {
        computed = icrc_ipv4({ load_be<std::uint32_t>(&ip[12]),
                               load_be<std::uint32_t>(&ip[16]),
                               source_port,
                               roce_udp_port },
                             load_be<std::uint16_t>(&ip[4]),
                             true,
                             bth,
                             bytes - icrc_bytes);
    } else {
        ipv6_flow flow;
        std::copy_n(&ip[8], 16, flow.source.begin());
        std::copy_n(&ip[24], 16, flow.destination.begin());
        flow.source_port = source_port;
        computed = icrc_ipv6(flow, bth, bytes - icrc_bytes);
    }
    packet p;
    BOOST_REQUIRE((parse(bth, bytes, p) == parse_status::ok));
    BOOST_TEST(p.icrc == computed);
    BOOST_TEST(p.bth.opcode == make_opcode(service::ud, operation::send_only));
    BOOST_TEST(p.bth.dest_qpn == cm_qpn);
    BOOST_TEST(p.deth.qkey == cm_qkey);
    BOOST_TEST(p.deth.source_qpn == cm_qpn);
    BOOST_TEST(p.payload_bytes == mad_bytes);
    return buffer(p.payload, p.payload + p.payload_bytes);
}

// Taken apart, and written again to the same bytes.
template <typename M>
M message_of(const captured& c, std::uint64_t transaction_id)
{
    const buffer mad = mad_of(c);
    cm_message m;
    BOOST_REQUIRE((parse_cm(mad.data(), mad.size(), m) == cm_parse_status::ok));
    BOOST_TEST(m.transaction_id == transaction_id);
    buffer again(mad_bytes, std::byte{ 0xee });
    write_cm(m, again.data());
    BOOST_TEST((again == mad));
    BOOST_REQUIRE(std::holds_alternative<M>(m.body));
    return std::get<M>(m.body);
}

ip_address fd00(unsigned last)
{
    ip_address::bytes_type bytes{};
    bytes[0] = std::byte{ 0xfd };
    bytes[15] = static_cast<std::byte>(last);
    return ip_address(bytes);
}

void check_cma(const std::byte* private_data,
               const ip_address& source,
               const ip_address& destination)
{
    cma_header h;
    BOOST_REQUIRE((parse_cma(private_data, cma_header_bytes, h) == cma_parse_status::ok));
    BOOST_TEST((h.source == source));
    BOOST_TEST((h.destination == destination));
    buffer again(cma_header_bytes, std::byte{ 0xee });
    write_cma(h, again.data());
    BOOST_TEST(std::equal(again.begin(), again.end(), private_data));
}

void check_req(const cm_req& m, const ip_address& source, const ip_address& destination)
{
    std::uint16_t port = 0;
    BOOST_TEST(cma_port_of(m.service_id, cma_port_space::tcp, port));
    BOOST_TEST(port == 7471u);
    BOOST_TEST(m.local_ca_guid == 0xe4915afffe91fea1u);
    BOOST_TEST(int{ m.responder_resources } == 1);
    BOOST_TEST(int{ m.initiator_depth } == 1);
    BOOST_TEST(int{ m.remote_cm_response_timeout } == 20);
    BOOST_TEST(int{ m.local_cm_response_timeout } == 20);
    BOOST_TEST((m.transport == cm_transport::rc));
    BOOST_TEST(!m.end_to_end_flow_control);
    BOOST_TEST(int{ m.retry_count } == 5);
    BOOST_TEST(m.pkey == 0xffffu);
    BOOST_TEST(mtu_bytes(m.path_mtu) == 4096u);
    BOOST_TEST(int{ m.rnr_retry_count } == 0);
    BOOST_TEST(int{ m.max_cm_retries } == 15);
    BOOST_TEST(!m.srq);
    BOOST_TEST(m.primary.local_lid == 0xffffu);
    BOOST_TEST(m.primary.remote_lid == 0xffffu);
    BOOST_TEST((m.primary.local_gid == source));
    BOOST_TEST((m.primary.remote_gid == destination));
    BOOST_TEST(int{ m.primary.hop_limit } == 64);
    BOOST_TEST(int{ m.primary.local_ack_timeout } == 19);
    BOOST_TEST(m.alternate.local_gid.is_unspecified());
    check_cma(m.private_data.data(), source, destination);
}

} // namespace

BOOST_AUTO_TEST_CASE(req_over_ipv4)
{
    const auto m = message_of<cm_req>(req_v4, 0x0000000260e73bdb);
    BOOST_TEST(m.local_comm_id == 0xdb3be760u);
    BOOST_TEST(m.local_qpn == 0x11u);
    BOOST_TEST(m.starting_psn.value() == 0x54865au);
    BOOST_TEST(m.primary.flow_label == 0x20a27u);
    check_req(m, ip_address::ipv4(0x0a000001), ip_address::ipv4(0x0a000002));
}

BOOST_AUTO_TEST_CASE(req_over_ipv6)
{
    const auto m = message_of<cm_req>(req_v6, 0x0000000260e73bd8);
    BOOST_TEST(m.local_qpn == 0x14u);
    BOOST_TEST(m.starting_psn.value() == 0xfe8f9cu);
    BOOST_TEST(m.primary.flow_label == 0x5984bu);
    check_req(m, fd00(1), fd00(2));
}

BOOST_AUTO_TEST_CASE(rep)
{
    for (const captured* c : { &rep_v4, &rep_v6 }) {
        const auto m = message_of<cm_rep>(*c, 0xdecaf);
        BOOST_TEST(m.remote_comm_id == 0x0badcafeu);
        BOOST_TEST(m.local_qpn == (c == &rep_v4 ? 0x16u : 0x18u));
        BOOST_TEST(m.starting_psn.value() == (c == &rep_v4 ? 0x82566cu : 0x8d9186u));
        BOOST_TEST(int{ m.responder_resources } == 1);
        BOOST_TEST(int{ m.initiator_depth } == 1);
        BOOST_TEST(int{ m.target_ack_delay } == 15);
        BOOST_TEST(int{ m.failover_accepted } == 0);
        BOOST_TEST(int{ m.rnr_retry_count } == 7);
        BOOST_TEST(m.local_ca_guid == 0xe4915afffe91fea1u);
    }
}

BOOST_AUTO_TEST_CASE(rtu_dreq_and_drep)
{
    const auto rtu = message_of<cm_rtu>(rtu_v4, 0x0000000260e73bdb);
    BOOST_TEST(rtu.local_comm_id == 0xdb3be760u);
    BOOST_TEST(rtu.remote_comm_id == 0x11223344u);
    const auto dreq = message_of<cm_dreq>(dreq_v4, 0x0000000260e73bdb);
    BOOST_TEST(dreq.local_comm_id == 0xdb3be760u);
    BOOST_TEST(dreq.remote_comm_id == 0x11223344u);
    BOOST_TEST(dreq.remote_qpn == 0x123456u);
    const auto drep = message_of<cm_drep>(drep_v4, 0xdecb0);
    BOOST_TEST(drep.local_comm_id == 0xdd3be760u);
    BOOST_TEST(drep.remote_comm_id == 0x0badcafeu);
}

BOOST_AUTO_TEST_CASE(rej)
{
    const auto unknown = message_of<cm_rej>(rej_8_v4, 0xdecaf);
    BOOST_TEST(unknown.local_comm_id == 0u);
    BOOST_TEST(unknown.remote_comm_id == 0x0badcafeu);
    BOOST_TEST((unknown.answered == cm_answered::req));
    BOOST_TEST((unknown.reason == cm_rej_reason::invalid_service_id));
    BOOST_TEST(int{ unknown.ari_bytes } == 0);
    // The peer never answered its REQ: it says so with its CA's GUID.
    const auto timeout = message_of<cm_rej>(rej_4_v6, 0x000000020d9a9c31);
    BOOST_TEST(timeout.local_comm_id == 0x319c9a0du);
    BOOST_TEST(timeout.remote_comm_id == 0u);
    BOOST_TEST((timeout.answered == cm_answered::other));
    BOOST_TEST((timeout.reason == cm_rej_reason::timeout));
    BOOST_TEST(int{ timeout.ari_bytes } == 8);
    BOOST_TEST(load_be<std::uint64_t>(timeout.ari.data()) == 0xa0fbdcfffe95f078u);
}

BOOST_AUTO_TEST_CASE(sidr)
{
    const auto req = message_of<cm_sidr_req>(sidr_req_v4, 0x0000000260e73bd9);
    BOOST_TEST(req.request_id == 0xd93be760u);
    BOOST_TEST(req.pkey == 0xffffu);
    BOOST_TEST(req.service_id == cma_service_id(cma_port_space::udp, 7174));
    check_cma(req.private_data.data(),
              ip_address::ipv4(0x0a000001),
              ip_address::ipv4(0x0a000002));
    const auto rep = message_of<cm_sidr_rep>(sidr_rep_0_v4, 0xfeed);
    BOOST_TEST(rep.request_id == 0x55667788u);
    BOOST_TEST((rep.status == cm_sidr_status::valid_qpn));
    BOOST_TEST(rep.qpn == 0x17u);
    BOOST_TEST(rep.qkey == cma_udp_qkey);
    BOOST_TEST(rep.service_id == cma_service_id(cma_port_space::udp, 7174));
    const auto none = message_of<cm_sidr_rep>(sidr_rep_1_v4, 0xfeed);
    BOOST_TEST((none.status == cm_sidr_status::service_id_not_supported));
    BOOST_TEST(none.qpn == 0u);
}
