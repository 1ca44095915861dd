/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Any bytes through the CM parsers: what they accept is written again without a bit that
// was not there, and from then on the same; the private data's header likewise.
#include "fuzz/input.h"
#include "wire/cm.h"
#include "wire/cma.h"

#include <array>
#include <cstring>

namespace {

using namespace gr::rdma::wire;

using mad = std::array<std::byte, mad_bytes>;

void check_cma(const std::byte* d, std::size_t bytes)
{
    cma_header h;
    if (parse_cma(d, bytes, h) != cma_parse_status::ok)
        return;
    std::array<std::byte, cma_header_bytes> out;
    write_cma(h, out.data());
    cma_header back;
    FUZZ_REQUIRE(parse_cma(out.data(), out.size(), back) == cma_parse_status::ok);
    FUZZ_REQUIRE(back.source_port == h.source_port && back.source == h.source &&
                 back.destination == h.destination);
    const bool was_v4 = (d[1] & std::byte{ 0xf0 }) == std::byte{ 0x40 };
    if (was_v4)
        FUZZ_REQUIRE(h.source.is_v4() && h.destination.is_v4());
    else if (!h.source.is_v4() || !h.destination.is_v4())
        FUZZ_REQUIRE(std::memcmp(out.data() + 2, d + 2, out.size() - 2) == 0);
}

struct visitor {
    void operator()(const cm_req& m) const
    {
        FUZZ_REQUIRE(m.local_qpn <= 0xffffff && m.local_eecn <= 0xffffff);
        FUZZ_REQUIRE(m.primary.flow_label <= 0xfffff && m.primary.sl <= 15);
        FUZZ_REQUIRE(cm_timeout_ns(m.remote_cm_response_timeout) > 0);
        FUZZ_REQUIRE(mtu_bytes(m.path_mtu) <= 4096);
        std::uint16_t port = 0;
        if (cma_port_of(m.service_id, cma_port_space::tcp, port))
            FUZZ_REQUIRE(cma_service_id(cma_port_space::tcp, port) == m.service_id);
        check_cma(m.private_data.data(), m.private_data.size());
    }
    void operator()(const cm_sidr_req& m) const
    {
        std::uint16_t port = 0;
        if (cma_port_of(m.service_id, cma_port_space::udp, port))
            FUZZ_REQUIRE(cma_service_id(cma_port_space::udp, port) == m.service_id);
        check_cma(m.private_data.data(), m.private_data.size());
    }
    void operator()(const cm_rej& m) const
    {
        FUZZ_REQUIRE(m.ari_bytes <= m.ari.size());
        FUZZ_REQUIRE(std::strlen(to_string(m.reason)) > 0);
    }
    void operator()(const cm_sidr_rep& m) const
    {
        FUZZ_REQUIRE(m.additional_bytes <= m.additional.size() && m.qpn <= 0xffffff);
        FUZZ_REQUIRE(std::strlen(to_string(m.status)) > 0);
    }
    void operator()(const cm_rep& m) const
    {
        FUZZ_REQUIRE(m.local_qpn <= 0xffffff && m.rnr_retry_count <= 7);
    }
    void operator()(const cm_dreq& m) const { FUZZ_REQUIRE(m.remote_qpn <= 0xffffff); }
    void operator()(const cm_mra& m) const { FUZZ_REQUIRE(m.service_timeout <= 31); }
    void operator()(const cm_rtu&) const {}
    void operator()(const cm_drep&) const {}
};

bool holds_a_length(const cm_message& m, std::size_t byte)
{
    return (std::holds_alternative<cm_rej>(m.body) && byte == 24 + 9) ||
           (std::holds_alternative<cm_sidr_rep>(m.body) && byte == 24 + 5);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes)
{
    const auto* d = reinterpret_cast<const std::byte*>(data);
    check_cma(d, bytes);
    cm_message m;
    const cm_parse_status status = parse_cm(d, bytes, m);
    FUZZ_REQUIRE((status == cm_parse_status::too_short) == (bytes < mad_bytes));
    if (status != cm_parse_status::ok)
        return 0;
    std::visit(visitor(), m.body);

    mad out;
    write_cm(m, out.data());
    for (std::size_t i = 0; i < out.size(); ++i)
        if (!holds_a_length(m, i)) // a length may be cut
            FUZZ_REQUIRE((out[i] & ~d[i]) == std::byte{ 0 });
    cm_message again;
    FUZZ_REQUIRE(parse_cm(out.data(), out.size(), again) == cm_parse_status::ok);
    FUZZ_REQUIRE(again.body.index() == m.body.index());
    mad third;
    write_cm(again, third.data());
    FUZZ_REQUIRE(third == out);
    return 0;
}
