/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/verbs/verbs_endpoint.h"

#include "core/clock.h"
#include "io/verbs/device_finder.h"
#include "io/verbs/endpoint_checks.h"

#include <algorithm>
#include <cstdlib>
#include <gnuradio/rdma/error.h>
#include <poll.h>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

namespace {

constexpr std::int64_t spin_ns = 10000; // hybrid: look this long before sleeping
constexpr std::int64_t longest_wait_ns = INT64_C(1) << 60; // keeps sums in range
constexpr std::int64_t drain_ns = 20000000;                // for the flushed completions

/*
 * Once a process, before anything is registered. Fork: the child's copy-on-write must not
 * move registered pages away. Scatter to CQE: mlx5 would put a message of up to 64 bytes
 * into the completion, for the CPU to copy into memory that may be a GPU's; longer ones
 * are not concerned, so nothing is lost by having none of it. The variable is used and
 * not mlx5dv, which would tie the module to one provider's library.
 */
void prepare_process(const verbs_api& api)
{
    static const bool once = [&api] {
        setenv("MLX5_SCATTER_TO_CQE", "0", 0);
        api.fork_init();
        return true;
    }();
    (void)once;
}

} // namespace

verbs_endpoint::verbs_endpoint(const endpoint_config& config, const verbs_api& api)
    : d_config(checked(config)),
      d_api(api),
      d_session(d_config, d_counts),
      d_transport(api, d_config),
      d_receives(d_session, d_transport),
      d_sends(d_session, d_transport)
{
    std::string text = std::string("verbs ") + to_string(d_config.service);
    if (d_config.qpn != 0)
        text += " static, " + (d_config.source.empty() ? "any" : d_config.source) +
                " <-> " + (d_config.connect.empty() ? "any" : d_config.connect);
    else
        text += d_config.listen.empty() ? ", connecting to " + d_config.connect
                                        : ", listening on " + d_config.listen;
    d_description = text;
}

verbs_endpoint::~verbs_endpoint() { stop(); }

void verbs_endpoint::open()
{
    std::lock_guard<std::mutex> lock(d_mutex);
    open_unlocked();
}

void verbs_endpoint::open_unlocked()
{
    if (d_session.stopped.load())
        throw config_error("the endpoint was stopped; make a new one");
    if (d_open.load())
        return;
    prepare_process(d_api);
    d_addresses = resolve_addresses(d_config);
    const gid_row row = find_device(d_api, d_addresses.own, d_config);
    try {
        open_device_of(row);
    } catch (...) {
        d_transport.close();
        d_cm.reset();
        d_hub.reset();
        throw;
    }
    d_open.store(true, std::memory_order_release);
    announce(row);
    if (d_config.qpn != 0 && d_config.tell_qpn)
        d_config.tell_qpn(d_transport.qpn());
}

void verbs_endpoint::open_device_of(const gid_row& row)
{
    context_handle owned;
    ibv_context* context = nullptr;
    if (d_config.qpn == 0) {
        d_cm = std::make_unique<cm_connection>(
            d_api, d_session, d_transport, d_receives, d_sends);
        d_cm->allow(d_addresses.allowed);
        context = d_cm->open(d_addresses.own, d_addresses.peer);
        const std::string taken = d_api.get_device_name(context->device);
        if (taken != row.device)
            throw config_error("device='" + row.device + "': rdma_cm takes " + taken +
                               " for the address " + d_addresses.own.text() +
                               "; name that one, or none");
    } else {
        owned = open_device(d_api, row.device);
        context = owned.get();
    }
    const device_facts facts = facts_of(d_api, context, row.entry.port_num);
    if (facts.port_attributes.state != IBV_PORT_ACTIVE)
        d_session.log(core::log_level::warn,
                      async_event_words(IBV_EVENT_PORT_ERR, facts.name, facts.port));
    connection_names names;
    names.own = d_addresses.own.text();
    names.device = facts.name;
    names.peer = d_addresses.peer ? d_addresses.peer.text() : "any";
    d_session.set_names(names);
    d_transport.open(std::move(owned), context, facts);
    d_hub = async_hub::of(d_api, context);
    std::lock_guard<std::mutex> lock(d_hw_mutex);
    d_hw.open(d_api, facts.name, facts.port, d_config.service == service_type::rc);
}

