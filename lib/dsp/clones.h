/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_DSP_CLONES_H
#define INCLUDED_RDMA_DSP_CLONES_H

// A function compiled per instruction set where the tool chain can choose at load time.
// Clones are chosen by an ifunc resolver, which runs before a sanitizer's runtime is up.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && \
    !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&          \
    !defined(__SANITIZE_THREAD__)
#define RDMA_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define RDMA_CLONES
#endif

#endif /* INCLUDED_RDMA_DSP_CLONES_H */
