/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_SOURCE_IMPL_H
#define INCLUDED_RDMA_SOURCE_IMPL_H

#include "core/log.h"
#include "core/sample.h"
#include "io/endpoint.h"
#include "mem/ring_cursor.h"
#include "reconnect_policy.h"
#include "ring_client.h"
#include "source_ring.h"
#include "source_status.h"
#include "source_tags.h"

#include <atomic>
#include <gnuradio/rdma/source.h>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gr {
namespace rdma {

class ring_buffer;

/*!
 * Order of things: check_topology() opens an endpoint, in the thread that starts the
 * flowgraph, because an exception from start() would hang GNU Radio; output_ring() makes
 * the ring; start() posts every slot and connects; general_work() turns completions into
 * items; stop() ends the session. lock()/unlock() is stop and start. Where a connection
 * ends and the reconnect policy goes on, general_work() makes the next session itself.
 */
class source_impl : public source, public ring_client
{
public:
    explicit source_impl(const source_config& config);
    ~source_impl() override;

    std::shared_ptr<mem::ring_memory>
    output_ring(int port, std::size_t item_bytes, std::size_t min_items) override;
    std::shared_ptr<mem::gpu> output_gpu() const override { return d_ring.gpu(); }

    bool check_topology(int ninputs, int noutputs) override;
    bool start() override;
    bool stop() override;
    int general_work(int noutput_items,
                     gr_vector_int& ninput_items,
                     gr_vector_const_void_star& input_items,
                     gr_vector_void_star& output_items) override;

    void set_rate(double rate) override;
    void set_freq(double freq) override;
    std::string description() const override;
    std::string state() const override;
    std::string status_text() const override;
    std::map<std::string, std::uint64_t> counters() const override;

private:
    std::shared_ptr<io::endpoint> session() const;
    void attach(io::endpoint& endpoint);
    void begin();
    void connect(io::endpoint& endpoint);
    void end_session();
    void lose_session(bool failed, const std::string& why);
    void renew_session();
    std::uint64_t header_stride() const; //!< bytes between two headers
    void post_free_slots(io::endpoint& endpoint);
    bool deliver(const io::completion& done, std::uint64_t offset);
    int come_again();
    int finish();
    bool gpu_failed();
    void note_gpu(int code) { d_gpu_code = d_gpu_code != 0 ? d_gpu_code : code; }
    void publish_status(std::int64_t now_ns);
    void keep_totals(const io::endpoint& ended,
                     io::endpoint_state last,
                     const std::string& text);
    void log(core::log_level level, const std::string& text) const;

    const source_config d_config;
    const core::sample_type d_sample;
    const std::size_t d_item_bytes;
    const std::uint64_t d_slot_items;
    io::endpoint_config d_endpoint_config;

    source_ring d_ring;
    std::vector<std::byte> d_headers;

    mutable std::mutex d_mutex; // guards the next six
    std::shared_ptr<io::endpoint> d_endpoint;
    std::map<std::string, std::uint64_t> d_totals; // of sessions that are over
    std::string d_failure;                         // of start() or the GPU
    io::endpoint_state d_end_state = io::endpoint_state::idle; // of the last session
    std::string d_end_text;
    std::string d_end_description;

    // The block's thread, between start() and stop().
    ring_buffer* d_buffer = nullptr;
    mem::ring_cursor d_cursor{ 1 };
    source_tags d_tags; // also set_rate() and set_freq(): d_setlock
    std::vector<tag_t> d_new_tags;
    bool d_restarted =
        false; // a session went before: the next message stands behind a gap
    bool d_end_logged = false;
    int d_gpu_code = 0; // the first error of what this block asked the GPU for
    reconnect_policy d_reconnect;
    bool d_waiting = false; // between two connections
    std::int64_t d_next_attempt_ns = 0;
    std::int64_t d_next_log_ns = 0; // of a lost connection
    std::int64_t d_next_status_ns = 0;
    source_status d_status;
    std::atomic<std::uint64_t> d_reconnects{ 0 };   // connections begun after the first
    std::atomic<std::uint64_t> d_odd_messages{ 0 }; // not a whole number of items
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_SOURCE_IMPL_H */
