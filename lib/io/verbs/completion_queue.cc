/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/verbs/completion_queue.h"

#include "core/clock.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <fcntl.h>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

namespace {

constexpr int most_at_once = 64;

cq_handle extended_queue(const verbs_api& api,
                         ibv_context* context,
                         std::uint32_t entries,
                         ibv_comp_channel* channel)
{
    ibv_cq_init_attr_ex attributes{};
    attributes.cqe = entries;
    attributes.channel = channel;
    attributes.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM |
                          IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
    ibv_cq_ex* queue = api.create_cq_ex(context, &attributes);
    return { api, queue ? ibv_cq_ex_to_cq(queue) : nullptr };
}

} // namespace

completion_queue::completion_queue(const verbs_api& api,
                                   ibv_context* context,
                                   const device_facts& facts,
                                   std::uint32_t entries,
                                   const moderation_plan& moderation)
    : d_api(&api), d_context(context)
{
    errno = 0;
    d_channel = comp_channel_handle(api,
                                    checked(api.create_comp_channel(context),
                                            "ibv_create_comp_channel",
                                            "on " + facts.name));
    check_errno(fcntl(d_channel->fd, F_SETFL, fcntl(d_channel->fd, F_GETFL) | O_NONBLOCK),
                "fcntl",
                "on the completion channel of " + facts.name);
    const std::uint64_t mask = facts.device.completion_timestamp_mask;
    const std::uint64_t khz = facts.device.hca_core_clock;
    std::uint64_t ticks = 0;
    if (mask != 0 && khz != 0 && api.query_raw_clock(context, &ticks) == 0)
        d_cq = extended_queue(api, context, entries, d_channel.get());
    if (d_cq) {
        d_extended = reinterpret_cast<ibv_cq_ex*>(d_cq.get());
        d_clock = stamp_clock(khz, mask);
    } else {
        errno = 0;
        d_cq = cq_handle(
            api,
            checked(api.create_cq(context, static_cast<int>(entries), d_channel.get()),
                    "ibv_create_cq",
                    "of " + std::to_string(entries) + " entries on " + facts.name));
    }
    if (moderation.count != 0) {
        ibv_modify_cq_attr attributes{};
        attributes.attr_mask = IBV_CQ_ATTR_MODERATE;
        attributes.moderate.cq_count = moderation.count;
        attributes.moderate.cq_period = moderation.period_us;
        api.modify_cq(d_cq.get(), &attributes); // a refusal costs interrupts, no more
    }
}

completion_queue& completion_queue::operator=(completion_queue&& other) noexcept
{
    close(); // the queue before its channel
    d_api = other.d_api;
    d_context = other.d_context;
    d_channel = std::move(other.d_channel);
    d_cq = std::move(other.d_cq);
    d_extended = std::exchange(other.d_extended, nullptr);
    d_clock = other.d_clock;
    return *this;
}

void completion_queue::close() noexcept
{
    d_extended = nullptr;
    d_cq.reset();
    d_channel.reset();
}

int completion_queue::poll(work_completion* out, int max) noexcept
{
    const std::int64_t now_ns = core::realtime_ns();
    if (d_extended)
        return poll_extended(out, max, now_ns);
    ibv_wc entries[most_at_once];
    const int n = ibv_poll_cq(d_cq.get(), std::min(max, most_at_once), entries);
    for (int i = 0; i < n; ++i) {
        const ibv_wc& from = entries[i];
        work_completion& to = out[i];
        to = work_completion();
        to.wr_id = from.wr_id;
        to.status = from.status;
        to.time_ns = now_ns;
        to.vendor_error = from.vendor_err;
        if (from.status != IBV_WC_SUCCESS)
            continue; // nothing else holds
        to.opcode = from.opcode;
        to.bytes = from.byte_len;
        to.has_immediate = (from.wc_flags & IBV_WC_WITH_IMM) != 0;
        to.immediate = to.has_immediate ? ntohl(from.imm_data) : 0;
    }
    return n;
}

int completion_queue::poll_extended(work_completion* out,
                                    int max,
                                    std::int64_t now_ns) noexcept
{
    if (d_clock.wants_reading(now_ns)) {
        std::uint64_t ticks = 0;
        if (d_api->query_raw_clock(d_context, &ticks) == 0)
            d_clock.read(ticks, core::realtime_ns());
    }
    ibv_poll_cq_attr attributes{};
    int rc = ibv_start_poll(d_extended, &attributes);
    if (rc != 0)
        return rc == ENOENT ? 0 : -1;
    int n = 0;
    while (rc == 0) {
        work_completion& to = out[n++];
        to = work_completion();
        to.wr_id = d_extended->wr_id;
        to.status = d_extended->status;
        to.time_ns = now_ns;
        if (to.status == IBV_WC_SUCCESS) {
            to.opcode = ibv_wc_read_opcode(d_extended);
            to.bytes = ibv_wc_read_byte_len(d_extended);
            to.has_immediate = (ibv_wc_read_wc_flags(d_extended) & IBV_WC_WITH_IMM) != 0;
            to.immediate = to.has_immediate ? ntohl(ibv_wc_read_imm_data(d_extended)) : 0;
            to.time_ns = d_clock.time_ns(ibv_wc_read_completion_ts(d_extended), now_ns);
        } else {
            to.vendor_error = ibv_wc_read_vendor_err(d_extended);
        }
        if (n == max)
            break;
        rc = ibv_next_poll(d_extended);
    }
    ibv_end_poll(d_extended);
    return rc == 0 || rc == ENOENT ? n : -1;
}

void completion_queue::arm() noexcept { ibv_req_notify_cq(d_cq.get(), 0); }

void completion_queue::consume_events() noexcept
{
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    unsigned n = 0;
    while (d_api->get_cq_event(d_channel.get(), &cq, &context) == 0)
        ++n;
    if (n != 0)
        d_api->ack_cq_events(d_cq.get(), n);
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
