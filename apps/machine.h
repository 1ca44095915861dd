/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_MACHINE_H
#define INCLUDED_RDMA_APPS_MACHINE_H

#include <string>

namespace gr {
namespace rdma {
namespace apps {

//! What stands beside a measurement. A text is "unknown" where the system does not say.
struct machine_description {
    std::string cpu; //!< model name
    unsigned cpus;   //!< that this process may use
    std::string kernel;
    std::string rmem_max; //!< bytes, limit of a socket's receive buffer
    std::string load;     //!< mean over the last minute
};
machine_description describe_machine();

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_MACHINE_H */
