/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_VERBS_DEVICE_FINDER_H
#define INCLUDED_RDMA_IO_VERBS_DEVICE_FINDER_H

#include "io/verbs/address.h"
#include "io/verbs/handles.h"
#include "io/verbs/plan.h"

#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

/*!
 * \brief GID tables of all devices that can be opened, as they are now.
 *
 * A device that cannot be opened (no node in a container, no right, no provider) is left
 * out and named in \p unusable, if given: the others are used.
 */
std::vector<gid_row> read_gid_tables(const verbs_api& api, std::string* unusable);

//! \return how many RDMA devices the machine lists, usable or not
int count_devices(const verbs_api& api) noexcept;

/*!
 * \brief The device, port and GID for an own address, by content; config.device, ib_port
 * and gid_index narrow it down.
 * \throws os_error (ENODEV) no RDMA device, or none that opens \throws config_error as
 * choose_gid()
 */
gid_row
find_device(const verbs_api& api, const address& own, const endpoint_config& config);

//! \throws os_error it is gone, or does not open
context_handle open_device(const verbs_api& api, const std::string& name);

//! \throws os_error
device_facts facts_of(const verbs_api& api, ibv_context* context, unsigned port);

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_VERBS_DEVICE_FINDER_H */
