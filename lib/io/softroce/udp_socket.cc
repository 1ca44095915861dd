/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/udp_socket.h"

#include "io/softroce/open_socket.h"
#include "io/softroce/socket_address.h"
#include "io/softroce/socket_options.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

namespace {
constexpr std::size_t send_batch = 4;    // sends per system call
constexpr std::size_t gso_segments = 64; // UDP_MAX_SEGMENTS of older kernels
constexpr std::size_t gso_bytes = 65000; // below the largest UDP payload
constexpr std::size_t max_segments = send_batch * gso_segments;
constexpr std::size_t scratch_bytes = 64 * 4100; // payloads that need padding
constexpr int most_wait_ms = 100;
} // namespace

struct udp_socket::segment {
    std::byte header[wire::max_header_bytes];
    std::uint8_t header_bytes = 0;
    const std::byte* payload = nullptr; // pad included
    std::size_t payload_bytes = 0;
    std::byte icrc[wire::icrc_bytes];
    target to;
};

struct udp_socket::buffers {
    struct control {
        alignas(cmsghdr) char bytes[128];
    };
    // receiving
    std::vector<std::byte> read = std::vector<std::byte>(read_batch * read_bytes);
    mmsghdr in[read_batch];
    iovec in_iov[read_batch];
    socket_address in_name[read_batch];
    control in_control[read_batch];
    // sending
    segment segments[max_segments];
    iovec out_iov[3 * max_segments];
    mmsghdr out[send_batch];
    socket_address out_name[send_batch];
    control out_control[send_batch];
    std::size_t first[send_batch]; // segment
    std::size_t count[send_batch];
    std::size_t each[send_batch]; // bytes of a full segment
    std::size_t total[send_batch];
    bool closed[send_batch];
    std::vector<std::byte> scratch = std::vector<std::byte>(scratch_bytes);
};

udp_socket::udp_socket(const host_address& own,
                       std::uint32_t buffer_bytes,
                       bool gro,
                       const wire::ip_address& group)
    : d_fd(open_roce_socket(own, group)),
      d_at(own),
      d_buffers(std::make_unique<buffers>())
{
    if (!group.is_unspecified())
        d_at.ip = group;
    const int wanted = static_cast<int>(buffer_bytes);
    for (const int option : { SO_RCVBUF, SO_SNDBUF })
        setsockopt(d_fd, SOL_SOCKET, option, &wanted, sizeof wanted);
    int granted = 0;
    socklen_t length = sizeof granted;
    getsockopt(d_fd, SOL_SOCKET, SO_RCVBUF, &granted, &length);
    d_receive_buffer = static_cast<std::uint32_t>(granted);
    const int one = 1;
    d_gro = gro && setsockopt(d_fd, SOL_UDP, UDP_GRO, &one, sizeof one) == 0;
    const int zero = 0;
    d_gso = setsockopt(d_fd, SOL_UDP, UDP_SEGMENT, &zero, sizeof zero) == 0;
}

udp_socket::~udp_socket() { close(d_fd); }

void udp_socket::set_multicast_ttl(std::uint8_t ttl) noexcept
{
    const int value = ttl;
    if (d_at.ip.is_v4())
        setsockopt(d_fd, IPPROTO_IP, IP_MULTICAST_TTL, &value, sizeof value);
    else
        setsockopt(d_fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &value, sizeof value);
}

std::size_t udp_socket::receive(datagrams* out) noexcept
{
    buffers& b = *d_buffers;
    for (std::size_t i = 0; i < read_batch; ++i) {
        b.in_iov[i] = { b.read.data() + i * read_bytes, read_bytes };
        msghdr& m = b.in[i].msg_hdr;
        m = msghdr{};
        m.msg_name = b.in_name[i].get();
        m.msg_namelen = socket_address::room();
        m.msg_iov = &b.in_iov[i];
        m.msg_iovlen = 1;
        m.msg_control = b.in_control[i].bytes;
        m.msg_controllen = sizeof b.in_control[i].bytes;
    }
    const int n = recvmmsg(d_fd, b.in, read_batch, MSG_DONTWAIT, nullptr);
    for (int i = 0; i < n; ++i) {
        msghdr& m = b.in[i].msg_hdr;
        datagrams& d = out[i];
        d.data = b.read.data() + static_cast<std::size_t>(i) * read_bytes;
        d.bytes = b.in[i].msg_len;
        d.each = d.bytes;
        d.source = b.in_name[i].ip();
        d.source_port = b.in_name[i].port();
        for (cmsghdr* c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
            if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
                int size = 0;
                std::memcpy(&size, CMSG_DATA(c), sizeof size);
                if (size > 0)
                    d.each = static_cast<std::size_t>(size);
            } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) {
                std::memcpy(&d_kernel_drops, CMSG_DATA(c), sizeof d_kernel_drops);
            }
        }
    }
    return n > 0 ? static_cast<std::size_t>(n) : 0;
}

bool udp_socket::queue(const wire::ip_address& destination,
                       const wire::packet& packet) noexcept
{
    buffers& b = *d_buffers;
    const std::size_t padded = packet.payload_bytes + packet.bth.pad;
    if (d_segments == max_segments ||
        (packet.bth.pad != 0 && d_scratch_used + padded > scratch_bytes))
        return false;
    segment& s = b.segments[d_segments];
    s.header_bytes = static_cast<std::uint8_t>(wire::write_headers(packet, s.header));
    const std::size_t bytes = s.header_bytes + padded + wire::icrc_bytes;

    std::size_t m = d_messages;
    const bool joins = d_gso && m != 0 && !b.closed[m - 1] &&
                       b.segments[b.first[m - 1]].to.address == destination &&
                       bytes <= b.each[m - 1] && b.count[m - 1] < gso_segments &&
                       b.total[m - 1] + bytes <= gso_bytes;
    if (!joins) {
        if (m == send_batch)
            return false;
        b.first[m] = d_segments;
        b.count[m] = 0;
        b.each[m] = bytes;
        b.total[m] = 0;
        b.closed[m] = false;
        d_messages = ++m;
    }
    --m;
    s.to = { destination, packet.bth.dest_qpn };
    s.payload = packet.payload;
    s.payload_bytes = padded;
    if (packet.bth.pad != 0) {
        std::byte* copy = b.scratch.data() + d_scratch_used;
        std::memcpy(copy, packet.payload, packet.payload_bytes);
        std::memset(copy + packet.payload_bytes, 0, packet.bth.pad);
        d_scratch_used += padded;
        s.payload = copy;
    }
    seal(d_segments, static_cast<std::uint16_t>(b.count[m]));
    iovec* iov = &b.out_iov[3 * d_segments];
    iov[0] = { s.header, s.header_bytes };
    iov[1] = { const_cast<std::byte*>(s.payload), s.payload_bytes };
    iov[2] = { s.icrc, wire::icrc_bytes };
    ++b.count[m];
    b.total[m] += bytes;
    b.closed[m] = bytes < b.each[m];
    ++d_segments;
    return true;
}

wire::udp_flow udp_socket::flow_to(const wire::ip_address& destination) const noexcept
{
    return { d_at.ip, destination, wire::roce_udp_port, wire::roce_udp_port };
}

void udp_socket::seal(std::size_t index, std::uint16_t ip_id) noexcept
{
    segment& s = d_buffers->segments[index];
    const std::uint32_t icrc = wire::icrc(flow_to(s.to.address),
                                          ip_id,
                                          true,
                                          s.header,
                                          s.header_bytes,
                                          s.payload,
                                          s.payload_bytes);
    for (unsigned i = 0; i < wire::icrc_bytes; ++i)
        s.icrc[i] = static_cast<std::byte>(icrc >> (8 * i));
}

std::vector<std::byte> udp_socket::sealed(const wire::ip_address& destination,
                                          const wire::packet& packet) const
{
    std::vector<std::byte> d(wire::max_header_bytes + packet.payload_bytes +
                             packet.bth.pad + wire::icrc_bytes);
    std::size_t n = wire::write_headers(packet, d.data());
    if (packet.payload_bytes != 0)
        std::memcpy(d.data() + n, packet.payload, packet.payload_bytes);
    n += packet.payload_bytes + packet.bth.pad;
    const std::uint32_t icrc =
        wire::icrc(flow_to(destination), 0, true, d.data(), n, nullptr, 0);
    for (unsigned i = 0; i < wire::icrc_bytes; ++i)
        d[n++] = static_cast<std::byte>(icrc >> (8 * i));
    d.resize(n);
    return d;
}

