/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wire/qa_cm.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

using namespace gr::rdma::wire;

namespace {

// A field of a message as the specification's tables place it, behind the MAD header.
template <typename M>
struct placed {
    const char* name;
    unsigned byte;
    unsigned bit; //!< 0 is the most significant
    unsigned width;
    std::function<void(M&, std::uint64_t)> set;
    std::function<std::uint64_t(const M&)> get;
};

#define FIELD(M, member, byte, bit, width)                                         \
    placed<M>                                                                      \
    {                                                                              \
#member, byte, bit, width,                                                       \
            [](M& m, std::uint64_t v) {                                                  \
                m.member = static_cast<std::decay_t<decltype(m.member)>>(v);             \
            },                                                                           \
            [](const M& m) { return static_cast<std::uint64_t>(m.member); } \
    }
#define PSN_FIELD(M, member, byte)                                                 \
    placed<M>                                                                      \
    {                                                                              \
#member, byte, 0, 24,                                                            \
            [](M& m, std::uint64_t v) {                                                  \
                m.member = psn(static_cast<std::uint32_t>(v));                           \
            },                                                                           \
            [](const M& m) { return std::uint64_t{ m.member.value() }; } \
    }
#define BYTES_FIELD(M, member, byte, bytes)                                        \
    placed<M>                                                                      \
    {                                                                              \
#member, byte, 0, 8 * (bytes),                                                   \
            [](M& m, std::uint64_t v) {                                                  \
                static_assert(sizeof(m.member) == (bytes), "");                          \
                std::fill_n(reinterpret_cast<unsigned char*>(&m.member), bytes, v ? 255 : 0); \
            },                                                                           \
            [](const M& m) {                                                             \
                std::uint64_t ones = 1;                                                  \
                for (unsigned i = 0; i < (bytes); ++i)                                   \
                    ones &= reinterpret_cast<const unsigned char*>(&m.member)[i] == 255; \
                return ones;                                                             \
            } \
    }

// A message whose fields are all zero.
template <typename M>
M blank()
{
    return M{};
}
template <>
cm_req blank<cm_req>()
{
    cm_req m;
    m.pkey = 0;
    return m;
}
template <>
cm_sidr_req blank<cm_sidr_req>()
{
    cm_sidr_req m;
    m.pkey = 0;
    return m;
}
template <>
cm_rej blank<cm_rej>()
{
    cm_rej m;
    m.reason = cm_rej_reason{ 0 };
    return m;
}

bool bit_of(const mad& m, unsigned bit)
{
    return std::to_integer<unsigned>(m[24 + bit / 8]) >> (7 - bit % 8) & 1;
}

// The bits of a MAD behind its header that are set, and those that a field should set.
template <typename M>
void check_bits(const mad& got, const placed<M>& f, std::uint64_t value)
{
    const unsigned first = 8 * f.byte + f.bit;
    for (unsigned i = 0; i < 8 * (mad_bytes - 24); ++i) {
        const bool inside = i >= first && i < first + f.width;
        const unsigned from_right = inside ? first + f.width - 1 - i : 0;
        const bool right =
            inside && (f.width > 64 ? value != 0 : value >> from_right & 1);
        if (bit_of(got, i) != right)
            BOOST_ERROR(f.name << " = " << value << ": bit " << i % 8 << " of byte "
                               << i / 8 << " is " << !right);
    }
}

// Each field alone, at its least, its greatest, its outermost bits and more than it
// holds, sets its bits and no others, and comes back.
template <typename M>
void check_fields(cm_attribute attribute, const std::vector<placed<M>>& fields)
{
    for (const placed<M>& f : fields) {
        const std::uint64_t top =
            f.width >= 64 ? ~std::uint64_t{ 0 } : (std::uint64_t{ 1 } << f.width) - 1;
        std::vector<std::uint64_t> values{ 0, top };
        if (f.width > 1 && f.width <= 64)
            values.insert(values.end(), { 1, top / 2 + 1, top / 3 });
        for (const std::uint64_t value : values) {
            cm_message m;
            m.body = blank<M>();
            f.set(std::get<M>(m.body), value);
            BOOST_TEST((attribute_of(m) == attribute));
            const mad out = written(m);
            check_bits(out, f, value);
            const std::uint64_t back = f.get(body_of<M>(out));
            BOOST_TEST(back == (f.width > 64 ? value & 1 : value), f.name);
        }
    }
}

// A field set, all others full of ones: nothing leaks in from the neighbours.
template <typename M>
void check_neighbours(const std::vector<placed<M>>& fields)
{
    for (const placed<M>& f : fields) {
        mad in = written({ 0, blank<M>() });
        std::memset(in.data() + 24, 0xff, in.size() - 24);
        for (unsigned i = 8 * f.byte + f.bit; i < 8 * f.byte + f.bit + f.width; ++i)
            in[24 + i / 8] &= ~static_cast<std::byte>(0x80 >> i % 8);
        BOOST_TEST(f.get(body_of<M>(in)) == 0u, f.name);
    }
}

template <typename M>
void check(cm_attribute attribute, const std::vector<placed<M>>& fields)
{
    check_fields(attribute, fields);
    check_neighbours(fields);
}

#define PATH_FIELDS(path, base)                              \
    FIELD(cm_req, path.local_lid, base, 0, 16),              \
        FIELD(cm_req, path.remote_lid, base + 2, 0, 16),     \
        BYTES_FIELD(cm_req, path.local_gid, base + 4, 16),   \
        BYTES_FIELD(cm_req, path.remote_gid, base + 20, 16), \
        FIELD(cm_req, path.flow_label, base + 36, 0, 20),    \
        FIELD(cm_req, path.packet_rate, base + 39, 2, 6),    \
        FIELD(cm_req, path.traffic_class, base + 40, 0, 8),  \
        FIELD(cm_req, path.hop_limit, base + 41, 0, 8),      \
        FIELD(cm_req, path.sl, base + 42, 0, 4),             \
        FIELD(cm_req, path.subnet_local, base + 42, 4, 1),   \
        FIELD(cm_req, path.local_ack_timeout, base + 43, 0, 5)

} // namespace

