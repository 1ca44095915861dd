/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_VERBS_ENDPOINT_CHECKS_H
#define INCLUDED_RDMA_IO_VERBS_ENDPOINT_CHECKS_H

#include "io/endpoint_config.h"
#include "io/verbs/verbs_api.h"

#include <string>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

constexpr std::uint16_t default_port = 18515; //!< of the connection manager's listener

/*!
 * \brief \p config itself, if a verbs endpoint can be made of it. Looks at the parameters
 * alone, at no device and no address. \throws config_error naming the parameter, the
 * value and what would be right
 */
const endpoint_config& checked(const endpoint_config& config);

//! Whether `auto` takes a verbs endpoint, and why.
struct choice {
    bool verbs = false;
    std::string why;
};
/*!
 * \brief Verbs where the own address (of listen, of source, or the one that routes to
 * connect) lies on an RDMA device and a verbs endpoint can do what is asked. Never throws
 * for an address that cannot be resolved: that is for the endpoint to say. Cheap on a
 * machine without RDMA devices.
 */
choice choose(const verbs_api& api, const endpoint_config& config);

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_VERBS_ENDPOINT_CHECKS_H */
