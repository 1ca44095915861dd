/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_ROCE_OPCODES_H
#define INCLUDED_RDMA_TESTING_ROCE_OPCODES_H

#include <cstddef>
#include <map>
#include <string>

namespace gr {
namespace rdma {
namespace testing {

/*
 * Table 38 of the specification, written out: D DETH, R RETH, A AETH, I ImmDt, C
 * AtomicETH, K AtomicAckETH, P payload; S send, W write; < starts a message, > ends it.
 */
inline const std::map<unsigned, std::string> table38{
    // RC
    { 0x00, "SP<" },
    { 0x01, "SP" },
    { 0x02, "SP>" },
    { 0x03, "SIP>" },
    { 0x04, "SP<>" },
    { 0x05, "SIP<>" },
    { 0x06, "WRP<" },
    { 0x07, "WP" },
    { 0x08, "WP>" },
    { 0x09, "WIP>" },
    { 0x0a, "WRP<>" },
    { 0x0b, "WRIP<>" },
    { 0x0c, "R" },
    { 0x0d, "AP<" },
    { 0x0e, "P" },
    { 0x0f, "AP>" },
    { 0x10, "AP<>" },
    { 0x11, "A" },
    { 0x12, "AK" },
    { 0x13, "C" },
    { 0x14, "C" },
    // UC
    { 0x20, "SP<" },
    { 0x21, "SP" },
    { 0x22, "SP>" },
    { 0x23, "SIP>" },
    { 0x24, "SP<>" },
    { 0x25, "SIP<>" },
    { 0x26, "WRP<" },
    { 0x27, "WP" },
    { 0x28, "WP>" },
    { 0x29, "WIP>" },
    { 0x2a, "WRP<>" },
    { 0x2b, "WRIP<>" },
    // UD
    { 0x64, "SDP<>" },
    { 0x65, "SDIP<>" },
};

inline bool has(const std::string& entry, char what)
{
    return entry.find(what) != entry.npos;
}

inline std::size_t header_bytes_of(const std::string& entry)
{
    return 12u + 8u * has(entry, 'D') + 16u * has(entry, 'R') + 4u * has(entry, 'A') +
           4u * has(entry, 'I') + 28u * has(entry, 'C') + 8u * has(entry, 'K');
}

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_ROCE_OPCODES_H */
