/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ring_device.h"

#include "writer_wake.h"

#include <algorithm>

namespace gr {
namespace rdma {

namespace {
thread_local bool device_thread = false;
} // namespace

void ring_device::mark_thread(bool is_device) noexcept { device_thread = is_device; }
bool ring_device::thread_is_device() noexcept { return device_thread; }

ring_device::ring_device(std::shared_ptr<mem::gpu> gpu,
                         const mem::region& ring,
                         std::size_t item_bytes,
                         writer who,
                         std::shared_ptr<mem::pinned_mirror> mirror,
                         std::weak_ptr<gr::block> wakes)
    : d_gpu(std::move(gpu)),
      d_ring(ring),
      d_item_bytes(item_bytes),
      d_who(who),
      d_mirror(std::move(mirror)),
      d_host_base(d_mirror ? d_mirror->first_mapping().host : nullptr),
      d_wake(std::make_unique<wake_ticket>(std::move(wakes))),
      d_copies(d_gpu->make_stream()),
      d_waits(d_gpu->make_stream()),
      d_ready(d_gpu->make_event()),
      d_pending_copies(*d_gpu)
{
}

ring_device::~ring_device()
{
    d_copies->synchronize();
    // After a fault the driver does not say whether it will call.
    if (d_waits->synchronize() != 0 && d_wake->armed)
        d_wake.release();
}

void ring_device::need_mirror()
{
    // An integrated GPU's ring is the host's memory already.
    if (d_host_base)
        return;
    if (d_ring.host) {
        d_host_base = d_ring.host;
        return;
    }
    d_mirror = std::make_shared<mem::pinned_mirror>(d_gpu, d_ring.bytes);
    d_host_base = d_mirror->first_mapping().host;
}

ring_device::reader* ring_device::find(const void* key) noexcept
{
    for (const auto& r : d_readers)
        if (r->key == key)
            return r.get();
    return nullptr;
}

void ring_device::attach(const void* key,
                         mem::gpu_stream* stream,
                         std::uint64_t position,
                         std::shared_ptr<const kernel_log> log)
{
    detach(key);
    d_readers.push_back(std::unique_ptr<reader>(
        new reader{ key, stream, pending_work(*d_gpu, std::move(log)), false, 0 }));
    d_readers.back()->work.restart(position);
}

void ring_device::detach(const void* key) noexcept
{
    // After a fault nobody may ever call for what the writer waits for, and it goes now.
    if (const reader* const r = find(key); r && r->work.has(d_awaited)) {
        look_after_writer();
        d_awaited = nullptr;
    }
    d_readers.erase(std::remove_if(d_readers.begin(),
                                   d_readers.end(),
                                   [key](const auto& r) { return r->key == key; }),
                    d_readers.end());
}

int ring_device::begin_work(const void* key, std::uint64_t position, bool& asked) noexcept
{
    reader* const r = find(key);
    if (!r)
        return 0;
    if (r->work.idle())
        r->work.restart(position);
    r->working = true;
    if (r->waited == d_writes)
        return 0;
    r->waited = d_writes;
    asked = true;
    const int code = r->stream->wait(*d_ready);
    note(code);
    return code;
}

int ring_device::end_work(const void* key, std::uint64_t position) noexcept
{
    reader* const r = find(key);
    if (!r)
        return 0;
    r->working = false;
    const int code = r->work.push(position, *r->stream);
    note(code);
    r->work.released(); // here, behind the launch, and not in front of it
    note(r->work.error());
    return code;
}

int ring_device::record_ready(mem::gpu_stream& stream) noexcept
{
    ++d_writes;
    return d_ready->record(stream);
}

std::uint64_t ring_device::held(const void* key, std::uint64_t position) noexcept
{
    reader* const r = find(key);
    if (!r)
        return 0;
    const std::uint64_t released = r->work.released();
    note(r->work.error());
    if (!r->working && r->work.idle())
        return 0;
    return position > released ? position - released : 0;
}

bool ring_device::wrote(std::uint64_t offset,
                        std::uint64_t bytes,
                        std::uint64_t position) noexcept
{
    const std::uint64_t device = d_ring.address + offset;
    const std::uint64_t host =
        d_mirror ? reinterpret_cast<std::uintptr_t>(d_host_base) + offset : 0;
    int code = 0;
    if (d_who == writer::host) {
        // Within the mirror's two mappings a span is whole, as in the ring's.
        if (d_mirror)
            code = d_copies->copy(device, host, bytes);
        if (code == 0)
            code = d_pending_copies.push(position, *d_copies);
        if (code == 0)
            code = record_ready(*d_copies);
    } else {
        if (d_writer)
            code = record_ready(*d_writer);
        if (d_mirror && code == 0) {
            code = d_copies->wait(*d_ready);
            if (code == 0)
                code = d_copies->copy(host, device, bytes);
        }
        if (d_host_base && code == 0) // the CPU reads as soon as this returns
            code = d_mirror ? d_copies->synchronize()
                            : (d_writer ? d_writer->synchronize() : 0);
    }
    note(code);
    return d_who == writer::host || !d_host_base || d_error == 0;
}

std::uint64_t ring_device::copying(std::uint64_t position) noexcept
{
    if (d_pending_copies.idle())
        return 0;
    const std::uint64_t released = d_pending_copies.released();
    note(d_pending_copies.error());
    return d_pending_copies.idle() || position < released ? 0 : position - released;
}

void ring_device::wake_when_free(const void* key) noexcept
{
    reader* const r = key ? find(key) : nullptr;
    const mem::gpu_event* const event = r ? r->work.next() : d_pending_copies.next();
    if (!event || d_wake->armed.exchange(true))
        return;
    d_wake_asked = true;
    d_awaited = event;
    int code = d_waits->wait(*event);
    if (code == 0)
        code = d_waits->notify(*d_wake);
    if (code != 0) {
        note(code);
        d_wake->on_done(); // it asks again, and finds the error
    }
}

// On a thread of the driver's, which may neither call CUDA nor destroy what would.
void ring_device::wake_ticket::on_done() noexcept { wake_writer(writer, armed); }

void ring_device::look_after_writer() noexcept
{
    if (!d_wake->armed || !d_awaited)
        return;
    const int code = d_awaited->query();
    if (code == 0 || code == mem::gpu_not_ready)
        return;
    note(code);
    d_wake->on_done();
}

void ring_device::writer_is_awake() noexcept
{
    if (!d_wake_asked || d_wake->armed)
        return;
    d_wake_asked = false;
    rdma::finish_wakes();
}

void ring_device::finish_wakes() noexcept
{
    d_waits->synchronize();
    rdma::finish_wakes();
}

} // namespace rdma
} // namespace gr
