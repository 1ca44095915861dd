/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_VERBS_HW_COUNTERS_H
#define INCLUDED_RDMA_IO_VERBS_HW_COUNTERS_H

#include "io/counters.h"
#include "io/verbs/verbs_api.h"

#include <array>
#include <cstdint>
#include <string>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

/*!
 * \brief What the device's port has counted since the connection was opened, as counters
 * of the endpoint.
 *
 * A device counts what no completion tells: times that no receive was posted, packets
 * asked for again. It does so for all its queue pairs together. Which names there are
 * depends on the driver; those of rxe and mlx5 are known here. One thread at a time.
 */
class hw_counters
{
public:
    //! Takes what was counted before as zero.
    void
    open(const verbs_api& api, const std::string& device, unsigned port, bool reliable);
    //! Adds what has come since. Reads sysfs, at most once in 10 ms.
    void refresh(io::counters& counts) noexcept;

private:
    static constexpr std::size_t count = 8;
    struct source {
        const char* name = nullptr; // in sysfs; nullptr: this driver has none
        std::uint64_t last = 0;
    };
    bool read(const source& s, std::uint64_t& value) const noexcept;

    const verbs_api* d_api = nullptr;
    std::string d_device;
    unsigned d_port = 0;
    std::array<source, count> d_sources{};
    std::int64_t d_next_ns = 0;
};

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_VERBS_HW_COUNTERS_H */