BOOST_AUTO_TEST_CASE(req_fields)
{
    check<cm_req>(cm_attribute::req,
                  { FIELD(cm_req, local_comm_id, 0, 0, 32),
                    FIELD(cm_req, service_id, 8, 0, 64),
                    FIELD(cm_req, local_ca_guid, 16, 0, 64),
                    FIELD(cm_req, local_qkey, 28, 0, 32),
                    FIELD(cm_req, local_qpn, 32, 0, 24),
                    FIELD(cm_req, responder_resources, 35, 0, 8),
                    FIELD(cm_req, local_eecn, 36, 0, 24),
                    FIELD(cm_req, initiator_depth, 39, 0, 8),
                    FIELD(cm_req, remote_eecn, 40, 0, 24),
                    FIELD(cm_req, remote_cm_response_timeout, 43, 0, 5),
                    FIELD(cm_req, transport, 43, 5, 2),
                    FIELD(cm_req, end_to_end_flow_control, 43, 7, 1),
                    PSN_FIELD(cm_req, starting_psn, 44),
                    FIELD(cm_req, local_cm_response_timeout, 47, 0, 5),
                    FIELD(cm_req, retry_count, 47, 5, 3),
                    FIELD(cm_req, pkey, 48, 0, 16),
                    FIELD(cm_req, path_mtu, 50, 0, 4),
                    FIELD(cm_req, rdc_exists, 50, 4, 1),
                    FIELD(cm_req, rnr_retry_count, 50, 5, 3),
                    FIELD(cm_req, max_cm_retries, 51, 0, 4),
                    FIELD(cm_req, srq, 51, 4, 1),
                    FIELD(cm_req, extended_transport, 51, 5, 3),
                    PATH_FIELDS(primary, 52),
                    PATH_FIELDS(alternate, 96),
                    BYTES_FIELD(cm_req, private_data, 140, 92) });
}

BOOST_AUTO_TEST_CASE(mra_fields)
{
    check<cm_mra>(cm_attribute::mra,
                  { FIELD(cm_mra, local_comm_id, 0, 0, 32),
                    FIELD(cm_mra, remote_comm_id, 4, 0, 32),
                    FIELD(cm_mra, answered, 8, 0, 2),
                    FIELD(cm_mra, service_timeout, 9, 0, 5),
                    BYTES_FIELD(cm_mra, private_data, 10, 222) });
}

