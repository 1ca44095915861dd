/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_USAGE_ERROR_H
#define INCLUDED_RDMA_APPS_USAGE_ERROR_H

#include <stdexcept>
#include <string>

namespace gr {
namespace rdma {
namespace apps {

//! The command line is wrong; what() names the flag, the value and what would be right.
//! Exit code 2.
class usage_error : public std::runtime_error
{
public:
    explicit usage_error(const std::string& what) : std::runtime_error(what) {}
};

//! Something outside the command line is wrong: a file, a disk, a peer. Exit code 1.
class run_error : public std::runtime_error
{
public:
    explicit run_error(const std::string& what) : std::runtime_error(what) {}
};

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_USAGE_ERROR_H */
