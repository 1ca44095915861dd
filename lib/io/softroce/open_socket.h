/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_OPEN_SOCKET_H
#define INCLUDED_RDMA_IO_SOFTROCE_OPEN_SOCKET_H

#include "io/softroce/addresses.h"

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

/*!
 * \brief A UDP socket, the caller's to close, on port 4791 of \p own; never fragments,
 * sends to groups by the interface of \p own, counts what the kernel drops, takes IPv6
 * packets without a checksum. Does not block.
 *
 * \param group if not unspecified, it is bound to that multicast group instead and a
 * member of it on the interface of \p own; others may be, too
 * \throws os_error names address and port, or group: in use, not usable yet, limits
 */
int open_roce_socket(const host_address& own, const wire::ip_address& group);

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_SOFTROCE_OPEN_SOCKET_H */
