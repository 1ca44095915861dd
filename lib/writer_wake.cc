/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "writer_wake.h"

#include <atomic>
#include <condition_variable>
#include <gnuradio/block.h>
#include <gnuradio/block_detail.h>
#include <mutex>
#include <thread>
#include <vector>

namespace gr {
namespace rdma {

namespace {

class waker
{
public:
    waker() : d_thread([this] { run(); }) { d_thread.detach(); }

    void post(const std::weak_ptr<block>& writer, std::atomic<bool>& asked)
    {
        const std::lock_guard<std::mutex> lock(d_mutex);
        asked = false;
        d_writers.push_back(writer);
        d_changed.notify_all();
    }

    void flush()
    {
        std::unique_lock<std::mutex> lock(d_mutex);
        d_changed.wait(lock, [this] { return d_writers.empty() && !d_busy; });
    }

private:
    void run()
    {
        std::vector<std::weak_ptr<block>> writers;
        for (;;) {
            {
                std::unique_lock<std::mutex> lock(d_mutex);
                d_busy = false;
                d_changed.notify_all();
                d_changed.wait(lock, [this] { return !d_writers.empty(); });
                writers.swap(d_writers);
                d_busy = true;
            }
            for (const auto& weak : writers)
                if (const block_sptr writer = weak.lock())
                    if (const block_detail_sptr detail = writer->detail())
                        detail->d_tpb.notify_msg();
            writers.clear();
        }
    }

    std::mutex d_mutex; // guards the next three
    std::condition_variable d_changed;
    std::vector<std::weak_ptr<block>> d_writers;
    bool d_busy = false;
    std::thread d_thread;
};

waker& the_waker()
{
    // Never destroyed: the driver may call until the process has ended.
    static waker* const one = new waker;
    return *one;
}

} // namespace

void wake_writer(const std::weak_ptr<block>& writer, std::atomic<bool>& asked) noexcept
{
    the_waker().post(writer, asked);
}

void finish_wakes() noexcept { the_waker().flush(); }

} // namespace rdma
} // namespace gr