BOOST_AUTO_TEST_CASE(rej_fields)
{
    check<cm_rej>(cm_attribute::rej,
                  { FIELD(cm_rej, local_comm_id, 0, 0, 32),
                    FIELD(cm_rej, remote_comm_id, 4, 0, 32),
                    FIELD(cm_rej, answered, 8, 0, 2),
                    FIELD(cm_rej, reason, 10, 0, 16),
                    BYTES_FIELD(cm_rej, ari, 12, 72),
                    BYTES_FIELD(cm_rej, private_data, 84, 148) });
}

BOOST_AUTO_TEST_CASE(rep_fields)
{
    check<cm_rep>(cm_attribute::rep,
                  { FIELD(cm_rep, local_comm_id, 0, 0, 32),
                    FIELD(cm_rep, remote_comm_id, 4, 0, 32),
                    FIELD(cm_rep, local_qkey, 8, 0, 32),
                    FIELD(cm_rep, local_qpn, 12, 0, 24),
                    FIELD(cm_rep, local_eecn, 16, 0, 24),
                    PSN_FIELD(cm_rep, starting_psn, 20),
                    FIELD(cm_rep, responder_resources, 24, 0, 8),
                    FIELD(cm_rep, initiator_depth, 25, 0, 8),
                    FIELD(cm_rep, target_ack_delay, 26, 0, 5),
                    FIELD(cm_rep, failover_accepted, 26, 5, 2),
                    FIELD(cm_rep, end_to_end_flow_control, 26, 7, 1),
                    FIELD(cm_rep, rnr_retry_count, 27, 0, 3),
                    FIELD(cm_rep, srq, 27, 3, 1),
                    FIELD(cm_rep, local_ca_guid, 28, 0, 64),
                    BYTES_FIELD(cm_rep, private_data, 36, 196) });
}

BOOST_AUTO_TEST_CASE(rtu_dreq_and_drep_fields)
{
    check<cm_rtu>(cm_attribute::rtu,
                  { FIELD(cm_rtu, local_comm_id, 0, 0, 32),
                    FIELD(cm_rtu, remote_comm_id, 4, 0, 32),
                    BYTES_FIELD(cm_rtu, private_data, 8, 224) });
    check<cm_dreq>(cm_attribute::dreq,
                   { FIELD(cm_dreq, local_comm_id, 0, 0, 32),
                     FIELD(cm_dreq, remote_comm_id, 4, 0, 32),
                     FIELD(cm_dreq, remote_qpn, 8, 0, 24),
                     BYTES_FIELD(cm_dreq, private_data, 12, 220) });
    check<cm_drep>(cm_attribute::drep,
                   { FIELD(cm_drep, local_comm_id, 0, 0, 32),
                     FIELD(cm_drep, remote_comm_id, 4, 0, 32),
                     BYTES_FIELD(cm_drep, private_data, 8, 224) });
}

BOOST_AUTO_TEST_CASE(sidr_fields)
{
    check<cm_sidr_req>(cm_attribute::sidr_req,
                       { FIELD(cm_sidr_req, request_id, 0, 0, 32),
                         FIELD(cm_sidr_req, pkey, 4, 0, 16),
                         FIELD(cm_sidr_req, service_id, 8, 0, 64),
                         BYTES_FIELD(cm_sidr_req, private_data, 16, 216) });
    check<cm_sidr_rep>(cm_attribute::sidr_rep,
                       { FIELD(cm_sidr_rep, request_id, 0, 0, 32),
                         FIELD(cm_sidr_rep, status, 4, 0, 8),
                         FIELD(cm_sidr_rep, qpn, 8, 0, 24),
                         FIELD(cm_sidr_rep, service_id, 12, 0, 64),
                         FIELD(cm_sidr_rep, qkey, 20, 0, 32),
                         BYTES_FIELD(cm_sidr_rep, additional, 24, 72),
                         BYTES_FIELD(cm_sidr_rep, private_data, 96, 136) });
}

BOOST_AUTO_TEST_CASE(what_is_wider_than_its_field_does_not_reach_its_neighbours)
{
    cm_req req = blank<cm_req>();
    req.local_qpn = 0xff000000;
    req.remote_cm_response_timeout = 0xe0;
    req.path_mtu = 0xf0;
    req.primary.flow_label = 0xfff00000;
    req.primary.packet_rate = 0xc0;
    req.primary.local_ack_timeout = 0xe0;
    const mad out = written({ 0, req });
    for (std::size_t i = 24; i < out.size(); ++i)
        BOOST_TEST(std::to_integer<unsigned>(out[i]) == 0u, "byte " << i);
}
