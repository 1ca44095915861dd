/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/device.h"

#include "core/clock.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <gnuradio/rdma/error.h>
#include <map>
#include <pthread.h>
#include <random>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

namespace {

constexpr std::int64_t spin_ns = 20000; // hybrid: look this long before sleeping
constexpr std::int64_t longest_sleep_ns = 1000000000;
constexpr std::int64_t longest_goodbye_ns = 300000000;

// One device per own address in a process: they would fight for the port. Never
// destroyed: streams may outlive static destructors.
struct device_registry {
    struct entry {
        std::weak_ptr<device> users;
        bool alive = false; // until the socket is closed, some time after the last user
    };
    std::mutex mutex; // guards all of this
    std::condition_variable changed;
    std::map<std::pair<wire::ip_address, std::uint32_t>, entry> devices;
};
device_registry& registry()
{
    static auto* r = new device_registry;
    return *r;
}

void check_cpu(int cpu)
{
    if (cpu < 0)
        return;
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &allowed))
        return;
    std::string known;
    for (int c = 0; c < CPU_SETSIZE; ++c)
        if (CPU_ISSET(c, &allowed))
            known += (known.empty() ? "" : ", ") + std::to_string(c);
    throw config_error("pump_cpu=" + std::to_string(cpu) +
                       " is no CPU that this process may use; use one of " + known +
                       ", or -1 for any");
}

} // namespace

std::shared_ptr<device> device::open(const host_address& own, const device_config& config)
{
    device_registry& r = registry();
    std::unique_lock<std::mutex> lock(r.mutex);
    device_registry::entry& known = r.devices[{ own.ip, own.interface }];
    std::shared_ptr<device> existing;
    r.changed.wait(lock, [&] { return (existing = known.users.lock()) || !known.alive; });
    if (existing) {
        const bool other =
            config.receive == receive_strategy::scatter ? !existing->d_scatter
            : config.receive == receive_strategy::gro   ? !!existing->d_scatter
                                                        : false;
        if (config.cpu >= 0 && config.cpu != existing->d_config.cpu)
            throw config_error("pump_cpu=" + std::to_string(config.cpu) +
                               ": another connection of this process already has " +
                               text_of(own.ip) +
                               ", whose thread is not bound to that CPU; give all at one "
                               "address the same");
        if (other)
            throw config_error(
                "receive: another connection of this process already reads " +
                text_of(own.ip) + " by " + existing->strategy() +
                "; give all at one address the same, or auto");
        return existing;
    }
    std::shared_ptr<device> made(new device(own, config), [&r, &known](device* d) {
        delete d;
        std::lock_guard<std::mutex> gone(r.mutex);
        known.alive = false;
        r.changed.notify_all();
    });
    known.users = made;
    known.alive = true;
    return made;
}

device::device(const host_address& own, const device_config& config)
    : d_config(config),
      d_socket(own, config.buffer_bytes, config.receive != receive_strategy::scatter)
{
    check_cpu(config.cpu);
    if (config.receive == receive_strategy::gro && !d_socket.has_gro())
        throw config_error(
            "receive='gro': this kernel has no UDP GRO (Linux 5.0 has); use "
            "auto or scatter");
    if (!d_socket.has_gro())
        d_scatter = std::make_unique<scatter_reader>(d_socket.fd());
    d_eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (d_eventfd < 0)
        throw os_error(errno, "eventfd for the softroce pump");
    d_wakers = { { d_socket.fd(), POLLIN, 0 }, { d_eventfd, POLLIN, 0 } };
    d_thread = std::thread([this] { run(); });
}

device::~device()
{
    d_stop.store(true, std::memory_order_release);
    kick();
    d_thread.join();
    close(d_eventfd);
}

const char* device::strategy() const noexcept
{
    return d_scatter ? "recvmmsg scatter" : "recvmmsg with UDP GRO";
}

void device::reserve(queue_pair& qp)
{
    std::lock_guard<std::mutex> lock(d_mutex);
    if (qp.uses_cm)
        draw_qpn(qp);
    for (const queue_pair* other : d_reserved) {
        const bool both_datagrams =
            (qp.service == service_type::ud) == (other->service == service_type::ud);
        if (qp.listens && other->listens && other->port == qp.port && both_datagrams)
            throw config_error("listen: port " + std::to_string(qp.port) +
                               " is in use at " + text_of(d_socket.address()) +
                               " by another receiver of this process; give another port");
        if (other->qpn == qp.qpn)
            throw config_error(
                "qpn=" + std::to_string(qp.qpn) + " is in use at " +
                text_of(d_socket.address()) +
                " by another connection of this process; give another QPN");
    }
    d_reserved.push_back(&qp);
    count_opening();
}

// Random, so that an old peer's packets miss; 0, 1 and the last of the 24 bits are taken.
void device::draw_qpn(queue_pair& qp) const
{
    std::random_device entropy;
    const auto taken = [&](std::uint32_t qpn) {
        return std::any_of(d_reserved.begin(),
                           d_reserved.end(),
                           [&](const queue_pair* o) { return o->qpn == qpn; });
    };
    do {
        qp.qpn = entropy() & 0xffffff;
    } while (qp.qpn < 2 || qp.qpn == wire::multicast_qpn || taken(qp.qpn));
}

