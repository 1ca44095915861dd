/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Instructions that a message costs in rdma.source over verbs and in GNU Radio's
 * scheduler:
 *
 *     for n in 1000 3000; do
 *         valgrind --tool=callgrind --callgrind-out-file=callgrind.$n bench_verbs_source
 * $n done
 *
 * and the difference of the two totals by the difference of the counts. The device is a
 * fake that has a message for every posted receive and costs next to nothing: it moves no
 * data. --burst N hands out N at a time (default 1); then the queue is empty, and the
 * block goes the whole way through arming it and sleeping on its channel.
 */
#include "testing/fake_verbs.h"

#include <gnuradio/blocks/null_sink.h>
#include <gnuradio/rdma/source.h>
#include <gnuradio/top_block.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>

namespace {

using gr::rdma::source;
using gr::rdma::source_config;

constexpr std::uint32_t message_bytes = 1 << 20;

// The receive queue of the one source there is; its thread alone touches it.
struct device {
    ibv_cq* receives = nullptr;
    std::uint64_t wr_ids[64]{};
    std::uint64_t posted = 0;
    std::uint64_t done = 0;
    std::uint64_t limit = 0;
    std::uint64_t burst = 1;
    std::uint64_t given = 0; // of this burst
    std::atomic<bool> finished{ false };
} fake;

int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr**)
{
    fake.receives = qp->recv_cq;
    for (; wr; wr = wr->next)
        fake.wr_ids[fake.posted++ % 64] = wr->wr_id;
    return 0;
}

int poll_cq(ibv_cq* cq, int max, ibv_wc* out)
{
    if (cq != fake.receives)
        return 0;
    int n = 0;
    while (n < max && fake.given != fake.burst && fake.done != fake.posted &&
           fake.done != fake.limit) {
        std::memset(&out[n], 0, sizeof out[n]);
        out[n].wr_id = fake.wr_ids[fake.done++ % 64];
        out[n].opcode = IBV_WC_RECV;
        out[n].byte_len = message_bytes;
        ++fake.given;
        ++n;
    }
    if (n == 0)
        fake.given = 0; // the next burst is on its way
    if (fake.done == fake.limit)
        fake.finished.store(true);
    return n;
}

void ring(int fd)
{
    const std::uint64_t one = 1;
    if (write(fd, &one, sizeof one) < 0)
        std::perror("eventfd");
}

int req_notify_cq(ibv_cq* cq, int)
{
    if (cq == fake.receives && fake.done != fake.posted && fake.done != fake.limit)
        ring(cq->channel->fd);
    return 0;
}

int get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void**)
{
    std::uint64_t one;
    *cq = fake.receives;
    return read(channel->fd, &one, sizeof one) == sizeof one ? 0 : -1;
}

int post_send(ibv_qp*, ibv_send_wr*, ibv_send_wr**) { return 0; }

const gr::rdma::io::verbs::verbs_api* fakes = nullptr;

gr::rdma::io::verbs::verbs_api table(const gr::rdma::testing::fake_verbs& world)
{
    fakes = &world.api();
    gr::rdma::io::verbs::verbs_api api = *fakes;
    api.get_cq_event = get_cq_event;
    api.ack_cq_events = [](ibv_cq*, unsigned) {};
    api.open_device = [](ibv_device* d) {
        ibv_context* context = fakes->open_device(d);
        if (context) {
            context->ops.post_recv = post_recv;
            context->ops.post_send = post_send;
            context->ops.poll_cq = poll_cq;
            context->ops.req_notify_cq = req_notify_cq;
        }
        return context;
    };
    return api;
}

} // namespace

int main(int argc, char** argv)
{
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--burst") == 0 && i + 1 < argc)
            fake.burst = std::strtoull(argv[++i], nullptr, 10);
        else
            fake.limit = std::strtoull(argv[i], nullptr, 10);
    }
    if (fake.limit == 0 || fake.burst == 0) {
        std::fprintf(stderr, "usage: bench_verbs_source MESSAGES [--burst N]\n");
        return 2;
    }
    const gr::rdma::testing::fake_verbs world;
    const auto api = table(world);
    gr::rdma::io::verbs::replace_verbs(&api);
    {
        source_config c;
        c.endpoint = "verbs";
        c.service = "uc";
        c.source = "192.0.2.1";
        c.connect = "192.0.2.2";
        c.qpn = 1;
        c.sample = "sc16";
        c.message_bytes = message_bytes;
        const auto top = gr::make_top_block("bench_verbs_source");
        const auto from = source::make(c);
        const auto to = gr::blocks::null_sink::make(4);
        top->connect(from, 0, to, 0);
        top->start();
        while (!fake.finished.load())
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        top->stop();
        top->wait();
        const auto counters = from->counters();
        std::printf("%llu messages of %u bytes, %llu items read\n",
                    static_cast<unsigned long long>(counters.at("messages_received")),
                    message_bytes,
                    static_cast<unsigned long long>(to->nitems_read(0)));
        if (counters.at("messages_received") != fake.limit)
            return 1;
    }
    gr::rdma::io::verbs::replace_verbs(nullptr);
    return 0;
}
