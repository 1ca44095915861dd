/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stop_signals.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <system_error>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace apps {

namespace {

constexpr struct {
    int number;
    const char* name;
} stopping[] = { { SIGINT, "SIGINT" }, { SIGTERM, "SIGTERM" }, { SIGHUP, "SIGHUP" } };

// What a handler may touch.
std::atomic<int> first_signal{ 0 };
int pipe_ends[2] = { -1, -1 };

void ring() noexcept
{
    const int kept = errno;
    // A full pipe wakes its reader as well.
    [[maybe_unused]] const ssize_t n = write(pipe_ends[1], "", 1);
    errno = kept;
}

extern "C" void on_stop_signal(int number)
{
    int none = 0;
    first_signal.compare_exchange_strong(none, number);
    // The others, too, kill from now on.
    for (const auto& one : stopping)
        std::signal(one.number, SIG_DFL);
    ring();
}

} // namespace

stop_signals::stop_signals()
{
    if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe2");
    struct sigaction action = {};
    action.sa_handler = on_stop_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (const auto& one : stopping) {
        struct sigaction before = {};
        sigaction(one.number, nullptr, &before);
        // nohup: the terminal may go. Shells ignore SIGINT for what runs in the
        // background.
        if (one.number != SIGHUP || before.sa_handler != SIG_IGN)
            sigaction(one.number, &action, nullptr);
    }
    std::signal(SIGPIPE, SIG_IGN);
}

int stop_signals::received() const noexcept { return first_signal.load(); }

const char* stop_signals::name() const noexcept
{
    const int number = received();
    for (const auto& one : stopping)
        if (one.number == number)
            return one.name;
    return "";
}

void stop_signals::wait(int milliseconds) noexcept
{
    if (received())
        return; // its byte may have gone to an earlier call
    pollfd fd{ pipe_ends[0], POLLIN, 0 };
    poll(&fd, 1, milliseconds);
    char bytes[64];
    while (read(pipe_ends[0], bytes, sizeof bytes) > 0) {
    }
}

void stop_signals::wake() noexcept { ring(); }

} // namespace apps
} // namespace rdma
} // namespace gr
