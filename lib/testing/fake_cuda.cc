/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Long file: a function for each call of the table, and nothing else.
#include "testing/fake_cuda.h"

#include "testing/fake_cuda_state.h"

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace testing {

namespace {

fake_cuda::state* the_state = nullptr;
thread_local std::vector<CUcontext> current_contexts;

fake_cuda::state& fake() { return *the_state; }

CUcontext context_of(int device)
{
    return reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(device) + 1);
}

int device_of(CUcontext context)
{
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1;
}

bool no_context() { return current_contexts.empty() || !current_contexts.back(); }

// What every call begins with. \return what to answer at once, or CUDA_SUCCESS
CUresult enter(const char* name, bool needs_context = false)
{
    std::lock_guard<std::mutex> lock(fake().mutex);
    ++fake().calls_of[name];
    if (fake().calls++ == fake().fail_at)
        return fake().fail_code;
    return needs_context && no_context() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

// A call on something that is no longer there is a fault of the caller's.
template <typename Map, typename Key>
CUresult remove(Map& map, const Key& key)
{
    return map.erase(key) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

#define ENTER(...)                                   \
    if (const CUresult refused = enter(__VA_ARGS__)) \
    return refused

// -- devices and contexts

CUresult get_error_name(CUresult code, const char** name)
{
    *name = code == CUDA_ERROR_OUT_OF_MEMORY     ? "CUDA_ERROR_OUT_OF_MEMORY"
            : code == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                                 : "CUDA_ERROR_IMITATED";
    return CUDA_SUCCESS;
}

CUresult device_get_count(int* count)
{
    ENTER("cuDeviceGetCount");
    *count = static_cast<int>(fake().devices.size());
    return CUDA_SUCCESS;
}

CUresult device_get(CUdevice* device, int ordinal)
{
    ENTER("cuDeviceGet");
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult device_get_name(char* name, int length, CUdevice device)
{
    ENTER("cuDeviceGetName");
    std::snprintf(
        name, static_cast<std::size_t>(length), "%s", fake().device(device).name.c_str());
    return CUDA_SUCCESS;
}

CUresult device_get_uuid(CUuuid* uuid, CUdevice device)
{
    ENTER("cuDeviceGetUuid");
    int at = 0;
    const std::string& text = fake().device(device).uuid;
    for (std::size_t i = 4; i < text.size() && at < 16; i += text[i] == '-' ? 1 : 2)
        if (text[i] != '-')
            uuid->bytes[at++] =
                static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
    return CUDA_SUCCESS;
}

CUresult device_get_pci_bus_id(char* id, int length, CUdevice device)
{
    ENTER("cuDeviceGetPCIBusId");
    std::snprintf(
        id, static_cast<std::size_t>(length), "%s", fake().device(device).pci.c_str());
    return CUDA_SUCCESS;
}

CUresult device_total_mem(std::size_t* bytes, CUdevice device)
{
    ENTER("cuDeviceTotalMem");
    *bytes = fake().device(device).total_bytes;
    return CUDA_SUCCESS;
}

CUresult device_get_attribute(int* value, CUdevice_attribute attribute, CUdevice device)
{
    ENTER("cuDeviceGetAttribute");
    const auto& given = fake().device(device).attributes;
    const auto at = given.find(attribute);
    *value = at != given.end()                                           ? at->second
             : attribute == CU_DEVICE_ATTRIBUTE_INTEGRATED               ? 0
             : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9
             : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 0
             : attribute == CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING ? 200
                                                                                : 1;
    return CUDA_SUCCESS;
}

CUresult primary_ctx_retain(CUcontext* context, CUdevice device)
{
    ENTER("cuDevicePrimaryCtxRetain");
    std::lock_guard<std::mutex> lock(fake().mutex);
    *context = context_of(device);
    ++fake().contexts;
    return CUDA_SUCCESS;
}

CUresult primary_ctx_release(CUdevice)
{
    std::lock_guard<std::mutex> lock(fake().mutex);
    --fake().contexts;
    return CUDA_SUCCESS;
}

CUresult ctx_set_current(CUcontext context)
{
    ENTER("cuCtxSetCurrent");
    if (current_contexts.empty())
        current_contexts.push_back(context);
    current_contexts.back() = context;
    return CUDA_SUCCESS;
}

CUresult ctx_push_current(CUcontext context)
{
    ENTER("cuCtxPushCurrent");
    current_contexts.push_back(context);
    return CUDA_SUCCESS;
}

CUresult ctx_pop_current(CUcontext* context)
{
    *context = current_contexts.back();
    current_contexts.pop_back();
    return CUDA_SUCCESS;
}

// -- memory

CUresult mem_get_info(std::size_t* free, std::size_t* total)
{
    ENTER("cuMemGetInfo", true);
    const int device = device_of(current_contexts.back());
    *total = fake().device(device).total_bytes;
    *free = *total - fake().used(device);
    return CUDA_SUCCESS;
}

CUresult granularity(std::size_t* bytes,
                     const CUmemAllocationProp* prop,
                     CUmemAllocationGranularity_flags)
{
    ENTER("cuMemGetAllocationGranularity");
    *bytes = fake().device(prop->location.id).granularity;
    return CUDA_SUCCESS;
}

CUresult mem_address_reserve(
    CUdeviceptr* at, std::size_t bytes, std::size_t, CUdeviceptr, unsigned long long)
{
    ENTER("cuMemAddressReserve");
    constexpr std::uint64_t alignment = 2 << 20;
    void* raw = ::mmap(nullptr,
                       bytes + alignment,
                       PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                       -1,
                       0);
    if (raw == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *at = (reinterpret_cast<std::uintptr_t>(raw) + alignment - 1) / alignment * alignment;
    std::lock_guard<std::mutex> lock(fake().mutex);
    fake().reservations[*at] = { raw, bytes + alignment };
    return CUDA_SUCCESS;
}

CUresult mem_address_free(CUdeviceptr at, std::size_t)
{
    std::lock_guard<std::mutex> lock(fake().mutex);
    const auto found = fake().reservations.find(at);
    if (found == fake().reservations.end())
        return CUDA_ERROR_INVALID_VALUE;
    ::munmap(found->second.raw, found->second.bytes);
    fake().reservations.erase(found);
    return CUDA_SUCCESS;
}

CUresult mem_create(CUmemGenericAllocationHandle* handle,
                    std::size_t bytes,
                    const CUmemAllocationProp* prop,
                    unsigned long long)
{
    ENTER("cuMemCreate");
    const fake_cuda::device& device = fake().device(prop->location.id);
    if (bytes % device.granularity != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes > device.total_bytes - fake().used(prop->location.id))
        return CUDA_ERROR_OUT_OF_MEMORY;
    const int fd = ::memfd_create("imitated device memory", MFD_CLOEXEC);
    if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(bytes)) != 0)
        return CUDA_ERROR_UNKNOWN;
    std::lock_guard<std::mutex> lock(fake().mutex);
    *handle = ++fake().last_handle;
    fake().rdma_asked = prop->allocFlags.gpuDirectRDMACapable != 0;
    fake().allocations[*handle] = { fd, bytes, prop->location.id };
    return CUDA_SUCCESS;
}

CUresult mem_release(CUmemGenericAllocationHandle handle)
{
    std::lock_guard<std::mutex> lock(fake().mutex);
    ::close(fake().allocations[handle].fd);
    return remove(fake().allocations, handle);
}

CUresult mem_map(CUdeviceptr at,
                 std::size_t bytes,
                 std::size_t offset,
                 CUmemGenericAllocationHandle handle,
                 unsigned long long)
{
    ENTER("cuMemMap");
    std::lock_guard<std::mutex> lock(fake().mutex);
    if (::mmap(reinterpret_cast<void*>(at),
               bytes,
               PROT_NONE,
               MAP_SHARED | MAP_FIXED,
               fake().allocations[handle].fd,
               static_cast<off_t>(offset)) == MAP_FAILED)
        return CUDA_ERROR_INVALID_VALUE;
    fake().mappings[at] = bytes;
    return CUDA_SUCCESS;
}

CUresult mem_unmap(CUdeviceptr at, std::size_t bytes)
{
    ::mmap(reinterpret_cast<void*>(at),
           bytes,
           PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
           -1,
           0);
    std::lock_guard<std::mutex> lock(fake().mutex);
    return remove(fake().mappings, at);
}

CUresult
mem_set_access(CUdeviceptr at, std::size_t bytes, const CUmemAccessDesc*, std::size_t)
{
    ENTER("cuMemSetAccess");
    return ::mprotect(reinterpret_cast<void*>(at), bytes, PROT_READ | PROT_WRITE) == 0
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult pointer_get_attribute(void* data, CUpointer_attribute, CUdeviceptr)
{
    ENTER("cuPointerGetAttribute");
    *static_cast<int*>(data) = fake().device(0).rdma_capable ? 1 : 0;
    return CUDA_SUCCESS;
}

CUresult mem_get_handle(void* handle,
                        CUdeviceptr at,
                        std::size_t bytes,
                        CUmemRangeHandleType,
                        unsigned long long)
{
    ENTER("cuMemGetHandleForAddressRange");
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    if (at % page != 0 || bytes % page != 0 || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    const int fd = ::memfd_create("imitated dma-buf", MFD_CLOEXEC);
    if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(bytes)) != 0)
        return CUDA_ERROR_UNKNOWN;
    *static_cast<int*>(handle) = fd;
    std::lock_guard<std::mutex> lock(fake().mutex);
    fake().exported_address = at;
    fake().exported_bytes = bytes;
    return CUDA_SUCCESS;
}

CUresult mem_host_register(void* at, std::size_t bytes, unsigned)
{
    ENTER("cuMemHostRegister", true);
    std::lock_guard<std::mutex> lock(fake().mutex);
    return fake().pinned.emplace(at, bytes).second
               ? CUDA_SUCCESS
               : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

CUresult mem_host_unregister(void* at)
{
    std::lock_guard<std::mutex> lock(fake().mutex);
    return remove(fake().pinned, at);
}

CUresult mem_host_get_device_pointer(CUdeviceptr* there, void* here, unsigned)
{
    ENTER("cuMemHostGetDevicePointer", true);
    *there = reinterpret_cast<CUdeviceptr>(here);
    return CUDA_SUCCESS;
}

CUresult flush_writes(CUflushGPUDirectRDMAWritesTarget, CUflushGPUDirectRDMAWritesScope)
{
    ENTER("cuFlushGPUDirectRDMAWrites", true);
    return CUDA_SUCCESS;
}

mem::bar1_memory bar1(const char* pci)
{
    for (const fake_cuda::device& device : fake().devices)
        if (device.pci == pci)
            return device.bar1;
    return {};
}

// -- streams and events

CUresult stream_create(CUstream* stream, unsigned)
{
    ENTER("cuStreamCreate", true);
    *stream = fake().open_stream();
    return CUDA_SUCCESS;
}

CUresult stream_destroy(CUstream stream) { return fake().close_stream(stream); }

CUresult stream_query(CUstream stream)
{
    ENTER("cuStreamQuery");
    if (const CUresult fault = fake().fault_code())
        return fault;
    return fake().is_idle(stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult
stream_write_value(CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned flags)
{
    ENTER("cuStreamWriteValue32", true);
    if (flags != CU_STREAM_WRITE_VALUE_DEFAULT || to % sizeof value != 0)
        return CUDA_ERROR_INVALID_VALUE;
    return fake().push(stream, [=] {
        __atomic_store_n(reinterpret_cast<cuuint32_t*>(to), value, __ATOMIC_SEQ_CST);
    });
}

CUresult stream_synchronize(CUstream stream)
{
    ENTER("cuStreamSynchronize");
    fake().drain(stream);
    return fake().fault_code();
}

CUresult memcpy_async(CUdeviceptr to, CUdeviceptr from, std::size_t n, CUstream stream)
{
    ENTER("cuMemcpyAsync", true);
    return fake().push(stream, [=] {
        std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), n);
    });
}

CUresult memset_async(CUdeviceptr to, unsigned char value, std::size_t n, CUstream stream)
{
    ENTER("cuMemsetD8Async", true);
    return fake().push(stream,
                       [=] { std::memset(reinterpret_cast<void*>(to), value, n); });
}

CUresult
stream_add_callback(CUstream stream, CUstreamCallback function, void* argument, unsigned)
{
    ENTER("cuStreamAddCallback", true);
    return fake().push(
        stream, [=] { function(stream, fake().fault_code(), argument); }, true);
}

CUresult event_create(CUevent* event, unsigned)
{
    ENTER("cuEventCreate", true);
    *event = fake().open_event();
    return CUDA_SUCCESS;
}

CUresult event_destroy(CUevent event)
{
    std::lock_guard<std::mutex> lock(fake().mutex);
    return remove(fake().events, event);
}

CUresult event_record(CUevent event, CUstream stream)
{
    ENTER("cuEventRecord", true);
    return fake().record(event, stream);
}

CUresult event_query(CUevent event)
{
    ENTER("cuEventQuery");
    if (const CUresult fault = fake().fault_code())
        return fault;
    return fake().is_done(event) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult event_synchronize(CUevent event)
{
    ENTER("cuEventSynchronize", true);
    fake().await(event);
    return fake().fault_code();
}

CUresult stream_wait_event(CUstream stream, CUevent event, unsigned)
{
    ENTER("cuStreamWaitEvent", true);
    return fake().wait_in_stream(stream, event);
}

} // namespace

fake_cuda::fake_cuda(std::vector<device> devices) : d_state(std::make_unique<state>())
{
    d_state->devices = std::move(devices);
    the_state = d_state.get();
    mem::cuda_vmm_api& a = d_api;
    a = {};
    a.get_error_name = get_error_name;
    a.device_get_count = device_get_count;
    a.device_get = device_get;
    a.device_get_name = device_get_name;
    a.device_get_uuid = device_get_uuid;
    a.device_get_pci_bus_id = device_get_pci_bus_id;
    a.device_total_mem = device_total_mem;
    a.device_get_attribute = device_get_attribute;
    a.primary_ctx_retain = primary_ctx_retain;
    a.primary_ctx_release = primary_ctx_release;
    a.ctx_set_current = ctx_set_current;
    a.ctx_push_current = ctx_push_current;
    a.ctx_pop_current = ctx_pop_current;
    a.mem_get_info = mem_get_info;
    a.mem_get_allocation_granularity = granularity;
    a.mem_address_reserve = mem_address_reserve;
    a.mem_address_free = mem_address_free;
    a.mem_create = mem_create;
    a.mem_release = mem_release;
    a.mem_map = mem_map;
    a.mem_unmap = mem_unmap;
    a.mem_set_access = mem_set_access;
    a.pointer_get_attribute = pointer_get_attribute;
    a.mem_host_register = mem_host_register;
    a.mem_host_unregister = mem_host_unregister;
    a.mem_host_get_device_pointer = mem_host_get_device_pointer;
    a.memcpy_async = memcpy_async;
    a.memset_d8_async = memset_async;
    a.stream_create = stream_create;
    a.stream_destroy = stream_destroy;
    a.stream_query = stream_query;
    a.stream_synchronize = stream_synchronize;
    a.stream_wait_event = stream_wait_event;
    a.stream_add_callback = stream_add_callback;
    a.event_create = event_create;
    a.event_destroy = event_destroy;
    a.event_record = event_record;
    a.event_query = event_query;
    a.event_synchronize = event_synchronize;
    a.mem_get_handle_for_address_range = mem_get_handle;
    a.stream_write_value32 = stream_write_value;
    a.flush_gpu_direct_rdma_writes = flush_writes;
    a.bar1 = bar1;
}

fake_cuda::~fake_cuda()
{
    d_state->join();
    the_state = nullptr;
}

void fake_cuda::fail(int nth, CUresult code)
{
    std::lock_guard<std::mutex> lock(d_state->mutex);
    d_state->calls = 0;
    d_state->fail_at = nth;
    d_state->fail_code = code;
}

int fake_cuda::calls() const
{
    std::lock_guard<std::mutex> lock(d_state->mutex);
    return d_state->calls;
}

int fake_cuda::calls_of(const std::string& name) const
{
    std::lock_guard<std::mutex> lock(d_state->mutex);
    return d_state->calls_of[name];
}

void fake_cuda::fault(CUresult code, bool calls_back)
{
    std::lock_guard<std::mutex> lock(d_state->mutex);
    d_state->fault = code;
    d_state->calls_back = calls_back;
    d_state->changed.notify_all();
}

std::vector<long> fake_cuda::held() const
{
    std::lock_guard<std::mutex> lock(d_state->mutex);
    const auto n = [](const auto& map) { return static_cast<long>(map.size()); };
    return { d_state->contexts,    n(d_state->reservations), n(d_state->allocations),
             n(d_state->mappings), n(d_state->streams),      n(d_state->events),
             n(d_state->pinned) };
}

std::uint64_t fake_cuda::used_bytes(int device) const { return d_state->used(device); }

void fake_cuda::launch(void* stream, std::function<void()> kernel)
{
    d_state->push(static_cast<CUstream>(stream), std::move(kernel));
}

bool fake_cuda::maps(const void* address) const
{
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    std::lock_guard<std::mutex> lock(d_state->mutex);
    for (const auto& mapping : d_state->mappings)
        if (at >= mapping.first && at - mapping.first < mapping.second)
            return true;
    return false;
}

std::uint64_t fake_cuda::exported_address() const { return d_state->exported_address; }
std::uint64_t fake_cuda::exported_bytes() const { return d_state->exported_bytes; }
bool fake_cuda::rdma_asked() const { return d_state->rdma_asked; }
int fake_cuda::current_device() const
{
    return no_context() ? -1 : device_of(current_contexts.back());
}

} // namespace testing
} // namespace rdma
} // namespace gr
