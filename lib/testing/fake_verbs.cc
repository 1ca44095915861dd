/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// What tests ask of the fake devices.
#include "testing/fake_world.h"

#include <arpa/inet.h>
#include <cstring>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace testing {

fake_world* fake_world::current = nullptr;

namespace {

using lock = std::lock_guard<std::mutex>;

ibv_gid gid_from(const std::string& text)
{
    ibv_gid gid{};
    in_addr v4{};
    if (inet_pton(AF_INET, text.c_str(), &v4) == 1) {
        gid.raw[10] = gid.raw[11] = 0xff;
        std::memcpy(gid.raw + 12, &v4, 4);
    } else {
        inet_pton(AF_INET6, text.c_str(), gid.raw);
    }
    return gid;
}

} // namespace

int fake_world::enter(const char* call)
{
    log.push_back(call);
    const unsigned n = ++counts[call];
    auto& of_call = failures[call];
    const auto found = of_call.find(n);
    if (found == of_call.end())
        return 0;
    const int code = found->second;
    of_call.erase(found);
    return code;
}

fake_context* fake_world::open(fake_device& device)
{
    auto* c = new fake_context;
    c->device = &device;
    c->context.device = &device.device;
    c->context.async_fd = event_descriptor();
    fill_operations(c->context);
    contexts.insert(c);
    return c;
}

void fake_world::close(fake_context* context)
{
    ::close(context->context.async_fd);
    contexts.erase(context);
    delete context;
}

fake_device* fake_world::device_with(const ibv_gid& gid)
{
    for (fake_device& d : devices)
        for (const ibv_gid_entry& e : d.gids)
            if (std::memcmp(e.gid.raw, gid.raw, sizeof gid.raw) == 0)
                return &d;
    return nullptr;
}

fake_verbs::fake_verbs() : d_world(std::make_unique<fake_world>())
{
    fake_world::current = d_world.get();
    fill_objects(d_world->api);
    fill_queues(d_world->api);
    fill_cm(d_world->api);
    fill_cm_events(d_world->api);
    device_options first;
    first.name = "fake0";
    first.addresses = { "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2" };
    add_device(first);
    io::verbs::replace_verbs(&d_world->api);
}

fake_verbs::~fake_verbs()
{
    io::verbs::replace_verbs(nullptr);
    for (const auto& c : d_world->cm_contexts)
        d_world->close(c.second);
    fake_world::current = nullptr;
}

void fake_verbs::add_device(const device_options& o)
{
    const lock l(d_world->mutex);
    fake_device& d = d_world->devices.emplace_back();
    d.options = o;
    std::strncpy(d.device.name, o.name.c_str(), sizeof d.device.name - 1);
    unsigned index = 0;
    for (const std::string& address : o.addresses) {
        for (const unsigned type : { IBV_GID_TYPE_ROCE_V1, IBV_GID_TYPE_ROCE_V2 }) {
            ibv_gid_entry e{};
            e.gid = gid_from(address);
            e.gid_index = index++;
            e.port_num = 1;
            e.gid_type = type;
            if (type == IBV_GID_TYPE_ROCE_V1 || !o.roce_v1_only)
                d.gids.push_back(e);
        }
        index += 2; // a gap
    }
    for (const char* name : { "send_rnr_err", "rcvd_rnr_err", "sent_pkts", "rcvd_pkts" })
        d_world->hw[o.name][name] = 1000; // from before
}

void fake_verbs::remove_devices()
{
    const lock l(d_world->mutex);
    d_world->devices.clear();
}

void fake_verbs::set_dma_buf(bool takes)
{
    const lock l(d_world->mutex);
    d_world->devices.front().options.dma_buf = takes;
}

void fake_verbs::set_relaxed(bool takes)
{
    const lock l(d_world->mutex);
    d_world->devices.front().options.relaxed = takes;
}

void fake_verbs::set_device_memory(std::function<bool(const void*)> is_device, int code)
{
    const lock l(d_world->mutex);
    d_world->is_device_memory = std::move(is_device);
    d_world->device_memory_code = code;
}

