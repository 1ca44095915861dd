/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel_log.h"

#include <algorithm>
#include <map>

namespace gr {
namespace rdma {

// Pages, since a GPU pins nothing smaller.
struct alignas(4096) kernel_board::page {
    std::array<std::atomic<std::uint32_t>, slots> done{};
};

std::shared_ptr<kernel_board> kernel_board::of(const std::shared_ptr<mem::gpu>& gpu)
{
    static std::mutex mutex; // guards boards
    static std::map<const mem::gpu*, std::weak_ptr<kernel_board>> boards;
    const std::lock_guard<std::mutex> lock(mutex);
    for (auto it = boards.begin(); it != boards.end();)
        it = it->second.expired() ? boards.erase(it) : std::next(it);
    auto& entry = boards[gpu.get()];
    std::shared_ptr<kernel_board> board = entry.lock();
    if (!board) {
        board = std::make_shared<kernel_board>(gpu);
        entry = board;
    }
    return board;
}

kernel_board::kernel_board(const std::shared_ptr<mem::gpu>& gpu)
    : d_page(std::make_unique<page>()),
      d_pinned(gpu->pin(d_page.get(), sizeof(page))),
      d_idle(gpu->make_stream())
{
}

kernel_board::~kernel_board() = default;

int kernel_board::error() const noexcept
{
    return d_idle->synchronize(); // of nothing; unlike a query it sets the context
}

std::string kernel_board::describe(int code, const std::string& call)
{
    const std::string text = " failed with " + mem::gpu_error_text(code);
    // Out of memory, say: then no kernel is to blame, and the verdict is still to come.
    return has_failed() ? "the GPU" + text + " " + verdict() : call + text;
}

std::string kernel_board::verdict()
{
    const std::lock_guard<std::mutex> lock(d_mutex);
    if (!d_verdict.empty())
        return d_verdict;
    std::vector<std::string> names;
    for (const kernel_log* const log : d_logs)
        if (log && log->at_work())
            names.push_back(log->d_name);
    if (names.empty()) {
        d_verdict = "in no kernel of these blocks, but in a copy or in a program beside";
        return d_verdict;
    }
    d_verdict = "in a kernel of ";
    for (std::size_t i = 0; i < names.size(); ++i)
        d_verdict += (i == 0 ? "" : i + 1 < names.size() ? ", " : " or ") + names[i];
    if (names.size() > 1)
        d_verdict += " (the driver does not say which); with RDMA_CHECK_KERNELS=1 in the "
                     "environment they take turns, and the one at fault is told";
    return d_verdict;
}

kernel_log::kernel_log(std::shared_ptr<kernel_board> board,
                       const std::string& name,
                       std::uint32_t rounds)
    : d_board(std::move(board)), d_name(name), d_begun(rounds)
{
    const std::lock_guard<std::mutex> lock(d_board->d_mutex);
    auto& logs = d_board->d_logs;
    const auto free = std::find(logs.begin(), logs.end(), nullptr);
    if (free == logs.end()) {
        d_blind = true;
        return;
    }
    *free = this;
    d_done = &d_board->d_page->done[static_cast<std::size_t>(free - logs.begin())];
    *d_done = rounds;
}

kernel_log::~kernel_log()
{
    const std::lock_guard<std::mutex> lock(d_board->d_mutex);
    std::replace(d_board->d_logs.begin(),
                 d_board->d_logs.end(),
                 this,
                 static_cast<kernel_log*>(nullptr));
}

void kernel_log::reads_from(std::shared_ptr<const kernel_log> writer)
{
    auto made = std::make_unique<input>();
    made->writer = std::move(writer);
    const std::lock_guard<std::mutex> lock(d_board->d_mutex);
    d_inputs.push_back(std::move(made));
}

void kernel_log::reads_from_nobody()
{
    std::vector<std::unique_ptr<input>> gone; // outlives the lock
    const std::lock_guard<std::mutex> lock(d_board->d_mutex);
    gone.swap(d_inputs);
}

void kernel_log::begin(const std::uint32_t* needs) noexcept
{
    const std::uint32_t round = d_begun + 1;
    for (const auto& in : d_inputs)
        in->needs[round % remembered] = *needs++;
    d_begun = round;
}

int kernel_log::end(mem::gpu_stream& stream) noexcept
{
    if (d_blind)
        return 0;
    const int code = stream.write(reinterpret_cast<std::uintptr_t>(d_done), d_begun);
    if (code != mem::gpu_not_supported)
        return code;
    d_blind = true;
    return 0;
}

std::uint32_t kernel_log::done() const noexcept { return d_done ? d_done->load() : 0; }

bool kernel_log::at_work() const noexcept
{
    const std::uint32_t begun = d_begun;
    const std::uint32_t finished = done();
    if (begun == finished)
        return false;
    if (d_blind || begun - finished > remembered)
        return true;
    return std::all_of(d_inputs.begin(), d_inputs.end(), [finished](const auto& in) {
        const std::uint32_t needed = in->needs[(finished + 1) % remembered];
        return in->writer->d_blind ||
               static_cast<std::int32_t>(needed - in->writer->done()) <= 0;
    });
}

} // namespace rdma
} // namespace gr
