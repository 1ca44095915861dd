/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/verbs/plan.h"

#include "core/sizes.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <gnuradio/rdma/error.h>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

namespace {

constexpr std::int64_t reading_interval_ns = 1000000000;
constexpr std::uint32_t usual_mtu = 1024;

void check_depth(const char* parameter,
                 std::uint32_t wanted,
                 std::uint64_t most,
                 const char* limit,
                 const device_facts& facts)
{
    if (wanted > most)
        throw config_error(
            std::string(parameter) + "=" + std::to_string(wanted) + " is more than " +
            facts.name + " takes: its " + limit + " is " + std::to_string(most) +
            "; use that or less (recv_depth is a block's buffers, --buffers)");
}

const char* type_text(std::uint32_t type)
{
    return type == IBV_GID_TYPE_ROCE_V2   ? "RoCE v2"
           : type == IBV_GID_TYPE_ROCE_V1 ? "RoCE v1"
                                          : "InfiniBand";
}

bool same(const ibv_gid& a, const ibv_gid& b)
{
    return std::memcmp(a.raw, b.raw, sizeof a.raw) == 0;
}

bool carries(const gid_row& row, const gid_wish& wish)
{
    return same(row.entry.gid, wish.own) &&
           (wish.ifindex == 0 || row.entry.ndev_ifindex == 0 ||
            row.entry.ndev_ifindex == wish.ifindex);
}

// "; the table of GIDs:" and the rows, or that there are none.
std::string table(const std::vector<gid_row>& rows)
{
    return rows.empty()
               ? "; no RDMA device here has a GID (is its interface up?)"
               : "; the GIDs of this machine are\n" + gid_table_text(rows, nullptr);
}

const gid_row& forced_row(const std::vector<gid_row>& rows, const gid_wish& wish)
{
    const std::string given = "gid_index=" + std::to_string(wish.index);
    for (const gid_row& row : rows) {
        if (static_cast<int>(row.entry.gid_index) != wish.index ||
            (!wish.device.empty() && row.device != wish.device) ||
            (wish.port != 0 && row.entry.port_num != wish.port))
            continue;
        if (row.entry.gid_type != IBV_GID_TYPE_ROCE_V2)
            throw config_error(
                given + " of " + row.device + " is of type " +
                type_text(row.entry.gid_type) +
                ", whose packets are not RoCEv2; choose a RoCE v2 index, or "
                "leave gid_index out" +
                table(rows));
        if (!carries(row, wish)) {
            // Another device may have that index, too.
            if (wish.device.empty() &&
                std::any_of(rows.begin(), rows.end(), [&](const gid_row& other) {
                    return static_cast<int>(other.entry.gid_index) == wish.index &&
                           carries(other, wish);
                }))
                continue;
            throw config_error(given + " of " + row.device + " is " +
                               gid_text(row.entry.gid) + ", not the own address " +
                               wish.text + "; leave gid_index out" + table(rows));
        }
        return row;
    }
    throw config_error(given + " is not in the table of GIDs" +
                       (wish.device.empty() ? "" : " of " + wish.device) + table(rows));
}

} // namespace

queue_plan plan_queues(const endpoint_config& config, const device_facts& facts)
{
    const ibv_device_attr& limits = facts.device.orig_attr;
    queue_plan plan;
    plan.recv_requests = config.recv_depth;
    plan.send_requests = config.send_depth + 1; // and one that asks for a sign of life
    plan.recv_entries = config.recv_depth;
    plan.send_entries = plan.send_requests;
    plan.recv_pieces = 1 + (config.header_bytes != 0 ? 1 : 0) +
                       (config.service == service_type::ud ? 1 : 0);
    check_depth("recv_depth",
                config.recv_depth,
                static_cast<std::uint64_t>(std::max(limits.max_qp_wr, 0)),
                "max_qp_wr",
                facts);
    check_depth("send_depth",
                config.send_depth,
                static_cast<std::uint64_t>(std::max(limits.max_qp_wr - 1, 0)),
                "max_qp_wr less one",
                facts);
    check_depth("recv_depth",
                config.recv_depth,
                static_cast<std::uint64_t>(std::max(limits.max_cqe, 0)),
                "max_cqe",
                facts);
    check_depth("send_depth",
                config.send_depth,
                static_cast<std::uint64_t>(std::max(limits.max_cqe - 1, 0)),
                "max_cqe less one",
                facts);
    if (static_cast<int>(plan.recv_pieces) > limits.max_sge)
        throw config_error("header_bytes=" + std::to_string(config.header_bytes) +
                           " needs " + std::to_string(plan.recv_pieces) +
                           " pieces a receive, and the max_sge of " + facts.name +
                           " is " + std::to_string(limits.max_sge) +
                           "; use header_bytes=0");
    return plan;
}

std::uint32_t mtu_bytes(ibv_mtu code) noexcept
{
    return code >= IBV_MTU_256 && code <= IBV_MTU_4096 ? 128u << code : 0;
}

ibv_mtu mtu_code(std::uint32_t bytes) noexcept
{
    int code = IBV_MTU_256;
    while (code < IBV_MTU_4096 && (128u << code) < bytes)
        ++code;
    return static_cast<ibv_mtu>(code);
}

