/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The objects of libibverbs that only come and go, and events of the device.
#include "testing/fake_world.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace testing {

namespace {

using lock = std::lock_guard<std::mutex>;

fake_world& world() { return *fake_world::current; }

template <typename T>
T* refused(int code)
{
    errno = code;
    return nullptr;
}

int fork_init()
{
    const lock l(world().mutex);
    return world().enter("ibv_fork_init");
}

ibv_device** get_device_list(int* count)
{
    const lock l(world().mutex);
    if (const int code = world().enter("ibv_get_device_list"))
        return refused<ibv_device*>(code);
    auto** list = new ibv_device*[world().devices.size() + 1];
    int n = 0;
    for (fake_device& d : world().devices)
        list[n++] = &d.device;
    list[n] = nullptr;
    *count = n;
    return list;
}

void free_device_list(ibv_device** list) { delete[] list; }

const char* get_device_name(ibv_device* device) { return device->name; }

ibv_context* open_device(ibv_device* device)
{
    const lock l(world().mutex);
    if (const int code = world().enter("ibv_open_device"))
        return refused<ibv_context>(code);
    for (fake_device& d : world().devices)
        if (&d.device == device)
            return d.options.opens ? &world().open(d)->context
                                   : refused<ibv_context>(EACCES);
    return refused<ibv_context>(ENODEV);
}

int close_device(ibv_context* context)
{
    const lock l(world().mutex);
    world().enter("ibv_close_device");
    for (const fake_pd* pd : world().pds)
        if (pd->context == context)
            world().problem("ibv_close_device with a protection domain");
    world().close(reinterpret_cast<fake_context*>(context));
    return 0;
}

int query_device_ex(ibv_context* context, ibv_device_attr_ex* a)
{
    const lock l(world().mutex);
    if (const int code = world().enter("ibv_query_device_ex"))
        return code;
    const auto& o = reinterpret_cast<fake_context*>(context)->device->options;
    *a = ibv_device_attr_ex();
    a->orig_attr.max_qp_wr = o.max_qp_wr;
    a->orig_attr.max_cqe = 32768;
    a->orig_attr.max_sge = o.max_sge;
    a->orig_attr.phys_port_cnt = 1;
    if (o.stamps) {
        a->completion_timestamp_mask = UINT64_C(0xffffffffffff);
        a->hca_core_clock = 1000000;
    }
    if (o.has_moderation)
        a->cq_mod_caps = { 1000, 1000 };
    return 0;
}

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* a)
{
    const lock l(world().mutex);
    if (const int code = world().enter("ibv_query_port"))
        return code;
    if (port != 1)
        return EINVAL;
    *a = ibv_port_attr();
    a->state = IBV_PORT_ACTIVE;
    a->active_mtu = reinterpret_cast<fake_context*>(context)->device->options.mtu;
    a->max_msg_sz = 1u << 30;
    a->gid_tbl_len = 32;
    return 0;
}

ssize_t query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t room)
{
    const lock l(world().mutex);
    if (const int code = world().enter("ibv_query_gid_table"))
        return -code;
    const auto& gids = reinterpret_cast<fake_context*>(context)->device->gids;
    const std::size_t n = std::min(room, gids.size());
    std::copy_n(gids.begin(), n, entries);
    return static_cast<ssize_t>(n);
}

int query_raw_clock(ibv_context*, std::uint64_t* ticks)
{
    const lock l(world().mutex);
    if (const int code = world().enter("ibv_query_rt_values_ex"))
        return code;
    *ticks = static_cast<std::uint64_t>(
        std::chrono::steady_clock::now().time_since_epoch().count());
    return 0;
}

bool read_hw_counter(const char* device, unsigned, const char* name, std::uint64_t* value)
{
    const lock l(world().mutex);
    auto& counters = world().hw[device];
    const auto found = counters.find(name);
    if (found == counters.end())
        return false;
    *value = found->second;
    return true;
}

ibv_pd* alloc_pd(ibv_context* context)
{
    const lock l(world().mutex);
    if (const int code = world().enter("ibv_alloc_pd"))
        return refused<ibv_pd>(code);
    auto* pd = new fake_pd;
    pd->context = context;
    world().pds.insert(pd);
    return pd;
}

int dealloc_pd(ibv_pd* p)
{
    const lock l(world().mutex);
    auto* pd = static_cast<fake_pd*>(p);
    world().enter("ibv_dealloc_pd");
    if (pd->users != 0)
        world().problem("ibv_dealloc_pd while " + std::to_string(pd->users) + " use it");
    world().pds.erase(pd);
    delete pd;
    return 0;
}

ibv_mr* new_mr(ibv_pd* pd, void* address, std::size_t bytes, unsigned access)
{
    auto* mr = new fake_mr;
    mr->context = pd->context;
    mr->pd = pd;
    mr->addr = address;
    mr->length = bytes;
    mr->access = access;
    mr->lkey = mr->rkey = world().next_key++;
    ++static_cast<fake_pd*>(pd)->users;
    world().mrs[mr->lkey] = mr;
    return mr;
}