bool udp_socket::send_as_is(const wire::ip_address& destination,
                            const std::vector<std::byte>& datagram) noexcept
{
    const socket_address to({ destination, d_at.interface }, wire::roce_udp_port);
    for (int waits = 0; waits < most_wait_ms; ++waits) {
        if (sendto(d_fd,
                   datagram.data(),
                   datagram.size(),
                   MSG_DONTWAIT,
                   to.get(),
                   to.bytes()) >= 0)
            return true;
        if (errno != EAGAIN && errno != ENOBUFS && errno != EINTR)
            return false;
        pollfd p{ d_fd, POLLOUT, 0 };
        poll(&p, 1, 1);
    }
    return false;
}

udp_socket::send_status udp_socket::flush() noexcept
{
    buffers& b = *d_buffers;
    for (std::size_t m = 0; m < d_messages; ++m) {
        b.out_name[m] = socket_address(
            { b.segments[b.first[m]].to.address, d_at.interface }, wire::roce_udp_port);
        msghdr& h = b.out[m].msg_hdr;
        h = msghdr{};
        h.msg_name = b.out_name[m].get();
        h.msg_namelen = b.out_name[m].bytes();
        h.msg_iov = &b.out_iov[3 * b.first[m]];
        h.msg_iovlen = 3 * b.count[m];
        if (b.count[m] > 1) {
            h.msg_control = b.out_control[m].bytes;
            h.msg_controllen = CMSG_SPACE(sizeof(std::uint16_t));
            cmsghdr* c = CMSG_FIRSTHDR(&h);
            c->cmsg_level = SOL_UDP;
            c->cmsg_type = UDP_SEGMENT;
            c->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
            const auto each = static_cast<std::uint16_t>(b.each[m]);
            std::memcpy(CMSG_DATA(c), &each, sizeof each);
        }
    }
    send_status status = send_status::sent;
    std::size_t done = 0;
    int waits = 0;
    while (done < d_messages) {
        const int n = sendmmsg(
            d_fd, b.out + done, static_cast<unsigned>(d_messages - done), MSG_DONTWAIT);
        if (n > 0) {
            done += static_cast<std::size_t>(n);
            continue;
        }
        const int code = errno;
        if (code == EINTR)
            continue;
        if ((code == EAGAIN || code == ENOBUFS) && waits++ < most_wait_ms) {
            pollfd p{ d_fd, POLLOUT, 0 };
            poll(&p, 1, 1);
            continue;
        }
        // GSO refused: no checksum offload on the way (EIO), or segments above the path's
        // MTU.
        if (b.count[done] > 1 && (code == EIO || code == EINVAL) &&
            send_one_by_one(done)) {
            d_gso = d_gso && code != EIO;
            ++done;
            continue;
        }
        d_last_error = code == EINVAL ? EMSGSIZE : code;
        d_last_failed = b.segments[b.first[done]].to;
        d_unsent += b.count[done];
        status = d_last_error == EMSGSIZE ? send_status::too_big : send_status::refused;
        ++done;
    }
    d_messages = d_segments = d_scratch_used = 0;
    return status;
}

// The same packets without segmentation: each then has IP identification 0.
bool udp_socket::send_one_by_one(std::size_t message) noexcept
{
    buffers& b = *d_buffers;
    for (std::size_t i = 0; i < b.count[message]; ++i) {
        const std::size_t index = b.first[message] + i;
        seal(index, 0);
        msghdr h{};
        h.msg_name = b.out_name[message].get();
        h.msg_namelen = b.out_name[message].bytes();
        h.msg_iov = &b.out_iov[3 * index];
        h.msg_iovlen = 3;
        while (sendmsg(d_fd, &h, MSG_DONTWAIT) < 0) {
            if (errno == EINTR)
                continue;
            if (errno != EAGAIN && errno != ENOBUFS)
                return false;
            pollfd p{ d_fd, POLLOUT, 0 };
            if (poll(&p, 1, most_wait_ms) <= 0)
                return false;
        }
    }
    return true;
}

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr
