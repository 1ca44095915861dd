/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wire/cm.h"
#include "wire/byte_order.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace gr {
namespace rdma {
namespace wire {

namespace {

constexpr std::size_t mad_header_bytes = 24;
constexpr std::uint8_t mad_base_version = 1;
constexpr std::uint8_t class_cm = 0x07;
constexpr std::uint8_t class_version_cm = 2;
constexpr std::uint8_t method_send = 0x03;

// Fields are named as the specification's tables do: byte, first bit within it (0 is the
// most significant), width in bits. A field lies within eight bytes.
struct field {
    unsigned byte;
    unsigned bit;
    unsigned width;
    unsigned bytes() const noexcept { return (bit + width + 7) / 8; }
    unsigned shift() const noexcept { return 8 * bytes() - bit - width; }
    std::uint64_t mask() const noexcept
    {
        return width < 64 ? (std::uint64_t{ 1 } << width) - 1 : ~std::uint64_t{ 0 };
    }
};

std::uint64_t load(const std::byte* p, unsigned bytes) noexcept
{
    std::uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i)
        value = value << 8 | std::to_integer<std::uint64_t>(p[i]);
    return value;
}

// reader and writer have the same calls, so that one layout() a message serves both ways.
class reader
{
public:
    explicit reader(const std::byte* data) noexcept : d_data(data) {}

    template <typename T>
    void operator()(field f, T& out) const noexcept
    {
        out = static_cast<T>(load(d_data + f.byte, f.bytes()) >> f.shift() & f.mask());
    }
    template <std::size_t n>
    void operator()(unsigned byte, std::array<std::byte, n>& out) const noexcept
    {
        std::memcpy(out.data(), d_data + byte, n);
    }
    void operator()(unsigned byte, ip_address& out) const noexcept
    {
        ip_address::bytes_type bytes;
        (*this)(byte, bytes);
        out = ip_address(bytes);
    }

private:
    const std::byte* d_data;
};

// Into zeros.
class writer
{
public:
    explicit writer(std::byte* data) noexcept : d_data(data) {}

    template <typename T>
    void operator()(field f, const T& in) const noexcept
    {
        set(f, static_cast<std::uint64_t>(in));
    }
    void operator()(field f, psn in) const noexcept { set(f, in.value()); }
    template <std::size_t n>
    void operator()(unsigned byte, const std::array<std::byte, n>& in) const noexcept
    {
        std::memcpy(d_data + byte, in.data(), n);
    }
    void operator()(unsigned byte, const ip_address& in) const noexcept
    {
        (*this)(byte, in.bytes());
    }

private:
    std::byte* d_data;

