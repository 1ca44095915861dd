/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_KERNEL_LOG_H
#define INCLUDED_RDMA_KERNEL_LOG_H

#include "mem/gpu.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gr {
namespace rdma {

class kernel_log;

/*!
 * \brief Which blocks have kernels on one GPU, and whose were running when it failed.
 *
 * CUDA does not say which kernel faulted: from then on every call of the process fails
 * alike, whoever makes it, and events that had fired cannot be told any more from those
 * that had not. So each block has its stream write a number to page-locked host memory
 * behind each round of work, which can still be read afterwards. One that had work left,
 * with nothing left for it to wait for, may have been at fault.
 *
 * Any thread may call any method.
 */
class kernel_board
{
public:
    //! The board of \p gpu: the same one while anybody holds it. \throws cuda_error
    static std::shared_ptr<kernel_board> of(const std::shared_ptr<mem::gpu>& gpu);
    explicit kernel_board(const std::shared_ptr<mem::gpu>& gpu);
    ~kernel_board();
    kernel_board(const kernel_board&) = delete;
    kernel_board& operator=(const kernel_board&) = delete;

    /*!
     * \brief "in a kernel of scale(3)": where the GPU failed.
     *
     * Decided at the first call, which is to be made once the driver has told of an
     * error; later ones give the same.
     */
    std::string verdict();
    //! The driver's code if the GPU has failed, as every call of the process does from
    //! then on; else 0.
    int error() const noexcept;
    bool has_failed() const noexcept { return error() != 0; }
    //! What the error \p code of the driver comes from: "the GPU failed with ... in a
    //! kernel of scale(3)"; or "a copy failed with ..." where the GPU goes on, and \p
    //! call is "a copy".
    std::string describe(int code, const std::string& call);
    //! For whoever lets only one block have kernels on the GPU at a time.
    std::mutex& one_at_a_time() noexcept { return d_one; }

private:
    friend class kernel_log;
    static constexpr std::size_t slots = 1024; // a page of numbers
    struct page;

    std::unique_ptr<page> d_page;
    std::unique_ptr<mem::pinned_range> d_pinned;
    const std::unique_ptr<mem::gpu_stream> d_idle; // to ask how the GPU is
    std::mutex d_one;
    std::mutex d_mutex; // guards the rest, and the logs' lists
    std::array<kernel_log*, slots> d_logs{};
    std::string d_verdict;
};

/*!
 * \brief One block's rounds of work: how many it has put into its stream, and how many of
 * them the GPU has done.
 *
 * begin() and end() are for the block's thread, and neither wait nor allocate. The other
 * methods are for any thread.
 */
class kernel_log
{
public:
    //! \param name the block's, for verdict()
    //! \param rounds so many have been begun and done
    kernel_log(std::shared_ptr<kernel_board> board,
               const std::string& name,
               std::uint32_t rounds = 0);
    ~kernel_log();
    kernel_log(const kernel_log&) = delete;
    kernel_log& operator=(const kernel_log&) = delete;

    //! Input number rounds_of.size() of this log comes from \p writer.
    void reads_from(std::shared_ptr<const kernel_log> writer);
    //! Forget all that reads_from() said.
    void reads_from_nobody();

    //! A round begins, which waits for round \p needs[i] of the i-th writer.
    void begin(const std::uint32_t* needs) noexcept;
    //! All of it is in \p stream. \return 0 or the driver's error code
    int end(mem::gpu_stream& stream) noexcept;

    //! Rounds that have begun, modulo 2^32.
    std::uint32_t begun() const noexcept { return d_begun; }
    //! Whether the GPU has told that it has done \p round, and all before it. Never of
    //! one that is not done, of the last 2^31.
    bool has_done(std::uint32_t round) const noexcept
    {
        // Where nobody writes the number any more, rounds to come get to lie behind it.
        return !d_blind && static_cast<std::int32_t>(d_done->load() - round) >= 0;
    }
    //! Rounds that the GPU has done.
    std::uint32_t done() const noexcept;

private:
    friend class kernel_board;
    bool at_work() const noexcept;
    static constexpr std::uint32_t remembered = 64;
    struct input {
        std::shared_ptr<const kernel_log> writer;
        std::array<std::atomic<std::uint32_t>, remembered> needs{};
    };

    const std::shared_ptr<kernel_board> d_board;
    const std::string d_name;
    std::atomic<std::uint32_t>* d_done = nullptr; // null: the page was full
    std::atomic<bool> d_blind{ false };           // nobody writes it
    std::atomic<std::uint32_t> d_begun;
    std::vector<std::unique_ptr<input>> d_inputs;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_KERNEL_LOG_H */
