/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_LOSSY_LINK_H
#define INCLUDED_RDMA_IO_LOSSY_LINK_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace gr {
namespace rdma {
namespace io {

//! Rates are the share of datagrams, 0 to 1, drawn one by one.
struct lossy_link_config {
    //! Does it do any harm? If not, there is no need for it.
    bool harms() const noexcept
    {
        return drop > 0 || duplicate > 0 || reorder > 0 || corrupt > 0 || delay_ns > 0;
    }

    std::uint32_t seed = 1;
    double drop = 0;
    double duplicate = 0;
    double reorder = 0; //!< held back by up to hold_ns, so that later ones overtake it
    double corrupt = 0; //!< one bit turned
    std::int64_t delay_ns = 0; //!< for each
    std::int64_t hold_ns = 200000;
};

/*!
 * \brief One direction of a bad network: tests put it between machines on simulated time,
 * and `gr-rdma send` between itself and its socket.
 *
 * The same seed and the same calls give the same losses. Time only matters in comparison:
 * whoever steps it asks next_ns(). Owns the datagrams it holds. Not thread-safe.
 */
class lossy_link
{
public:
    using datagram = std::vector<std::byte>; //!< UDP payload: BTH to ICRC

    explicit lossy_link(const lossy_link_config& config)
        : d_config(config), d_random(config.seed)
    {
    }

    void send(datagram d, std::int64_t now_ns)
    {
        ++sent;
        if (chance(d_config.drop)) {
            ++dropped;
            return;
        }
        if (chance(d_config.duplicate)) {
            ++duplicated;
            hold(d, now_ns);
        }
        if (chance(d_config.corrupt)) {
            ++corrupted;
            const std::size_t bit = d_random() % (8 * d.size());
            d[bit / 8] ^= std::byte(1u << bit % 8);
        }
        if (chance(d_config.reorder)) {
            ++reordered;
            hold(std::move(d), now_ns);
        } else {
            d_in_flight.emplace(now_ns + d_config.delay_ns, std::move(d));
        }
    }

    //! \return false: nothing has arrived by now
    bool receive(datagram& out, std::int64_t now_ns)
    {
        if (d_in_flight.empty() || d_in_flight.begin()->first > now_ns)
            return false;
        out = std::move(d_in_flight.begin()->second);
        d_in_flight.erase(d_in_flight.begin());
        return true;
    }

    //! When the next datagram arrives; INT64_MAX: none is under way.
    std::int64_t next_ns() const
    {
        return d_in_flight.empty() ? INT64_MAX : d_in_flight.begin()->first;
    }

    // What happened, datagrams.
    std::uint64_t sent = 0;
    std::uint64_t dropped = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t reordered = 0;
    std::uint64_t corrupted = 0;

private:
    bool chance(double share)
    {
        // Not std::bernoulli_distribution: its draws differ between libraries.
        return d_random() < share * 4294967296.0;
    }
    void hold(datagram d, std::int64_t now_ns)
    {
        const auto held = static_cast<std::int64_t>(d_random() % d_config.hold_ns);
        d_in_flight.emplace(now_ns + d_config.delay_ns + held, std::move(d));
    }

    const lossy_link_config d_config;
    std::mt19937 d_random;
    std::multimap<std::int64_t, datagram> d_in_flight; // equal times keep their order
};

} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_LOSSY_LINK_H */
