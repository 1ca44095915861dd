/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_SPINNING_MUTEX_H
#define INCLUDED_RDMA_SPINNING_MUTEX_H

#include <gnuradio/thread/thread.h>
#include <pthread.h>

namespace gr {
namespace rdma {

/*!
 * \brief Let \p mutex spin before it sleeps, where the C library knows such mutexes.
 *
 * For a buffer's mutex, at which a reader and its writer meet after each write. Each
 * holds it for a fraction of a microsecond; who sleeps for it, as GNU Radio's mutexes
 * have it, is back after twenty.
 *
 * Only before anybody has, or waits for, the mutex. It stays as it is where the system
 * refuses.
 */
inline void have_it_spin_first(gr::thread::mutex& mutex)
{
#ifdef __GLIBC__
    pthread_mutexattr_t attributes;
    if (pthread_mutexattr_init(&attributes) != 0)
        return;
    if (pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP) == 0) {
        pthread_mutex_destroy(mutex.native_handle());
        pthread_mutex_init(mutex.native_handle(), &attributes);
    }
    pthread_mutexattr_destroy(&attributes);
#else
    (void)mutex;
#endif
}

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_SPINNING_MUTEX_H */