void verbs_endpoint::announce(const gid_row& row)
{
    const std::string where = row.device + " port " + std::to_string(row.entry.port_num) +
                              ", GID index " + std::to_string(row.entry.gid_index) +
                              " (" + gid_text(row.entry.gid) + ")";
    d_session.log(core::log_level::info, "verbs: " + where);
    const std::uint32_t qpn = d_transport.qpn();
    if (d_config.qpn != 0 && d_config.qpn != qpn && !d_config.tell_qpn)
        d_session.log(core::log_level::warn,
                      "qpn=" + hex(d_config.qpn) + ": the device has chosen " + hex(qpn) +
                          "; that is what the peer must be given as remote_qpn");
    std::lock_guard<std::mutex> lock(d_text_mutex);
    d_description += ", " + where + ", qpn " + hex(qpn);
}

void verbs_endpoint::start()
{
    std::lock_guard<std::mutex> lock(d_mutex);
    if (d_started)
        throw config_error(d_session.stopped.load()
                               ? "the endpoint was stopped; make a new one"
                               : "the endpoint was started before; make a new one");
    open_unlocked();
    {
        std::lock_guard<std::mutex> recv_lock(d_receives.mutex);
        d_receives.bind(false);
    }
    d_started = true;
    d_session.set_state(endpoint_state::connecting, "");
    try {
        if (d_cm) {
            d_cm->start();
        } else {
            d_static = std::make_unique<static_connection>(
                d_api, d_session, d_transport, d_sends);
            d_static->start(d_addresses.own, d_addresses.peer);
        }
        if (d_addresses.group) {
            d_member = std::make_unique<multicast_member>(d_api, d_session, d_transport);
            d_member->start(d_addresses.own, d_addresses.group);
        }
        d_hub->join(*this);
        d_watcher = std::thread([this] { watch(); });
    } catch (const std::exception& e) {
        d_session.fail(e.what());
        throw;
    }
}

bool verbs_endpoint::sends_to_somebody() const noexcept
{
    if (d_config.qpn == 0)
        return d_config.service != service_type::ud || d_config.listen.empty();
    return !d_config.connect.empty() &&
           (d_config.remote_qpn != 0 || d_config.ask_remote_qpn ||
            d_config.service == service_type::ud);
}

std::size_t verbs_endpoint::post_recv(const recv_slot* slots, std::size_t n) noexcept
{
    std::lock_guard<std::mutex> lock(d_receives.mutex);
    return d_session.stopped.load() || d_session.over() ? 0 : d_receives.post(slots, n);
}

std::size_t verbs_endpoint::poll(completion* out, std::size_t max) noexcept
{
    std::lock_guard<std::mutex> lock(d_receives.mutex);
    d_receives.harvest();
    return d_receives.take(out, max);
}

std::size_t verbs_endpoint::post_send(const send_request* requests,
                                      std::size_t n) noexcept
{
    if (!sends_to_somebody())
        return 0;
    std::lock_guard<std::mutex> lock(d_sends.mutex);
    return d_session.stopped.load() || d_session.over() ? 0 : d_sends.post(requests, n);
}

std::size_t verbs_endpoint::poll_send(send_completion* out, std::size_t max) noexcept
{
    std::lock_guard<std::mutex> lock(d_sends.mutex);
    d_sends.harvest();
    return d_sends.take(out, max);
}

void verbs_endpoint::sleep(completion_queue* cq,
                           waker& bell,
                           std::int64_t until_ns) noexcept
{
    pollfd fds[2] = { { bell.fd(), POLLIN, 0 }, { cq ? cq->fd() : -1, POLLIN, 0 } };
    const std::int64_t left_ns =
        std::max<std::int64_t>(until_ns - core::monotonic_ns(), 0);
    const timespec left = { static_cast<time_t>(left_ns / 1000000000),
                            static_cast<long>(left_ns % 1000000000) };
    if (ppoll(fds, 2, &left, nullptr) <= 0)
        return;
    if (fds[0].revents)
        bell.clear();
    if (fds[1].revents)
        cq->consume_events();
}

