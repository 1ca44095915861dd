/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mem/ring_bytes.h"

#include "core/sizes.h"

#include <gnuradio/rdma/error.h>

#include <algorithm>
#include <numeric>

namespace gr {
namespace rdma {
namespace mem {

namespace {

constexpr std::uint64_t rounding_limit_bytes = 256ULL << 20;

bool reasonable(std::uint64_t unit, std::uint64_t page, std::uint64_t limit)
{
    const std::uint64_t step = common_multiple(unit, page);
    return step != 0 && step <= limit;
}

// The unit nearest to `unit` that shares enough factors with the page.
std::uint64_t nearest_unit(std::uint64_t unit, std::uint64_t page, std::uint64_t limit)
{
    for (std::uint64_t factor = 2; factor < page; factor *= 2) {
        const std::uint64_t down = unit / factor * factor;
        const std::uint64_t up = down + factor;
        const bool down_works = down != 0 && reasonable(down, page, limit);
        const bool up_works = reasonable(up, page, limit);
        if (down_works && (!up_works || unit - down <= up - unit))
            return down;
        if (up_works)
            return up;
    }
    return core::round_up(unit, page);
}

} // namespace

std::uint64_t common_multiple(std::uint64_t unit, std::uint64_t page)
{
    std::uint64_t product;
    if (__builtin_mul_overflow(unit / std::gcd(unit, page), page, &product))
        return 0;
    return product;
}

std::string with_bytes(std::uint64_t bytes)
{
    return std::to_string(bytes) + " bytes (" + core::human_bytes(bytes) + ")";
}

std::uint64_t whole_ring_bytes(std::uint64_t min_bytes,
                               std::uint64_t unit_bytes,
                               std::uint64_t page_bytes,
                               const char* where)
{
    if (unit_bytes == 0)
        throw config_error(
            "unit_bytes=0: a ring needs an item or slot of at least 1 byte");
    const std::uint64_t wanted = std::max<std::uint64_t>(min_bytes, 1);
    if (wanted > std::uint64_t(INT64_MAX) / 4)
        throw out_of_memory(std::string("a ") + where + " ring of " + with_bytes(wanted) +
                            " is longer than the address space");
    const std::uint64_t limit = std::max(2 * wanted, rounding_limit_bytes);
    if (!reasonable(unit_bytes, page_bytes, limit))
        throw config_error(
            "an item or slot of " + std::to_string(unit_bytes) +
            " bytes: the shortest ring of whole items and whole pages of " +
            std::to_string(page_bytes) + " bytes is " +
            std::to_string(unit_bytes / std::gcd(unit_bytes, page_bytes)) +
            " pages, more than " + core::human_bytes(limit) +
            "; the nearest size that works is " +
            std::to_string(nearest_unit(unit_bytes, page_bytes, limit)) + " bytes");
    return core::round_up(wanted, common_multiple(unit_bytes, page_bytes));
}

} // namespace mem
} // namespace rdma
} // namespace gr