const fake_verbs::device_options& options_of(ibv_pd* pd)
{
    return reinterpret_cast<fake_context*>(pd->context)->device->options;
}

ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t bytes, unsigned access)
{
    const lock l(world().mutex);
    if (const int code = world().enter("ibv_reg_mr"))
        return refused<ibv_mr>(code);
    if ((access & IBV_ACCESS_RELAXED_ORDERING) && !options_of(pd).relaxed)
        return refused<ibv_mr>(EOPNOTSUPP);
    if (world().device_memory_code != 0 && world().is_device_memory(address))
        return refused<ibv_mr>(world().device_memory_code);
    return new_mr(pd, address, bytes, access);
}

// As the kernel checks: the file, the rights that it may have, the page offsets.
ibv_mr* reg_dmabuf_mr(ibv_pd* pd,
                      std::uint64_t offset,
                      std::size_t bytes,
                      std::uint64_t iova,
                      int fd,
                      int access)
{
    const lock l(world().mutex);
    if (const int code = world().enter("ibv_reg_dmabuf_mr"))
        return refused<ibv_mr>(code);
    constexpr int allowed = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                            IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                            IBV_ACCESS_RELAXED_ORDERING;
    if (!options_of(pd).dma_buf)
        return refused<ibv_mr>(EOPNOTSUPP);
    if ((access & IBV_ACCESS_RELAXED_ORDERING) && !options_of(pd).relaxed)
        return refused<ibv_mr>(EOPNOTSUPP);
    const off_t length = lseek(fd, 0, SEEK_END);
    if (length < 0)
        return refused<ibv_mr>(EBADF);
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    if ((access & ~allowed) != 0 || iova % page != offset % page || bytes == 0 ||
        offset + bytes > static_cast<std::uint64_t>(length))
        return refused<ibv_mr>(EINVAL);
    return new_mr(
        pd, reinterpret_cast<void*>(iova), bytes, static_cast<unsigned>(access));
}

// Whether something is mapped there.
bool is_there(void* address)
{
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    unsigned char resident;
    return mincore(reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address) /
                                           page * page),
                   1,
                   &resident) == 0;
}

int dereg_mr(ibv_mr* m)
{
    const lock l(world().mutex);
    auto* mr = static_cast<fake_mr*>(m);
    world().enter("ibv_dereg_mr");
    if (!is_there(mr->addr))
        world().problem("ibv_dereg_mr of memory that has gone");
    for (const auto& qp : world().qps)
        for (const fake_recv& r : qp.second->receives)
            for (const ibv_sge& piece : r.pieces)
                if (piece.lkey == mr->lkey)
                    world().problem("ibv_dereg_mr under a posted receive");
    --static_cast<fake_pd*>(mr->pd)->users;
    world().mrs.erase(mr->lkey);
    delete mr;
    return 0;
}

ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attributes)
{
    const lock l(world().mutex);
    if (const int code = world().enter("ibv_create_ah"))
        return refused<ibv_ah>(code);
    auto* ah = new fake_ah;
    ah->context = pd->context;
    ah->pd = pd;
    ah->attributes = *attributes;
    ++static_cast<fake_pd*>(pd)->users;
    world().ahs.insert(ah);
    return ah;
}

int destroy_ah(ibv_ah* a)
{
    const lock l(world().mutex);
    auto* ah = static_cast<fake_ah*>(a);
    world().enter("ibv_destroy_ah");
    --static_cast<fake_pd*>(ah->pd)->users;
    world().ahs.erase(ah);
    delete ah;
    return 0;
}

int get_async_event(ibv_context* c, ibv_async_event* event)
{
    const lock l(world().mutex);
    auto* context = reinterpret_cast<fake_context*>(c);
    if (!take_from_descriptor(context->context.async_fd))
        return -1;
    *event = context->events.front();
    context->events.pop_front();
    ++context->unacknowledged;
    return 0;
}

void ack_async_event(ibv_async_event*)
{
    const lock l(world().mutex);
    for (fake_context* c : world().contexts)
        c->unacknowledged = 0;
}

} // namespace

std::string fake_gid_text(const ibv_gid& gid)
{
    char text[INET6_ADDRSTRLEN] = "";
    inet_ntop(AF_INET6, gid.raw, text, sizeof text);
    return text;
}

int event_descriptor() { return eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE | EFD_NONBLOCK); }

void ring_descriptor(int fd)
{
    const std::uint64_t one = 1;
    if (write(fd, &one, sizeof one) != sizeof one)
        errno = 0;
}

bool take_from_descriptor(int fd)
{
    std::uint64_t one;
    return read(fd, &one, sizeof one) == sizeof one; // else errno is EAGAIN
}

void fill_objects(io::verbs::verbs_api& a)
{
    a.fork_init = fork_init;
    a.get_device_list = get_device_list;
    a.free_device_list = free_device_list;
    a.get_device_name = get_device_name;
    a.open_device = open_device;
    a.close_device = close_device;
    a.query_device_ex = query_device_ex;
    a.query_port = query_port;
    a.query_gid_table = query_gid_table;
    a.query_raw_clock = query_raw_clock;
    a.read_hw_counter = read_hw_counter;
    a.alloc_pd = alloc_pd;
    a.dealloc_pd = dealloc_pd;
    a.reg_mr = reg_mr;
    a.reg_dmabuf_mr = reg_dmabuf_mr;
    a.dereg_mr = dereg_mr;
    a.create_ah = create_ah;
    a.destroy_ah = destroy_ah;
    a.get_async_event = get_async_event;
    a.ack_async_event = ack_async_event;
}

} // namespace testing
} // namespace rdma
} // namespace gr
