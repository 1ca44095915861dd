/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CORE_LOG_H
#define INCLUDED_RDMA_CORE_LOG_H

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace gr {
namespace rdma {
namespace core {

enum class log_level : std::uint8_t { debug, info, warn, error };

/*!
 * \brief Where a layer's few words go. The block that owns the layer sets it (its
 * d_logger).
 *
 * May be called from any thread the layer runs; an empty function drops the line. Layers
 * never print by themselves.
 */
using log_sink = std::function<void(log_level, const std::string&)>;

/*!
 * \brief Lets one line a second through and counts the rest: nothing logs without bound.
 *
 * Not thread-safe: one per logging thread.
 */
class rate_limit
{
public:
    //! \return true if the line may be logged now; suppressed() tells how many were not
    //! since.
    bool pass(std::int64_t now_ns) noexcept
    {
        if (d_next_ns > now_ns) {
            ++d_suppressed;
            return false;
        }
        d_next_ns = now_ns + 1000000000;
        d_reported = d_suppressed;
        d_suppressed = 0;
        return true;
    }
    std::uint64_t suppressed() const noexcept { return d_reported; }

private:
    std::int64_t d_next_ns = 0;
    std::uint64_t d_suppressed = 0;
    std::uint64_t d_reported = 0;
};

} // namespace core
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CORE_LOG_H */