    void set(field f, std::uint64_t value) const noexcept
    {
        value = (value & f.mask()) << f.shift();
        for (unsigned i = f.bytes(); i-- > 0; value >>= 8)
            d_data[f.byte + i] |= static_cast<std::byte>(value & 0xff);
    }
};

// What an array of 72 bytes can hold, whatever the wire says.
template <typename io, typename T>
void length_of_72(const io& at, field f, T& length) noexcept
{
    std::uint8_t n = std::min<std::uint8_t>(length, 72);
    at(f, n);
    if constexpr (!std::is_const_v<T>)
        length = std::min<std::uint8_t>(n, 72);
}

// M is const for the writer. Offsets: from behind the MAD header (spec vol. 1, 12.6.5).
template <typename io, typename P>
void layout_path(const io& at, unsigned base, P& p) noexcept
{
    at({ base, 0, 16 }, p.local_lid);
    at({ base + 2, 0, 16 }, p.remote_lid);
    at(base + 4, p.local_gid);
    at(base + 20, p.remote_gid);
    at({ base + 36, 0, 20 }, p.flow_label);
    at({ base + 39, 2, 6 }, p.packet_rate);
    at({ base + 40, 0, 8 }, p.traffic_class);
    at({ base + 41, 0, 8 }, p.hop_limit);
    at({ base + 42, 0, 4 }, p.sl);
    at({ base + 42, 4, 1 }, p.subnet_local);
    at({ base + 43, 0, 5 }, p.local_ack_timeout);
}

template <typename M, typename T>
constexpr bool is_message = std::is_same_v<std::remove_const_t<M>, T>;

template <typename io, typename M>
std::enable_if_t<is_message<M, cm_req>> layout(const io& at, M& m) noexcept
{
    at({ 0, 0, 32 }, m.local_comm_id);
    at({ 8, 0, 64 }, m.service_id);
    at({ 16, 0, 64 }, m.local_ca_guid);
    at({ 28, 0, 32 }, m.local_qkey);
    at({ 32, 0, 24 }, m.local_qpn);
    at({ 35, 0, 8 }, m.responder_resources);
    at({ 36, 0, 24 }, m.local_eecn);
    at({ 39, 0, 8 }, m.initiator_depth);
    at({ 40, 0, 24 }, m.remote_eecn);
    at({ 43, 0, 5 }, m.remote_cm_response_timeout);
    at({ 43, 5, 2 }, m.transport);
    at({ 43, 7, 1 }, m.end_to_end_flow_control);
    at({ 44, 0, 24 }, m.starting_psn);
    at({ 47, 0, 5 }, m.local_cm_response_timeout);
    at({ 47, 5, 3 }, m.retry_count);
    at({ 48, 0, 16 }, m.pkey);
    at({ 50, 0, 4 }, m.path_mtu);
    at({ 50, 4, 1 }, m.rdc_exists);
    at({ 50, 5, 3 }, m.rnr_retry_count);
    at({ 51, 0, 4 }, m.max_cm_retries);
    at({ 51, 4, 1 }, m.srq);
    at({ 51, 5, 3 }, m.extended_transport);
    layout_path(at, 52, m.primary);
    layout_path(at, 96, m.alternate);
    at(140, m.private_data);
}

template <typename io, typename M>
std::enable_if_t<is_message<M, cm_mra>> layout(const io& at, M& m) noexcept
{
    at({ 0, 0, 32 }, m.local_comm_id);
    at({ 4, 0, 32 }, m.remote_comm_id);
    at({ 8, 0, 2 }, m.answered);
    at({ 9, 0, 5 }, m.service_timeout);
    at(10, m.private_data);
}

template <typename io, typename M>
std::enable_if_t<is_message<M, cm_rej>> layout(const io& at, M& m) noexcept
{
    at({ 0, 0, 32 }, m.local_comm_id);
    at({ 4, 0, 32 }, m.remote_comm_id);
    at({ 8, 0, 2 }, m.answered);
    length_of_72(at, { 9, 0, 7 }, m.ari_bytes);
    at({ 10, 0, 16 }, m.reason);
    at(12, m.ari);
    at(84, m.private_data);
}

template <typename io, typename M>
std::enable_if_t<is_message<M, cm_rep>> layout(const io& at, M& m) noexcept
{
    at({ 0, 0, 32 }, m.local_comm_id);
    at({ 4, 0, 32 }, m.remote_comm_id);
    at({ 8, 0, 32 }, m.local_qkey);
    at({ 12, 0, 24 }, m.local_qpn);
    at({ 16, 0, 24 }, m.local_eecn);
    at({ 20, 0, 24 }, m.starting_psn);
    at({ 24, 0, 8 }, m.responder_resources);
    at({ 25, 0, 8 }, m.initiator_depth);
    at({ 26, 0, 5 }, m.target_ack_delay);
    at({ 26, 5, 2 }, m.failover_accepted);
    at({ 26, 7, 1 }, m.end_to_end_flow_control);
    at({ 27, 0, 3 }, m.rnr_retry_count);
    at({ 27, 3, 1 }, m.srq);
    at({ 28, 0, 64 }, m.local_ca_guid);
    at(36, m.private_data);
}

template <typename io, typename M>
std::enable_if_t<is_message<M, cm_rtu> || is_message<M, cm_drep>> layout(const io& at,
                                                                         M& m) noexcept
{
    at({ 0, 0, 32 }, m.local_comm_id);
    at({ 4, 0, 32 }, m.remote_comm_id);
    at(8, m.private_data);
}

template <typename io, typename M>
std::enable_if_t<is_message<M, cm_dreq>> layout(const io& at, M& m) noexcept
{
    at({ 0, 0, 32 }, m.local_comm_id);
    at({ 4, 0, 32 }, m.remote_comm_id);
    at({ 8, 0, 24 }, m.remote_qpn);
    at(12, m.private_data);
}

template <typename io, typename M>
std::enable_if_t<is_message<M, cm_sidr_req>> layout(const io& at, M& m) noexcept
{
    at({ 0, 0, 32 }, m.request_id);
    at({ 4, 0, 16 }, m.pkey);
    at({ 8, 0, 64 }, m.service_id);
    at(16, m.private_data);
}

template <typename io, typename M>
std::enable_if_t<is_message<M, cm_sidr_rep>> layout(const io& at, M& m) noexcept
{
    at({ 0, 0, 32 }, m.request_id);
    at({ 4, 0, 8 }, m.status);
    length_of_72(at, { 5, 0, 8 }, m.additional_bytes);
    at({ 8, 0, 24 }, m.qpn);
    at({ 12, 0, 64 }, m.service_id);
    at({ 20, 0, 32 }, m.qkey);
    at(24, m.additional);
    at(96, m.private_data);
}

template <typename M>
void read(const std::byte* data, cm_message& out) noexcept
{
    layout(reader(data), out.body.emplace<M>());
}

bool read_body(std::uint16_t attribute, const std::byte* data, cm_message& out) noexcept
{
    switch (static_cast<cm_attribute>(attribute)) {
    case cm_attribute::req:
        return read<cm_req>(data, out), true;
    case cm_attribute::mra:
        return read<cm_mra>(data, out), true;
    case cm_attribute::rej:
        return read<cm_rej>(data, out), true;
    case cm_attribute::rep:
        return read<cm_rep>(data, out), true;
    case cm_attribute::rtu:
        return read<cm_rtu>(data, out), true;
    case cm_attribute::dreq:
        return read<cm_dreq>(data, out), true;
    case cm_attribute::drep:
        return read<cm_drep>(data, out), true;
    case cm_attribute::sidr_req:
        return read<cm_sidr_req>(data, out), true;
    case cm_attribute::sidr_rep:
        return read<cm_sidr_rep>(data, out), true;
    case cm_attribute::lap:
    case cm_attribute::apr:
        break;
    }
    return false;
}

} // namespace

cm_parse_status
parse_cm(const std::byte* mad, std::size_t bytes, cm_message& out) noexcept
{
    if (bytes < mad_bytes)
        return cm_parse_status::too_short;
    if (mad[0] != std::byte{ mad_base_version })
        return cm_parse_status::base_version;
    if (mad[1] != std::byte{ class_cm })
        return cm_parse_status::management_class;
    if (mad[2] != std::byte{ class_version_cm })
        return cm_parse_status::class_version;
    if (mad[3] != std::byte{ method_send })
        return cm_parse_status::method;
    out.transaction_id = load_be<std::uint64_t>(mad + 8);
    return read_body(load_be<std::uint16_t>(mad + 16), mad + mad_header_bytes, out)
               ? cm_parse_status::ok
               : cm_parse_status::attribute;
}

void write_cm(const cm_message& m, std::byte* mad) noexcept
{
    std::memset(mad, 0, mad_bytes);
    mad[0] = std::byte{ mad_base_version };
    mad[1] = std::byte{ class_cm };
    mad[2] = std::byte{ class_version_cm };
    mad[3] = std::byte{ method_send };
    store_be<std::uint64_t>(mad + 8, m.transaction_id);
    store_be<std::uint16_t>(mad + 16, static_cast<std::uint16_t>(attribute_of(m)));
    std::visit([mad](const auto& body) { layout(writer(mad + mad_header_bytes), body); },
               m.body);
}

cm_attribute attribute_of(const cm_message& m) noexcept
{
    // The alternatives of the variant stand in the order of the attributes but for none.
    return static_cast<cm_attribute>(static_cast<std::size_t>(cm_attribute::req) +
                                     m.body.index());
}

const char* to_string(cm_rej_reason reason) noexcept
{
    static constexpr const char* words[] = {
        nullptr,
        "no QP available",
        "no EE context available",
        "no resources available",
        "timeout",
        "unsupported request",
        "invalid communication ID",
        "invalid communication instance",
        "invalid service ID",
        "invalid transport service type",
        "stale connection",
        "RDC does not exist",
        "primary remote port GID rejected",
        "primary remote port LID rejected",
        "invalid primary SL",
        "invalid primary traffic class",
        "invalid primary hop limit",
        "invalid primary packet rate",
        "alternate remote port GID rejected",
        "alternate remote port LID rejected",
        "invalid alternate SL",
        "invalid alternate traffic class",
        "invalid alternate hop limit",
        "invalid alternate packet rate",
        "port and CM redirection",
        "port redirection",
        "invalid path MTU",
        "insufficient responder resources",
        "rejected by the consumer",
        "invalid RNR retry count",
        "duplicate local communication ID",
        "invalid class version",
        "invalid primary flow label",
        "invalid alternate flow label",
        nullptr,
        "vendor option not supported",
    };
    const auto number = static_cast<std::size_t>(reason);
    const bool known = number < std::size(words) && words[number] != nullptr;
    return known ? words[number] : "unknown reason";
}

const char* to_string(cm_sidr_status status) noexcept
{
    static constexpr const char* words[] = {
        "QPN valid",
        "service ID not supported",
        "rejected by the service provider",
        "no QP available",
        "redirected",
        "version not supported",
    };
    const auto number = static_cast<std::size_t>(status);
    return number < std::size(words) ? words[number] : "unknown status";
}

} // namespace wire
} // namespace rdma
} // namespace gr
