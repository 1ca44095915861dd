/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_HAS_TEXT_H
#define INCLUDED_RDMA_TESTING_HAS_TEXT_H

#include <boost/test/unit_test.hpp>

#include <string>

namespace gr {
namespace rdma {
namespace testing {

//! Whether \p part stands in \p text; a test that fails by it shows both.
inline bool has(const std::string& text, const std::string& part)
{
    const bool found = text.find(part) != std::string::npos;
    if (!found)
        BOOST_TEST_MESSAGE("'" + part + "' is not in: " + text);
    return found;
}

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_HAS_TEXT_H */
