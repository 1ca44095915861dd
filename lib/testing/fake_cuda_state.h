/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_FAKE_CUDA_STATE_H
#define INCLUDED_RDMA_TESTING_FAKE_CUDA_STATE_H

#include "testing/fake_cuda.h"

#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <thread>

namespace gr {
namespace rdma {
namespace testing {

/*!
 * \brief What the imitated driver keeps: memory, and streams as threads with a queue.
 *
 * Work may block in a queue, waiting for an event of another stream. A stream that is
 * destroyed finishes its work by itself, as CUDA's do; join() waits for all.
 */
struct fake_cuda::state {
    struct reservation {
        void* raw;
        std::size_t bytes;
    };
    struct allocation {
        int fd;
        std::uint64_t bytes;
        int device;
    };
    struct event {
        std::uint64_t recorded = 0; //!< how often
        std::uint64_t done = 0;     //!< up to which record() the work is done
    };
    struct stream {
        struct item {
            std::function<void()> run;
            bool is_callback;
        };
        std::deque<item> work;
        bool closed = false;
        bool busy = false;
        std::thread thread;
    };

    std::vector<fake_cuda::device> devices;

    mutable std::mutex mutex; //!< guards all that follows
    std::condition_variable changed;
    int calls = 0;
    int fail_at = -1;
    CUresult fail_code = CUDA_SUCCESS;
    CUresult fault = CUDA_SUCCESS;
    bool calls_back = true;
    std::map<std::string, int> calls_of;
    long contexts = 0;
    std::map<CUdeviceptr, reservation> reservations;
    CUmemGenericAllocationHandle last_handle = 0;
    std::map<CUmemGenericAllocationHandle, allocation> allocations;
    std::map<CUdeviceptr, std::size_t> mappings;
    std::map<void*, std::size_t> pinned;
    std::map<CUevent, std::shared_ptr<event>> events;
    std::map<CUstream, std::shared_ptr<stream>> streams;
    std::list<std::shared_ptr<stream>> all_streams;
    std::uint64_t exported_address = 0;
    std::uint64_t exported_bytes = 0;
    bool rdma_asked = false;

    const fake_cuda::device& device(int ordinal) const
    {
        return devices.at(static_cast<std::size_t>(ordinal));
    }

    std::uint64_t used(int ordinal) const
    {
        std::lock_guard<std::mutex> lock(mutex);
        std::uint64_t bytes = 0;
        for (const auto& entry : allocations)
            bytes += entry.second.device == ordinal ? entry.second.bytes : 0;
        return bytes;
    }

    CUresult fault_code() const
    {
        std::lock_guard<std::mutex> lock(mutex);
        return fault;
    }

    CUstream open_stream()
    {
        auto s = std::make_shared<stream>();
        std::lock_guard<std::mutex> lock(mutex);
        const auto handle = reinterpret_cast<CUstream>(s.get());
        streams[handle] = s;
        all_streams.push_back(s);
        s->thread = std::thread([this, s] { run(*s); });
        return handle;
    }

    CUresult close_stream(CUstream handle)
    {
        std::lock_guard<std::mutex> lock(mutex);
        const auto found = streams.find(handle);
        if (found == streams.end())
            return CUDA_ERROR_INVALID_HANDLE;
        found->second->closed = true;
        streams.erase(found);
        changed.notify_all();
        return CUDA_SUCCESS;
    }

    void run(stream& s)
    {
        std::unique_lock<std::mutex> lock(mutex);
        for (;;) {
            changed.wait(lock, [&] { return s.closed || !s.work.empty(); });
            if (s.work.empty())
                return;
            const stream::item work = std::move(s.work.front());
            s.work.pop_front();
            if (fault != CUDA_SUCCESS && !(work.is_callback && calls_back)) {
                changed.notify_all(); // drain() waits for the queue to be empty
                continue;
            }
            s.busy = true;
            lock.unlock();
            work.run();
            lock.lock();
            s.busy = false;
            changed.notify_all();
        }
    }

    CUresult
    push_unlocked(CUstream handle, std::function<void()> work, bool is_callback = false)
    {
        const auto found = streams.find(handle);
        if (found == streams.end())
            return CUDA_ERROR_INVALID_HANDLE;
        if (fault != CUDA_SUCCESS)
            return fault;
        found->second->work.push_back({ std::move(work), is_callback });
        changed.notify_all();
        return CUDA_SUCCESS;
    }

    CUresult push(CUstream handle, std::function<void()> work, bool is_callback = false)
    {
        std::lock_guard<std::mutex> lock(mutex);
        return push_unlocked(handle, std::move(work), is_callback);
    }

    void drain(CUstream handle)
    {
        std::unique_lock<std::mutex> lock(mutex);
        const std::shared_ptr<stream> s = streams.at(handle);
        changed.wait(lock, [&] { return s->work.empty() && !s->busy; });
    }

    bool is_idle(CUstream handle) const
    {
        std::lock_guard<std::mutex> lock(mutex);
        const stream& s = *streams.at(handle);
        return s.work.empty() && !s.busy;
    }

    CUevent open_event()
    {
        auto e = std::make_shared<event>();
        std::lock_guard<std::mutex> lock(mutex);
        const auto handle = reinterpret_cast<CUevent>(e.get());
        events[handle] = e;
        return handle;
    }

    CUresult record(CUevent handle, CUstream stream)
    {
        std::lock_guard<std::mutex> lock(mutex);
        const std::shared_ptr<event> e = events.at(handle);
        const std::uint64_t which = ++e->recorded;
        return push_unlocked(stream, [this, e, which] {
            std::lock_guard<std::mutex> inner(mutex);
            e->done = std::max(e->done, which);
            changed.notify_all();
        });
    }

    bool is_done(CUevent handle) const
    {
        std::lock_guard<std::mutex> lock(mutex);
        const event& e = *events.at(handle);
        return e.done == e.recorded;
    }

    void await(CUevent handle)
    {
        std::unique_lock<std::mutex> lock(mutex);
        const std::shared_ptr<event> e = events.at(handle);
        changed.wait(lock, [&] { return e->done == e->recorded || fault; });
    }

    CUresult wait_in_stream(CUstream stream, CUevent handle)
    {
        std::lock_guard<std::mutex> lock(mutex);
        const std::shared_ptr<event> e = events.at(handle);
        const std::uint64_t which = e->recorded;
        return push_unlocked(stream, [this, e, which] {
            std::unique_lock<std::mutex> inner(mutex);
            changed.wait(inner, [&] { return e->done >= which || fault; });
        });
    }

    void join()
    {
        {
            std::lock_guard<std::mutex> lock(mutex);
            for (const auto& s : all_streams)
                s->closed = true;
            changed.notify_all();
        }
        for (const auto& s : all_streams)
            if (s->thread.joinable())
                s->thread.join();
    }
};

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_FAKE_CUDA_STATE_H */
