/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_FUZZ_INPUT_H
#define INCLUDED_RDMA_FUZZ_INPUT_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

/*!
 * What must hold, whatever the input is. On failure says where and aborts, which the
 * fuzzer reports with the input that did it.
 */
#define FUZZ_REQUIRE(condition)                                                          \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            std::abort();                                                                \
        }                                                                                \
    } while (false)

//! The entry that libFuzzer calls.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes);

namespace gr {
namespace rdma {
namespace fuzz {

/*!
 * \brief The fuzzer's bytes as a script: choices are read from the front, and are 0 once
 * the input has ended.
 *
 * Borrows the bytes. A number takes as many bytes as its type has, little-endian.
 */
class input
{
public:
    input(const std::uint8_t* data, std::size_t bytes) noexcept
        : d_next(data), d_end(data + bytes)
    {
    }

    bool empty() const noexcept { return d_next == d_end; }

    std::uint8_t u8() noexcept { return empty() ? std::uint8_t{ 0 } : *d_next++; }
    std::uint16_t u16() noexcept
    {
        const unsigned low = u8();
        return static_cast<std::uint16_t>(low | unsigned{ u8() } << 8);
    }
    std::uint32_t u32() noexcept
    {
        const std::uint32_t low = u16();
        return low | std::uint32_t{ u16() } << 16;
    }
    //! 0 .. below - 1, from one byte.
    unsigned less_than(unsigned below) noexcept { return u8() % below; }

private:
    const std::uint8_t* d_next;
    const std::uint8_t* d_end;
};

} // namespace fuzz
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_FUZZ_INPUT_H */
