/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_MEM_REGION_H
#define INCLUDED_RDMA_MEM_REGION_H

#include <cstddef>
#include <cstdint>
#include <memory>

namespace gr {
namespace rdma {
namespace mem {

enum class memory_kind : std::uint8_t { host, cuda };

/*!
 * \brief Plain description of memory that an endpoint may write into. Owns nothing.
 *
 * The memory must outlive every registration made from it. \p bytes is the length of one
 * mapping; a ring mapped twice describes its first mapping only, since no slot wraps.
 */
struct region {
    memory_kind kind = memory_kind::host;
    int device = -1;           //!< CUDA ordinal, or -1 for host memory
    std::byte* host = nullptr; //!< CPU address, nullptr where the CPU cannot store
    std::uint64_t address = 0; //!< what a tag shows: CPU or device address of byte 0
    std::uint64_t bytes = 0;
};

/*!
 * \brief A ring whose memory is mapped twice in a row: a span that starts anywhere in
 * [0, bytes) may run for up to bytes without wrapping.
 *
 * Owns the memory and both mappings; uninitialised except where a subclass says
 * otherwise. Positions live elsewhere (ring_cursor): a ring never knows what is in it.
 */
class ring_memory
{
public:
    virtual ~ring_memory() = default;
    //! The first mapping. Byte i is also at i + bytes.
    virtual region first_mapping() const noexcept = 0;
    //! What the size was rounded up to, bytes.
    virtual std::uint64_t granularity() const noexcept = 0;
    /*!
     * \brief Writes zeros into [offset, offset + bytes), over the end of the first
     * mapping if need be. Done when it returns; nobody else may touch the span meanwhile.
     *
     * \throws config_error offset is outside the ring, or bytes is more than all of it
     */
    virtual void zero(std::uint64_t offset, std::uint64_t bytes) = 0;
};

} // namespace mem
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_MEM_REGION_H */
