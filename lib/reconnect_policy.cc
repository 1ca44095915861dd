/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "reconnect_policy.h"

#include <algorithm>
#include <gnuradio/rdma/error.h>

namespace gr {
namespace rdma {

constexpr std::int64_t reconnect_policy::shortest_ns;
constexpr std::int64_t reconnect_policy::longest_calling_ns;
constexpr std::int64_t reconnect_policy::longest_listening_ns;

reconnect_mode parse_reconnect(const std::string& text)
{
    if (text == "never")
        return reconnect_mode::never;
    if (text == "failure")
        return reconnect_mode::failure;
    if (text == "always")
        return reconnect_mode::always;
    throw config_error(
        "reconnect='" + text +
        "' is unknown; use never, failure (after a connection that failed) "
        "or always (also after one that the peer closed)");
}

std::int64_t reconnect_policy::next_delay_ns() noexcept
{
    const std::uint64_t before = d_in_a_row++;
    if (!d_calls && before == 0)
        return 0;
    const std::uint64_t doublings = d_calls ? before : before - 1;
    const std::int64_t longest = d_calls ? longest_calling_ns : longest_listening_ns;
    // Seven doublings are beyond either limit.
    return std::min(shortest_ns << std::min<std::uint64_t>(doublings, 7), longest);
}

} // namespace rdma
} // namespace gr