std::uint32_t plan_mtu(std::uint32_t wanted, const device_facts& facts)
{
    const std::uint32_t fits = mtu_bytes(facts.port_attributes.active_mtu);
    if (wanted > fits)
        throw config_error(
            "mtu=" + std::to_string(wanted) + " does not fit port " +
            std::to_string(facts.port) + " of " + facts.name + ", whose active MTU is " +
            std::to_string(fits) +
            "; use that, or raise the interface's MTU (4200 for mtu=4096)");
    return wanted != 0 ? wanted : std::min(usual_mtu, fits);
}

std::uint8_t ack_timeout_code(std::int64_t ns) noexcept
{
    std::uint8_t code = 1;
    while (code < 31 && (INT64_C(4096) << code) < ns)
        ++code;
    return code;
}

std::string gid_text(const ibv_gid& gid)
{
    char text[INET6_ADDRSTRLEN] = "";
    inet_ntop(AF_INET6, gid.raw, text, sizeof text);
    return text;
}

std::string gid_table_text(const std::vector<gid_row>& rows, const gid_row* mark)
{
    std::string text;
    for (const gid_row& row : rows)
        text += std::string(&row == mark ? "* " : "  ") + row.device + " port " +
                std::to_string(row.entry.port_num) + " index " +
                std::to_string(row.entry.gid_index) + ": " + gid_text(row.entry.gid) +
                ", " + type_text(row.entry.gid_type) + "\n";
    if (!text.empty())
        text.pop_back();
    return text;
}

const gid_row& choose_gid(const std::vector<gid_row>& rows, const gid_wish& wish)
{
    if (wish.index >= 0)
        return forced_row(rows, wish);
    const gid_row* elsewhere = nullptr;
    const gid_row* other_type = nullptr;
    bool device_known = wish.device.empty();
    for (const gid_row& row : rows) {
        device_known = device_known || row.device == wish.device;
        if (!carries(row, wish))
            continue;
        if (row.entry.gid_type != IBV_GID_TYPE_ROCE_V2)
            other_type = &row;
        else if ((!wish.device.empty() && row.device != wish.device) ||
                 (wish.port != 0 && row.entry.port_num != wish.port))
            elsewhere = &row;
        else
            return row;
    }
    if (!device_known)
        throw config_error("device='" + wish.device + "' is not there, or has no GID" +
                           table(rows));
    if (elsewhere)
        throw config_error((elsewhere->device != wish.device && !wish.device.empty()
                                ? "device='" + wish.device + "'"
                                : "ib_port=" + std::to_string(wish.port)) +
                           " has not the address " + wish.text + ", which is on port " +
                           std::to_string(elsewhere->entry.port_num) + " of " +
                           elsewhere->device + "; name that one, or none" + table(rows));
    if (other_type)
        throw config_error("the address " + wish.text + " has no RoCE v2 GID on " +
                           other_type->device + ", only one of type " +
                           type_text(other_type->entry.gid_type) +
                           "; this endpoint speaks RoCE v2 alone" + table(rows));
    throw config_error(
        "the address " + wish.text +
        " is on no RDMA device; use one that is, or endpoint='softroce', which "
        "needs none" +
        table(rows));
}

std::string memlock_problem(std::uint64_t bytes,
                            std::uint64_t limit,
                            bool unlimited,
                            std::uint64_t slot_bytes)
{
    if (unlimited || bytes <= limit)
        return "";
    std::string text =
        core::human_bytes(bytes) +
        " of memory must be locked for the RDMA device, and RLIMIT_MEMLOCK "
        "(ulimit -l) of this process is " +
        core::human_bytes(limit);
    if (slot_bytes != 0)
        text += ": " + std::to_string(limit / slot_bytes) + " buffers of " +
                core::human_bytes(slot_bytes) + " fit";
    return text + "; raise the limit (LimitMEMLOCK= in systemd, "
                  "/etc/security/limits.conf), or use a smaller ring";
}

moderation_plan plan_moderation(wait_mode wait,
                                std::uint32_t depth,
                                const ibv_cq_moderation_caps& caps) noexcept
{
    moderation_plan plan;
    if (wait == wait_mode::busy || caps.max_cq_count == 0 || caps.max_cq_period == 0)
        return plan;
    // A quarter of the queue, so that it never runs dry behind an interrupt held back;
    // and no message waits longer for it than a thread's waking takes anyway.
    plan.count = static_cast<std::uint16_t>(
        std::min<std::uint32_t>({ depth / 4, 16, caps.max_cq_count }));
    plan.period_us = std::min<std::uint16_t>(16, caps.max_cq_period);
    if (plan.count < 2)
        plan = moderation_plan();
    return plan;
}

void stamp_clock::read(std::uint64_t ticks, std::int64_t now_ns) noexcept
{
    d_ticks = ticks & d_mask;
    d_at_ns = now_ns;
    d_next_ns = now_ns + reading_interval_ns;
}

std::int64_t stamp_clock::time_ns(std::uint64_t ticks, std::int64_t now_ns) const noexcept
{
    if (d_khz == 0 || d_next_ns == 0)
        return now_ns;
    // Distance on a counter that wraps: the shorter way round.
    const std::uint64_t ahead = (ticks - d_ticks) & d_mask;
    const std::uint64_t behind = (d_ticks - ticks) & d_mask;
    const auto ns = [this](std::uint64_t n) {
        return static_cast<std::int64_t>(static_cast<double>(n) * 1e6 /
                                         static_cast<double>(d_khz));
    };
    return std::min(now_ns, ahead <= behind ? d_at_ns + ns(ahead) : d_at_ns - ns(behind));
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