void fake_verbs::move_gids()
{
    const lock l(d_world->mutex);
    for (fake_device& d : d_world->devices)
        for (ibv_gid_entry& e : d.gids)
            e.gid_index += 4;
}

void fake_verbs::fail(const std::string& call, unsigned nth, int code)
{
    const lock l(d_world->mutex);
    d_world->failures[call][d_world->counts[call] + nth] = code;
}

std::map<std::string, unsigned> fake_verbs::calls() const
{
    const lock l(d_world->mutex);
    return d_world->counts;
}

std::vector<std::string> fake_verbs::log() const
{
    const lock l(d_world->mutex);
    return d_world->log;
}

void fake_verbs::async_event(ibv_event_type type)
{
    const lock l(d_world->mutex);
    const auto add = [&](ibv_context* c, const ibv_async_event& e) {
        reinterpret_cast<fake_context*>(c)->events.push_back(e);
        ring_descriptor(c->async_fd);
    };
    ibv_async_event e{};
    e.event_type = type;
    if (type == IBV_EVENT_CQ_ERR) {
        for (fake_cq* cq : d_world->cqs) {
            e.element.cq = cq->cq();
            add(cq->extended.context, e);
        }
    } else if (type <= IBV_EVENT_PATH_MIG_ERR) {
        for (const auto& qp : d_world->qps) {
            e.element.qp = qp.second;
            add(qp.second->context, e);
        }
    } else {
        e.element.port_num = 1;
        for (fake_context* c : d_world->contexts)
            add(&c->context, e);
    }
}

void fake_verbs::fail_completion(std::uint32_t qpn,
                                 ibv_wc_status status,
                                 std::uint32_t vendor)
{
    const lock l(d_world->mutex);
    fake_qp& qp = *d_world->qps.at(qpn);
    qp.next_status = status;
    qp.next_vendor = vendor;
}

void fake_verbs::cut_off(std::uint32_t qpn)
{
    const lock l(d_world->mutex);
    d_world->qps.at(qpn)->cut_off = true;
    for (fake_id* id : d_world->ids)
        if (id->qp_num == qpn && id->other) {
            id->other->other = nullptr;
            id->other = nullptr;
        }
}

void fake_verbs::break_down(std::uint32_t qpn)
{
    const lock l(d_world->mutex);
    d_world->to_error(*d_world->qps.at(qpn));
}

std::map<ibv_qp_state, ibv_qp_attr> fake_verbs::attributes_of(std::uint32_t qpn) const
{
    const lock l(d_world->mutex);
    return d_world->qps.at(qpn)->attributes;
}

std::vector<std::uint32_t> fake_verbs::qpns() const
{
    const lock l(d_world->mutex);
    std::vector<std::uint32_t> all;
    for (const auto& qp : d_world->qps)
        all.push_back(qp.first);
    return all;
}

std::map<std::string, int> fake_verbs::alive() const
{
    const lock l(d_world->mutex);
    std::map<std::string, int> all;
    const auto count = [&](const char* kind, std::size_t n) {
        if (n != 0)
            all[kind] = static_cast<int>(n);
    };
    count("context", d_world->contexts.size() - d_world->cm_contexts.size());
    count("pd", d_world->pds.size());
    count("mr", d_world->mrs.size());
    count("comp_channel", d_world->channels.size());
    count("cq", d_world->cqs.size());
    count("qp", d_world->qps.size());
    count("ah", d_world->ahs.size());
    count("event_channel", d_world->event_channels.size());
    count("cm_id", d_world->ids.size());
    return all;
}

std::string fake_verbs::problems() const
{
    std::string text;
    for (const auto& kind : alive())
        text += std::to_string(kind.second) + " " + kind.first + " left; ";
    const lock l(d_world->mutex);
    for (const std::string& p : d_world->problems)
        text += p + "; ";
    return text;
}

const io::verbs::verbs_api& fake_verbs::api() const noexcept { return d_world->api; }

} // namespace testing
} // namespace rdma
} // namespace gr
