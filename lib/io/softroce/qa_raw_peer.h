/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_QA_RAW_PEER_H
#define INCLUDED_RDMA_IO_SOFTROCE_QA_RAW_PEER_H

#include "testing/datagram.h"

#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

//! A peer that says what it is told to: a plain UDP socket on port 4791.
class raw_peer
{
public:
    raw_peer(const std::string& own, const std::string& peer)
        : d_fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0))
    {
        d_flow.source = number(own);
        d_flow.destination = number(peer);
        d_flow.source_port = d_flow.destination_port = wire::roce_udp_port;
        const sockaddr_in a = address(d_flow.source);
        BOOST_REQUIRE(::bind(d_fd, reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0);
    }
    ~raw_peer() { ::close(d_fd); }
    raw_peer(const raw_peer&) = delete;
    raw_peer& operator=(const raw_peer&) = delete;

    const wire::ipv4_flow& flow() const { return d_flow; }

    void send(const testing::datagram& d)
    {
        const sockaddr_in a = address(d_flow.destination);
        const ssize_t n = ::sendto(
            d_fd, d.data(), d.size(), 0, reinterpret_cast<const sockaddr*>(&a), sizeof a);
        BOOST_REQUIRE(n == ssize_t(d.size()));
    }
    //! \return false: nothing came in time
    bool receive(testing::datagram& out, int timeout_ms)
    {
        pollfd p{ d_fd, POLLIN, 0 };
        if (::poll(&p, 1, timeout_ms) != 1)
            return false;
        out.resize(65536);
        const ssize_t n = ::recv(d_fd, out.data(), out.size(), 0);
        out.resize(n > 0 ? std::size_t(n) : 0);
        return n >= 0;
    }

private:
    static std::uint32_t number(const std::string& text)
    {
        return ntohl(::inet_addr(text.c_str()));
    }
    static sockaddr_in address(std::uint32_t number)
    {
        sockaddr_in a{};
        a.sin_family = AF_INET;
        a.sin_port = htons(wire::roce_udp_port);
        a.sin_addr.s_addr = htonl(number);
        return a;
    }

    const int d_fd;
    wire::ipv4_flow d_flow;
};

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_SOFTROCE_QA_RAW_PEER_H */
