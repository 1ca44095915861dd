/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/sample.h"

#include <gnuradio/rdma/error.h>
#include <iterator>

namespace gr {
namespace rdma {
namespace core {

namespace {
struct row {
    const char* name;
    std::size_t bytes;
};
// In the order of the enum.
constexpr row rows[] = {
    { "cu8", 2 }, { "sc8", 2 }, { "sc16", 4 }, { "fc32", 8 }, { "byte", 1 }
};
} // namespace

std::size_t sample_bytes(sample_type type) noexcept
{
    return rows[static_cast<std::size_t>(type)].bytes;
}

const char* to_string(sample_type type) noexcept
{
    return rows[static_cast<std::size_t>(type)].name;
}

sample_type
parse_sample(const std::string& text, const char* parameter, const char* choices)
{
    for (std::size_t i = 0; i < std::size(rows); ++i)
        if (text == rows[i].name)
            return static_cast<sample_type>(i);
    throw config_error(std::string(parameter) + "='" + text +
                       "' is no sample type; use " + choices);
}

} // namespace core
} // namespace rdma
} // namespace gr
