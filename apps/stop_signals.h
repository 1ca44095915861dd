/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_STOP_SIGNALS_H
#define INCLUDED_RDMA_APPS_STOP_SIGNALS_H

namespace gr {
namespace rdma {
namespace apps {

/*!
 * \brief SIGINT, SIGTERM and SIGHUP (a terminal that has gone; not under nohup) as
 * something to look at and to wait for; SIGPIPE ignored, so that a closed pipe is an
 * error of the write.
 *
 * A second signal has its ordinary effect: it kills. One object per process, made before
 * any thread; it is never undone. received() and wake() from any thread, wait() from one.
 */
class stop_signals
{
public:
    //! \throws std::system_error no pipe to be had
    stop_signals();
    stop_signals(const stop_signals&) = delete;
    stop_signals& operator=(const stop_signals&) = delete;

    //! The first signal, or 0.
    int received() const noexcept;
    //! "SIGINT", "SIGTERM", "SIGHUP", or "" if none came.
    const char* name() const noexcept;
    //! Sleep for at most \p milliseconds, until a signal, or until wake(); not at all
    //! once a signal has come.
    void wait(int milliseconds) noexcept;
    //! End the wait() in progress, or the next one.
    void wake() noexcept;
};

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_STOP_SIGNALS_H */
