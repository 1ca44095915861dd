/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_ENDPOINT_CHECKS_H
#define INCLUDED_RDMA_IO_SOFTROCE_ENDPOINT_CHECKS_H

#include "io/endpoint_config.h"

#include <string>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

constexpr std::uint16_t default_port = 18515; //!< of the connection manager's listener

/*!
 * \brief \p config, if a softroce endpoint can be made of it, with what it leaves open
 * filled in. Looks at the parameters alone, not at this machine's addresses. \throws
 * config_error naming the parameter, the value and what would be right
 */
endpoint_config checked(endpoint_config config);

//! The first parameter given that only RDMA devices have, as "device='rxe0'"; or "".
std::string verbs_only(const endpoint_config& config);

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_SOFTROCE_ENDPOINT_CHECKS_H */