void device::add(queue_pair& qp)
{
    std::unique_lock<std::mutex> lock(d_mutex);
    d_wanted.push_back(&qp);
    const std::uint64_t mine = ++d_generation;
    d_changed.store(true, std::memory_order_release);
    lock.unlock();
    kick();
    lock.lock();
    d_taken_changed.wait(lock, [&] { return d_taken >= mine; });
}

void device::raise_multicast_ttl(std::uint8_t ttl) noexcept
{
    std::lock_guard<std::mutex> lock(d_mutex);
    d_multicast_ttl = std::max(d_multicast_ttl, ttl);
    d_socket.set_multicast_ttl(d_multicast_ttl);
}

void device::disconnect(queue_pair& qp) noexcept
{
    qp.leaving.store(true, std::memory_order_release);
    kick();
    std::unique_lock<std::mutex> lock(d_mutex);
    d_taken_changed.wait_for(
        lock, std::chrono::nanoseconds(longest_goodbye_ns), [&] { return qp.left; });
}

void device::remove(queue_pair& qp) noexcept
{
    std::unique_lock<std::mutex> lock(d_mutex);
    d_reserved.erase(std::remove(d_reserved.begin(), d_reserved.end(), &qp),
                     d_reserved.end());
    count_opening();
    const auto found = std::find(d_wanted.begin(), d_wanted.end(), &qp);
    if (found == d_wanted.end())
        return;
    d_wanted.erase(found);
    const std::uint64_t mine = ++d_generation;
    d_changed.store(true, std::memory_order_release);
    lock.unlock();
    kick();
    lock.lock();
    d_taken_changed.wait(lock, [&] { return d_taken >= mine; });
}

// With d_mutex held. A peer that calls one of these early is not sent away.
void device::count_opening() noexcept
{
    const auto waits = [&](const queue_pair* qp) {
        return qp->listens &&
               std::find(d_wanted.begin(), d_wanted.end(), qp) == d_wanted.end();
    };
    d_agent.opening.store(
        static_cast<unsigned>(std::count_if(d_reserved.begin(), d_reserved.end(), waits)),
        std::memory_order_release);
}

void device::take_changes() noexcept
{
    if (!d_changed.load(std::memory_order_acquire))
        return;
    std::lock_guard<std::mutex> lock(d_mutex);
    d_changed.store(false, std::memory_order_relaxed);
    for (queue_pair* qp : d_qps) {
        if (std::find(d_wanted.begin(), d_wanted.end(), qp) != d_wanted.end())
            continue;
        if (qp->faults)
            release_held(*qp, INT64_MAX);
        if (qp->listens)
            d_agent.listener_left(core::monotonic_ns());
    }
    d_qps = d_wanted;
    d_members.clear();
    d_wakers.resize(2);
    for (queue_pair* qp : d_qps)
        if (qp->group_socket) {
            d_members.push_back(qp);
            d_wakers.push_back({ qp->group_socket->fd(), POLLIN, 0 });
        }
    d_last = nullptr;
    d_taken = d_generation;
    count_opening();
    d_taken_changed.notify_all();
}

void device::kick() noexcept
{
    if (d_sleeping.fetch_add(0, std::memory_order_acq_rel) != 0) {
        const std::uint64_t one = 1;
        // Full only if it was rung 2^64 times: the pump wakes anyway.
        [[maybe_unused]] const ssize_t n = write(d_eventfd, &one, sizeof one);
    }
}

void device::run() noexcept
{
    if (d_config.cpu >= 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(d_config.cpu, &one);
        pthread_setaffinity_np(pthread_self(), sizeof one, &one); // was found possible
    }
    std::int64_t idle_since = core::monotonic_ns();
    while (!d_stop.load(std::memory_order_acquire)) {
        take_changes();
        const bool received = receive();
        const std::int64_t now = core::monotonic_ns();
        const bool served = serve(now);
        if (received || served) {
            idle_since = now;
            continue;
        }
        const std::int64_t patience = d_config.wait == wait_mode::busy    ? INT64_MAX
                                      : d_config.wait == wait_mode::event ? 0
                                                                          : spin_ns;
        if (now - idle_since >= patience) {
            sleep();
            idle_since = core::monotonic_ns();
        }
    }
    take_changes();
}

void device::sleep() noexcept
{
    d_sleeping.fetch_add(1, std::memory_order_acq_rel);
    const std::int64_t now = core::monotonic_ns();
    std::int64_t wait = longest_sleep_ns;
    for (queue_pair* qp : d_qps)
        wait = std::min({ wait,
                          qp->may_send || qp->over() ? qp->tx->ready_in(now) : INT64_MAX,
                          cm_agent::ready_in(*qp, now) });
    if (d_changed.load(std::memory_order_acquire) ||
        d_stop.load(std::memory_order_acquire))
        wait = 0;
    if (wait > 0) {
        const timespec timeout{ wait / 1000000000, wait % 1000000000 };
        ppoll(d_wakers.data(), d_wakers.size(), &timeout, nullptr);
    }
    d_sleeping.fetch_sub(1, std::memory_order_acq_rel);
    std::uint64_t rung;
    [[maybe_unused]] const ssize_t n = read(d_eventfd, &rung, sizeof rung);
}

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr
