/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/verbs/endpoint_addresses.h"

#include "io/verbs/endpoint_checks.h"

#include <gnuradio/rdma/error.h>
#include <sstream>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

namespace {

void refuse_wildcard(const address& own, const char* parameter)
{
    if (own.is_wildcard())
        throw config_error(
            std::string(parameter) + "='" + own.text() +
            "' is every address; endpoint='verbs' needs the one whose RDMA "
            "device it is to use");
}

address allowed_peer(const std::string& name, const address& own)
{
    const address peer = resolve(name, 0, "peers", own.get()->sa_family);
    if (peer.is_wildcard() || peer.is_multicast())
        throw config_error("peers='" + name +
                           "' is the address of no host; leave peers out to let anyone "
                           "connect");
    return peer;
}

// The listener's own address: HOST of listen, or source where listen is :PORT alone.
address listening_address(const endpoint_config& c)
{
    const bool port_alone = c.listen[0] == ':';
    const address own =
        resolve(port_alone ? c.source + c.listen : c.listen, default_port, "listen");
    refuse_wildcard(own, "listen");
    if (!c.source.empty() && !resolve(c.source, 0, "source").same_host(own))
        throw config_error("listen='" + c.listen + "' and source='" + c.source +
                           "' are two own addresses; give listen alone");
    return own;
}

} // namespace

endpoint_addresses resolve_addresses(const endpoint_config& c)
{
    endpoint_addresses out;
    if (!c.listen.empty()) {
        out.own = listening_address(c);
        std::stringstream list(c.peers);
        for (std::string name; std::getline(list, name, ',');)
            out.allowed.push_back(allowed_peer(name, out.own));
        return out;
    }
    const int family =
        c.source.empty() ? AF_UNSPEC : resolve(c.source, 0, "source").get()->sa_family;
    if (!c.connect.empty())
        out.peer = resolve(c.connect, c.qpn != 0 ? 0 : default_port, "connect", family);
    if (out.peer.is_wildcard() || out.peer.is_broadcast())
        throw config_error("connect='" + c.connect + "' is the address of no host");
    out.own = c.source.empty() ? route_source(out.peer) : resolve(c.source, 0, "source");
    out.own.set_port(0);
    refuse_wildcard(out.own, "source");
    if (out.peer.is_multicast() && c.service != service_type::ud)
        throw config_error("connect='" + c.connect +
                           "' is a multicast group, which takes service='ud'");
    if (!c.group.empty()) {
        out.group = resolve(c.group, 0, "group", out.own.get()->sa_family);
        if (!out.group.is_multicast())
            throw config_error(
                "group='" + c.group +
                "' is no multicast address; use 224.0.0.0 to "
                "239.255.255.255, of which 239.0.0.0/8 is for private use");
    }
    return out;
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
