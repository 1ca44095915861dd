/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Messages to a device block with wait=busy, whose thread spins where others' sleep.
#include "qa_device_blocks.h"

#include <gnuradio/top_block.h>

#include <boost/test/unit_test.hpp>

#include <atomic>

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

const pmt::pmt_t call = pmt::mp("call");

// Passes nothing on. Numbers come on `call`, and leave on `out` one higher.
class talker : public device_block
{
public:
    talker()
        : gr::block("talker",
                    gr::io_signature::make(1, 1, 4, ring_buffer::type),
                    gr::io_signature::make(1, 1, 4, ring_buffer::type)),
          device_block("cuda:0", "busy")
    {
        message_port_register_in(call);
        message_port_register_out(pmt::mp("out"));
        set_msg_handler(call, [this](const pmt::pmt_t& m) {
            const std::uint64_t n = pmt::to_uint64(m);
            disorder += n != called.now();
            called.reach(n + 1);
            if (n + 1 < relays)
                message_port_pub(pmt::mp("out"), pmt::from_uint64(n + 1));
        });
    }
    void dispatch_msg(pmt::pmt_t port, pmt::pmt_t message) override
    {
        d_dispatching = pmt::eq(port, pmt::mp("system"));
        device_block::dispatch_msg(port, message);
        d_dispatching = false;
    }
    void forecast(int noutput_items, gr_vector_int& required) override
    {
        spun_in_dispatch += d_dispatching;
        required.assign(1, noutput_items);
    }
    int device_work(int n,
                    gr_vector_int&,
                    gr_vector_const_void_star&,
                    gr_vector_void_star&) override
    {
        consume_each(n);
        // As the scheduler does, which has taken the message out of its queue.
        dispatch_msg(pmt::mp("system"), pmt::cons(pmt::mp("done"), pmt::from_long(0)));
        taken.reach(taken.now() + static_cast<std::uint64_t>(n));
        return 0;
    }

    std::atomic<std::uint64_t> relays{ 0 };
    milestone taken;
    milestone called;
    std::atomic<int> disorder{ 0 };
    std::atomic<int> spun_in_dispatch{ 0 };

private:
    bool d_dispatching = false;
};

struct busy_flowgraph : on_imitated_driver {
    void start()
    {
        source_options o;
        o.total = UINT64_MAX;
        o.allowed = 100;
        auto from = make_source(o, stock());
        to = make<talker>();
        top->connect(from, 0, to, 0);
        top->connect(to, 0, make<device_recorder>(fake, device_options()), 0);
        top->msg_connect(to, "out", to, "call");
        top->start();
        to->taken.wait(100);
    }
    void ends() { BOOST_REQUIRE_MESSAGE(testing::ends(top), "the flowgraph hangs"); }

    gr::top_block_sptr top = gr::make_top_block("messages");
    std::shared_ptr<talker> to;
};

} // namespace

BOOST_FIXTURE_TEST_CASE(messages_come_in_order_and_none_is_lost, busy_flowgraph)
{
    start();
    constexpr std::uint64_t many = 5000;
    for (std::uint64_t n = 0; n < many; ++n) {
        to->_post(call, pmt::from_uint64(n));
        if (n % 500 == 0) // the block goes back to its spin
            to->called.wait(n + 1);
    }
    to->called.wait(many);
    // One to itself from each, as others' handlers may.
    to->relays = many + 1000;
    to->_post(call, pmt::from_uint64(many));
    to->called.wait(many + 1000);
    BOOST_TEST(to->disorder == 0);
    top->stop();
    ends();
}

BOOST_FIXTURE_TEST_CASE(the_system_s_messages_are_not_spun_upon, busy_flowgraph)
{
    start();
    BOOST_TEST(to->spun_in_dispatch == 0);
    top->stop();
    ends();
    BOOST_TEST(to->failure() == "");
}
