/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_QA_RAW_PEER_H
#define INCLUDED_RDMA_IO_SOFTROCE_QA_RAW_PEER_H

#include "io/softroce/socket_address.h"
#include "io/softroce/socket_options.h"
#include "testing/datagram.h"

#include <boost/test/unit_test.hpp>

#include <poll.h>
#include <string>
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
        : d_to(resolve_host(peer, "peer"), wire::roce_udp_port)
    {
        const socket_address from(resolve_host(own, "own"), wire::roce_udp_port);
        d_flow = { from.ip(), d_to.ip(), wire::roce_udp_port, wire::roce_udp_port };
        d_fd = ::socket(from.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0);
        BOOST_REQUIRE(::bind(d_fd, from.get(), from.bytes()) == 0);
    }
    ~raw_peer() { ::close(d_fd); }
    raw_peer(const raw_peer&) = delete;
    raw_peer& operator=(const raw_peer&) = delete;

    const wire::udp_flow& flow() const { return d_flow; }
    int fd() const { return d_fd; }

    void send(const testing::datagram& d)
    {
        const ssize_t n = ::sendto(d_fd, d.data(), d.size(), 0, d_to.get(), d_to.bytes());
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
    int d_fd;
    socket_address d_to;
    wire::udp_flow d_flow;
};

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_SOFTROCE_QA_RAW_PEER_H */
