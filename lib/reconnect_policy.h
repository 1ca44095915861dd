/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_RECONNECT_POLICY_H
#define INCLUDED_RDMA_RECONNECT_POLICY_H

#include <cstdint>
#include <string>

namespace gr {
namespace rdma {

//! never: the stream ends with its connection. failure: it goes on after a connection
//! that failed. always: also after one that the peer closed in order.
enum class reconnect_mode : std::uint8_t { never, failure, always };

//! \throws config_error naming the parameter, the text and the words that are known
reconnect_mode parse_reconnect(const std::string& text);

/*!
 * \brief When to try again after a connection has ended. Pure; not thread-safe.
 *
 * The delay before an attempt doubles with each one in a row that brought no message:
 * 0 (or shortest_ns, if this side calls), then from shortest_ns to the longest. Who waits
 * to be called stays away for longest_listening_ns at most: a peer that comes and goes
 * must not keep others out.
 */
class reconnect_policy
{
public:
    static constexpr std::int64_t shortest_ns = 100000000;
    static constexpr std::int64_t longest_calling_ns = 10000000000;
    static constexpr std::int64_t longest_listening_ns = 1000000000;

    reconnect_policy(reconnect_mode mode, bool calls) noexcept
        : d_mode(mode), d_calls(calls)
    {
    }

    //! Whether the stream goes on. \param failed the connection failed; else the peer
    //! closed it
    bool goes_on(bool failed) const noexcept
    {
        return d_mode == reconnect_mode::always ||
               (d_mode == reconnect_mode::failure && failed);
    }
    //! A message came: the next loss is the first one again.
    void note_success() noexcept { d_in_a_row = 0; }
    //! \return nanoseconds until the next attempt
    std::int64_t next_delay_ns() noexcept;
    //! Attempts without a message since the last one.
    std::uint64_t in_a_row() const noexcept { return d_in_a_row; }
    //! Whether this attempt is worth a line in the log: the 1st, 2nd, 4th, 8th...
    bool is_news() const noexcept { return (d_in_a_row & (d_in_a_row - 1)) == 0; }

private:
    reconnect_mode d_mode;
    bool d_calls;
    std::uint64_t d_in_a_row = 0;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_RECONNECT_POLICY_H */
