/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_SOFTROCE_CM_WORDS_H
#define INCLUDED_RDMA_IO_SOFTROCE_CM_WORDS_H

#include "io/softroce/queue_pair.h"

#include <string>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

//! Why \p qp, whose connection or query has failed or was refused, has no peer; with what
//! people can do. For status_text().
std::string failure_text(const queue_pair& qp);

//! What \p qp refused of what its peer sent, and what to change; empty: nothing.
std::string refusal_text(const queue_pair& qp);
//! Static: the peer answers, and waits for another PSN than the first one of ours.
std::string elsewhere_text(const queue_pair& qp);

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_SOFTROCE_CM_WORDS_H */