template <typename Queue>
bool verbs_endpoint::wait(std::mutex& owner,
                          Queue& queue,
                          completion_queue& cq,
                          waker& bell,
                          std::int64_t timeout_ns) noexcept
{
    std::lock_guard<std::mutex> waiting(owner); // stop() waits for who is in here
    const bool has_cq = d_open.load(std::memory_order_acquire);
    const endpoint_state before = state();
    const std::int64_t start_ns = core::monotonic_ns();
    const std::int64_t until_ns = start_ns + std::min(timeout_ns, longest_wait_ns);
    const std::int64_t spin_until_ns = d_config.wait == wait_mode::busy ? until_ns
                                       : d_config.wait == wait_mode::hybrid
                                           ? std::min(until_ns, start_ns + spin_ns)
                                           : start_ns;
    bool ready = false;
    const auto done = [&] {
        if (d_session.stopped.load(std::memory_order_acquire)) {
            std::lock_guard<std::mutex> lock(queue.mutex);
            ready = queue.ready();
            return true;
        }
        std::lock_guard<std::mutex> lock(queue.mutex);
        ready = queue.harvest();
        return ready || state() != before;
    };
    while (!done()) {
        const std::int64_t now_ns = core::monotonic_ns();
        if (now_ns >= until_ns)
            break;
        if (now_ns < spin_until_ns)
            continue;
        if (has_cq)
            cq.arm(); // before the last look: what came earlier is not announced
        if (done())
            break;
        sleep(has_cq ? &cq : nullptr, bell, until_ns);
    }
    return ready;
}

bool verbs_endpoint::wait_readable(std::int64_t timeout_ns) noexcept
{
    return wait(
        d_reading, d_receives, d_transport.recv_cq, d_session.readable, timeout_ns);
}

bool verbs_endpoint::wait_sendable(std::int64_t timeout_ns) noexcept
{
    return wait(d_sending, d_sends, d_transport.send_cq, d_session.sendable, timeout_ns);
}

std::string verbs_endpoint::description() const
{
    std::lock_guard<std::mutex> lock(d_text_mutex);
    return d_description;
}

// Nobody counts but who looks at the completion queues, so that is done here, too.
const io::counters& verbs_endpoint::counters() const noexcept
{
    {
        std::unique_lock<std::mutex> lock(d_receives.mutex, std::try_to_lock);
        if (lock)
            d_receives.harvest();
    }
    {
        std::unique_lock<std::mutex> lock(d_sends.mutex, std::try_to_lock);
        if (lock)
            d_sends.harvest();
    }
    std::unique_lock<std::mutex> lock(d_hw_mutex, std::try_to_lock);
    if (lock)
        d_hw.refresh(d_counts);
    return d_counts;
}

void verbs_endpoint::stop() noexcept
{
    std::lock_guard<std::mutex> lock(d_mutex);
    if (d_session.stopped.exchange(true))
        return;
    d_stop_watching.store(true);
    d_session.wake_all();
    if (d_watcher.joinable())
        d_watcher.join();
    if (d_hub)
        d_hub->leave(*this);
    if (d_cm)
        d_cm->stop();
    if (d_member)
        d_member->stop();
    // Who waits has been woken and is on its way out.
    std::lock_guard<std::mutex> reading(d_reading);
    std::lock_guard<std::mutex> sending(d_sending);
    d_transport.to_error();
    drain();
    std::lock_guard<std::mutex> recv_lock(d_receives.mutex);
    std::lock_guard<std::mutex> send_lock(d_sends.mutex);
    d_transport.close_queue_pair(); // from here on the device touches no memory
    d_receives.flush();
    d_sends.flush();
    d_transport.close();
    d_hub.reset();
    if (d_started)
        d_session.set_state(endpoint_state::idle, "");
    d_session.wake_all();
    d_open.store(false);
    d_started = true; // never again
}

// What had arrived before stop() is still handed out; the rest comes back flushed.
void verbs_endpoint::drain() noexcept
{
    const std::int64_t until_ns = core::monotonic_ns() + drain_ns;
    while (d_open.load()) {
        std::uint64_t left = 0;
        {
            std::lock_guard<std::mutex> lock(d_receives.mutex);
            d_receives.harvest();
            left += d_receives.outstanding();
        }
        {
            std::lock_guard<std::mutex> lock(d_sends.mutex);
            d_sends.harvest();
            left += d_sends.outstanding();
        }
        if (left == 0 || core::monotonic_ns() > until_ns)
            return;
        std::this_thread::yield();
    }
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
