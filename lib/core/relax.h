/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_CORE_RELAX_H
#define INCLUDED_RDMA_CORE_RELAX_H

namespace gr {
namespace rdma {
namespace core {

//! Tells the core, and its other hardware thread, that this is a loop that waits.
inline void relax() noexcept
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
}

} // namespace core
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_CORE_RELAX_H */
