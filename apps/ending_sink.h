/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_ENDING_SINK_H
#define INCLUDED_RDMA_APPS_ENDING_SINK_H

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <gnuradio/sync_block.h>

namespace gr {
namespace rdma {
namespace apps {

/*!
 * \brief A sink that tells the program when it is finished, and what went wrong in it.
 *
 * begin() and consume() of a subclass may throw: the stream then ends, and rethrow()
 * throws it again in the thread that asks. Threads: start(), work() and stop() by GNU
 * Radio's; finished() by any; rethrow() once finished() or the flowgraph has ended.
 */
class ending_sink : public gr::sync_block
{
public:
    //! \param on_finished called once, from GNU Radio's thread; may be empty
    ending_sink(const std::string& name,
                std::size_t item_bytes,
                std::function<void()> on_finished);

    bool finished() const noexcept { return d_finished.load(); }
    //! Seconds from the first work() to the end of the last. Any thread.
    double seconds() const noexcept { return double(d_span_ns.load()) * 1e-9; }
    //! \throws what consume() threw, if it did
    void rethrow() const;

    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;
    bool start() override;
    bool stop() override;

protected:
    //! The flowgraph runs: nothing that is checked at its start forbids it.
    virtual void begin() = 0;
    //! Take up to \p n items. \return how many, or WORK_DONE
    virtual int consume(const void* items, int n) = 0;

private:
    void finish();

    std::function<void()> d_on_finished;
    std::atomic<bool> d_finished{ false };
    std::atomic<std::int64_t> d_span_ns{ 0 };
    std::int64_t d_first_ns = 0;
    std::exception_ptr d_error; // written before d_finished, read after
};

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_ENDING_SINK_H */
