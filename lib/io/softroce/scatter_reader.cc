/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/scatter_reader.h"

#include "io/softroce/socket_address.h"
#include "io/softroce/socket_options.h"

#include <algorithm>
#include <cstring>
#include <sys/uio.h>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

namespace {
// Headers, one MTU and more, so that a datagram that is too long shows as such.
constexpr std::size_t around_bytes = 8192;
} // namespace

struct scatter_reader::buffers {
    struct control {
        alignas(cmsghdr) char bytes[64];
    };
    std::byte edge[batch][wire::bth_bytes + wire::icrc_bytes + around_bytes];
    std::byte whole[batch][around_bytes];
    iovec parts[batch][3];
    mmsghdr messages[batch];
    socket_address names[batch];
    control controls[batch];
};

scatter_reader::scatter_reader(int fd) : d_buffers(std::make_unique<buffers>()), d_fd(fd)
{
}

scatter_reader::~scatter_reader() = default;

std::size_t
scatter_reader::read(std::byte* at, std::size_t room, std::size_t mtu) noexcept
{
    buffers& b = *d_buffers;
    d_planned = 0;
    for (std::size_t i = 0; i < batch; ++i) {
        const std::size_t payload = at ? std::min(mtu, room) : 0;
        std::byte* const edge = b.edge[i];
        std::size_t parts = 1;
        if (payload != 0) {
            b.parts[i][0] = { edge, wire::bth_bytes };
            b.parts[i][1] = { at, payload };
            b.parts[i][2] = { edge + wire::bth_bytes,
                              sizeof b.edge[i] - wire::bth_bytes };
            parts = 3;
            at += payload;
            room -= payload;
            ++d_planned;
        } else {
            b.parts[i][0] = { edge, sizeof b.edge[i] };
        }
        msghdr& m = b.messages[i].msg_hdr;
        m = msghdr{};
        m.msg_name = b.names[i].get();
        m.msg_namelen = socket_address::room();
        m.msg_iov = b.parts[i];
        m.msg_iovlen = parts;
        m.msg_control = b.controls[i].bytes;
        m.msg_controllen = sizeof b.controls[i].bytes;
    }
    const int n = recvmmsg(d_fd, b.messages, batch, MSG_DONTWAIT, nullptr);
    for (int i = 0; i < n; ++i) {
        msghdr& m = b.messages[i].msg_hdr;
        for (cmsghdr* c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
            if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL)
                std::memcpy(&d_kernel_drops, CMSG_DATA(c), sizeof d_kernel_drops);
    }
    return n > 0 ? static_cast<std::size_t>(n) : 0;
}

std::size_t scatter_reader::bytes(std::size_t i) const noexcept
{
    return d_buffers->messages[i].msg_len;
}

wire::ip_address scatter_reader::source(std::size_t i) const noexcept
{
    return d_buffers->names[i].ip();
}

std::uint16_t scatter_reader::source_port(std::size_t i) const noexcept
{
    return d_buffers->names[i].port();
}

bool scatter_reader::as_guessed(std::size_t i,
                                const std::byte*& header,
                                const std::byte*& payload,
                                std::size_t& payload_bytes) const noexcept
{
    const buffers& b = *d_buffers;
    if (i >= d_planned)
        return false;
    payload_bytes = b.parts[i][1].iov_len;
    if (bytes(i) != wire::bth_bytes + payload_bytes + wire::icrc_bytes)
        return false;
    header = b.edge[i]; // the ICRC follows the BTH there
    payload = static_cast<const std::byte*>(b.parts[i][1].iov_base);
    return true;
}

const std::byte* scatter_reader::gather(std::size_t i) noexcept
{
    buffers& b = *d_buffers;
    if (i >= d_planned)
        return b.edge[i]; // was read in one piece
    // No RoCEv2 packet is longer than this; of what is, the end is not needed.
    std::size_t left = std::min(bytes(i), sizeof b.whole[i]);
    std::byte* to = b.whole[i];
    for (const iovec& part : b.parts[i]) {
        const std::size_t n = std::min(left, part.iov_len);
        std::memcpy(to, part.iov_base, n);
        to += n;
        left -= n;
    }
    return b.whole[i];
}

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr
