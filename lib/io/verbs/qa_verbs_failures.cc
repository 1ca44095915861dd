/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Each call of the libraries fails once, with each errno that is likely: what was taken
// is given back, and somebody is told in words.
#include "testing/endpoint_contract_messages.h"
#include "testing/verbs_bench.h"

#include <cerrno>

using namespace gr::rdma;
using namespace gr::rdma::testing;
using io::endpoint_state;

namespace {

// Calls whose failure nobody needs to hear of: there is another way, or nothing to do.
bool may_pass(const std::string& call)
{
    for (const char* tolerated : { "ibv_modify_cq",
                                   "ibv_create_cq_ex",
                                   "ibv_query_rt_values_ex",
                                   "ibv_fork_init",
                                   "rdma_disconnect",
                                   "rdma_notify",
                                   "rdma_reject" })
        if (call == tolerated)
            return true;
    // Giving back has no failure.
    for (const char* word : { "destroy", "dealloc", "dereg", "close", "detach", "leave" })
        if (call.find(word) != std::string::npos)
            return true;
    return false;
}

struct outcome {
    std::string error; // what was thrown, or why an end has failed
    bool delivered = false;
};

// Two ends, one message, the end; whatever goes wrong on the way.
template <typename Factory>
outcome one_message(const io::endpoint_config& common)
{
    outcome out;
    try {
        endpoint_pair<Factory> p(common, 30000, 4);
        p.b->post(0, 4);
        p.start();
        p.a->send(pattern(1, common.service == io::service_type::ud ? 900 : 30000));
        const auto over = [](const contract_end& e) {
            return e.ep->state() == endpoint_state::failed ||
                   e.ep->state() == endpoint_state::closed;
        };
        io::completion c;
        await(
            [&] {
                p.a->ep->counters();
                out.delivered =
                    p.b->ep->poll(&c, 1) == 1 && c.status == io::wc_status::success;
                return out.delivered || over(*p.a) || over(*p.b);
            },
            300000000);
        for (const contract_end* e : { p.a.get(), p.b.get() })
            if (e->ep->state() == endpoint_state::failed)
                out.error += e->ep->status_text();
        p.a->ep->stop();
        p.b->ep->stop();
    } catch (const os_error& e) {
        out.error = e.what();
    } catch (const config_error& e) {
        out.error = e.what();
    }
    return out;
}

template <typename Factory>
void every_call_may_fail(io::service_type service, std::initializer_list<int> codes)
{
    io::endpoint_config common;
    common.service = service;
    common.mtu = 1024;
    common.recv_depth = common.send_depth = 4;
    common.header_bytes = 100;
    common.connect_timeout_ns = 100000000;
    std::map<std::string, unsigned> calls;
    {
        fake_case clean;
        const outcome o = one_message<Factory>(common);
        BOOST_REQUIRE(o.delivered);
        BOOST_REQUIRE(o.error == "");
        calls = clean.world.calls();
    }
    for (const auto& call : calls)
        for (unsigned nth = 1; nth <= call.second; ++nth)
            for (const int code : codes) {
                fake_case broken;
                broken.world.fail(call.first, nth, code);
                const outcome o = one_message<Factory>(common);
                BOOST_TEST((o.delivered || !o.error.empty() || may_pass(call.first)),
                           call.first << " number " << nth << ", errno " << code
                                      << ": nobody was told");
            }
}

} // namespace

BOOST_AUTO_TEST_CASE(every_call_of_a_connection_may_fail)
{
    every_call_may_fail<verbs_cm_endpoints>(io::service_type::rc, { ENOMEM, EINVAL });
}

BOOST_AUTO_TEST_CASE(every_call_of_a_static_connection_may_fail)
{
    every_call_may_fail<verbs_endpoints>(io::service_type::rc, { ENOMEM, EIO });
}

BOOST_AUTO_TEST_CASE(every_call_for_datagrams_may_fail)
{
    every_call_may_fail<verbs_endpoints>(io::service_type::ud, { EAGAIN, EACCES });
}

BOOST_FIXTURE_TEST_CASE(memory_that_cannot_be_locked_is_told_in_numbers, fake_case)
{
    world.fail("ibv_reg_mr", 1, ENOMEM);
    world.fail("ibv_reg_mr", 2, ENOMEM); // with relaxed ordering and without
    const std::string text = thrown([] { contract_end b(listens(), 1000, 4); });
    BOOST_TEST(holds(
        text, { "12 ", "ibv_reg_mr", "4320 bytes", "the ring", "fake0", "ulimit -l" }));
}

BOOST_FIXTURE_TEST_CASE(a_message_that_cannot_be_registered_comes_back, fake_case)
{
    endpoint_pair<verbs_cm_endpoints> p(contract_config(io::service_type::rc), 30000, 4);
    p.b->post(0, 4);
    p.start();
    BOOST_TEST(p.a->send(pattern(1, 30000)));
    p.b->next();
    BOOST_TEST((p.a->next_sent().status == io::wc_status::success));
    world.fail("ibv_reg_mr", 1, ENOMEM);
    world.fail("ibv_reg_mr", 2, ENOMEM);
    p.a->send(pattern(2, 30000));
    BOOST_TEST((p.a->next_sent().status == io::wc_status::access_error));
    BOOST_TEST(fails(*p.a));
    BOOST_TEST(holds(p.a->ep->status_text(), { "30000 bytes", "a message to send" }));
}

BOOST_FIXTURE_TEST_CASE(no_device_is_told_in_words, fake_case)
{
    world.remove_devices();
    BOOST_TEST(holds(thrown([] { contract_end b(listens(), 1000, 4); }),
                     { "19 ", "no RDMA device", "rdma link", "endpoint='softroce'" }));
}

BOOST_FIXTURE_TEST_CASE(devices_that_do_not_open_are_left_out, fake_case)
{
    fake_verbs::device_options closed;
    closed.name = "closed0";
    closed.addresses = { "192.0.2.77" };
    closed.opens = false;
    world.add_device(closed);
    contract_end fine(listens(), 1000, 4);
    world.remove_devices();
    world.add_device(closed);
    BOOST_TEST(holds(thrown([] { contract_end b(listens(), 1000, 4); }),
                     { "13 ", "closed0 (Permission denied)", "/dev/infiniband" }));
}

BOOST_FIXTURE_TEST_CASE(a_device_without_a_usable_gid_is_refused, fake_case)
{
    fake_verbs::device_options old;
    old.name = "old0";
    old.addresses = { "192.0.2.44" };
    old.roce_v1_only = true;
    world.add_device(old);
    io::endpoint_config c = listens();
    c.listen = "192.0.2.44:7";
    BOOST_TEST(holds(thrown([&] { contract_end b(c, 1000, 4); }),
                     { "config", "192.0.2.44", "old0", "RoCE v1" }));
    c.listen = "192.0.2.55:7";
    BOOST_TEST(holds(thrown([&] { contract_end b(c, 1000, 4); }),
                     { "192.0.2.55", "on no RDMA device", "fake0 port 1 index 1" }));
    c = listens();
    c.device = "old0";
    BOOST_TEST(holds(thrown([&] { contract_end b(c, 1000, 4); }),
                     { "device='old0'", "192.0.2.2", "port 1 of fake0" }));
    c = static_end(io::service_type::uc);
    c.gid_index = 0;
    BOOST_TEST(
        holds(thrown([&] { contract_end b(c, 1000, 4); }), { "gid_index=0", "RoCE v1" }));
    c.gid_index = 9;
    BOOST_TEST(holds(thrown([&] { contract_end b(c, 1000, 4); }),
                     { "gid_index=9", "2001:db8::1" }));
    c.gid_index = 40;
    BOOST_TEST(holds(thrown([&] { contract_end b(c, 1000, 4); }),
                     { "gid_index=40", "not in the table" }));
    c.gid_index = 1;
    contract_end right(c, 1000, 4);
}

BOOST_FIXTURE_TEST_CASE(more_buffers_than_the_device_takes_are_refused, fake_case)
{
    io::endpoint_config c = listens();
    c.recv_depth = 1000000;
    BOOST_TEST(
        holds(thrown([&] { contract_end b(c, 1, 4); }),
              { "config", "recv_depth=1000000", "max_qp_wr", "16384", "buffers" }));
}

BOOST_FIXTURE_TEST_CASE(parameters_that_contradict_each_other_are_refused, fake_case)
{
    io::endpoint_config c = listens();
    c.source = "192.0.2.1";
    BOOST_TEST(holds(
        thrown([&] { contract_end b(c, 1000, 4); }),
        { "config", "listen='192.0.2.2:7'", "source='192.0.2.1'", "listen alone" }));
    c.source = "192.0.2.2";
    contract_end same(c, 1000, 4);
    c = calls();
    c.psn = 5;
    BOOST_TEST(
        holds(thrown([&] { contract_end b(c, 1000, 4); }), { "config", "psn=5", "qpn" }));
    c.psn = 0;
    c.remote_psn = 6;
    BOOST_TEST(holds(thrown([&] { contract_end b(c, 1000, 4); }),
                     { "config", "remote_psn=6", "qpn" }));
}
