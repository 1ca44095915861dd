/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_SKIP_H
#define INCLUDED_RDMA_TESTING_SKIP_H

#include <cstdio>
#include <cstdlib>
#include <string>

namespace gr {
namespace rdma {
namespace testing {

/*!
 * \brief Leave the test program before it has run anything, as skipped (exit code 77).
 *
 * Where the environment variable RDMA_REQUIRE names \p need (a list with commas), that is
 * a failure: a machine that is there for such tests must not skip them in silence.
 */
[[noreturn]] inline void skip(const std::string& need, const std::string& why)
{
    const char* required = std::getenv("RDMA_REQUIRE");
    const bool must =
        required &&
        ("," + std::string(required) + ",").find("," + need + ",") != std::string::npos;
    std::fprintf(stderr, "%s: %s\n", must ? "FAILED" : "SKIPPED", why.c_str());
    std::fflush(stderr);
    std::_Exit(must ? 1 : 77);
}

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_SKIP_H */
