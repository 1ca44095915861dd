/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_API_H
#define INCLUDED_RDMA_API_H

/*!
 * RDMA_API marks what the shared library exports. Everything else is hidden.
 */
#if defined(__GNUC__)
#define RDMA_API __attribute__((visibility("default")))
#else
#define RDMA_API
#endif

#endif /* INCLUDED_RDMA_API_H */
