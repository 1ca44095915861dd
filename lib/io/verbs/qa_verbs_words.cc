/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/verbs/address.h"
#include "io/verbs/handles.h"
#include "io/verbs/words.h"

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <gnuradio/rdma/error.h>
#include <utility>

using namespace gr::rdma;
using namespace gr::rdma::io;
using namespace gr::rdma::io::verbs;

namespace {

const connection_names names{ "10.0.0.1", "rxe0", "10.0.0.2:18515" };

bool holds(const std::string& text, std::initializer_list<const char*> parts)
{
    for (const char* part : parts)
        if (text.find(part) == std::string::npos) {
            BOOST_TEST_MESSAGE("'" << part << "' is not in: " << text);
            return false;
        }
    return true;
}

int given_back = 0;
int give_back(ibv_pd*)
{
    ++given_back;
    return 0;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_failed_status_names_both_ends_its_number_and_a_remedy)
{
    for (int s = IBV_WC_LOC_LEN_ERR; s <= IBV_WC_TM_RNDV_INCOMPLETE; ++s)
        for (const bool sending : { true, false }) {
            const auto status = static_cast<ibv_wc_status>(s);
            const std::string text = completion_words(status, 0x68, sending, 4096, names);
            BOOST_TEST(holds(text,
                             { "10.0.0.1 (rxe0) <-> 10.0.0.2:18515",
                               sending ? "send" : "receive",
                               "4096 bytes",
                               "vendor code 0x68" }));
            BOOST_TEST(text.find("status " + std::to_string(s) + " (") !=
                       std::string::npos);
            BOOST_TEST((status_of(status) != wc_status::success));
        }
    BOOST_TEST((status_of(IBV_WC_SUCCESS) == wc_status::success));
}

BOOST_AUTO_TEST_CASE(the_usual_failures_say_what_to_set)
{
    const auto text = [](ibv_wc_status s, bool sending) {
        return completion_words(s, 0, sending, 0, names);
    };
    BOOST_TEST(holds(text(IBV_WC_REM_INV_REQ_ERR, true), { "message_bytes" }));
    BOOST_TEST(holds(text(IBV_WC_LOC_LEN_ERR, false), { "message_bytes" }));
    BOOST_TEST(holds(text(IBV_WC_LOC_LEN_ERR, true), { "max_msg_sz" }));
    BOOST_TEST(
        holds(text(IBV_WC_RETRY_EXC_ERR, true), { "does not answer", "gid_index" }));
    BOOST_TEST(holds(text(IBV_WC_RNR_RETRY_EXC_ERR, true), { "rnr_retry" }));
    BOOST_TEST(holds(text(IBV_WC_REM_ACCESS_ERR, true), { "rkey" }));
    BOOST_TEST(text(IBV_WC_FATAL_ERR, true).find("vendor") == std::string::npos);
    BOOST_TEST((status_of(IBV_WC_WR_FLUSH_ERR) == wc_status::flushed));
    BOOST_TEST((status_of(IBV_WC_LOC_LEN_ERR) == wc_status::length_error));
    BOOST_TEST((status_of(IBV_WC_LOC_PROT_ERR) == wc_status::access_error));
    BOOST_TEST((status_of(IBV_WC_RETRY_EXC_ERR) == wc_status::retry_exceeded));
    BOOST_TEST((status_of(IBV_WC_RNR_RETRY_EXC_ERR) == wc_status::rnr_exceeded));
    BOOST_TEST((status_of(IBV_WC_REM_OP_ERR) == wc_status::remote_error));
}

BOOST_AUTO_TEST_CASE(connection_manager_events_name_status_reason_and_data)
{
    const auto text = [](rdma_cm_event_type e, int status, const std::string& data = "") {
        return cm_event_words(e, status, data, names);
    };
    for (const int status : { -ENODEV, ENODEV }) // kernels gave either sign
        BOOST_TEST(
            holds(text(RDMA_CM_EVENT_ADDR_ERROR, status),
                  { "10.0.0.1 (rxe0) <-> 10.0.0.2:18515", "19", "No such device" }));
    BOOST_TEST(holds(text(RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT), { "route", "-110" }));
    BOOST_TEST(holds(text(RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT), { "4791" }));
    BOOST_TEST(holds(text(RDMA_CM_EVENT_REJECTED, 8), { "reason 8", "nobody listens" }));
    BOOST_TEST(holds(text(RDMA_CM_EVENT_REJECTED, 28, "'wrong direction'"),
                     { "reason 28", "the peer says 'wrong direction'" }));
    BOOST_TEST(holds(text(RDMA_CM_EVENT_DISCONNECTED, 0), { "closed" }));
    BOOST_TEST(holds(text(RDMA_CM_EVENT_DEVICE_REMOVAL, 0), { "removed" }));
    BOOST_TEST(holds(text(RDMA_CM_EVENT_MULTICAST_ERROR, -EINVAL), { "group", "-22" }));
    BOOST_TEST(holds(text(RDMA_CM_EVENT_TIMEWAIT_EXIT, 3), { "15", "3" }));
    for (int reason = 0; reason < 40; ++reason)
        BOOST_TEST(!reject_words(reason).empty());
}

BOOST_AUTO_TEST_CASE(private_data_are_shown_as_text_or_in_hexadecimal)
{
    BOOST_TEST(data_words("busy\0\0", 6) == "'busy'");
    BOOST_TEST(data_words("\x52\x44\x4d\x41\x01\x00\x00", 7) == "0x52444d4101");
    BOOST_TEST(data_words("\0\0", 2) == "");
    BOOST_TEST(data_words(nullptr, 0) == "");
}

BOOST_AUTO_TEST_CASE(events_of_the_device_name_it_and_its_port)
{
    BOOST_TEST(holds(async_event_words(IBV_EVENT_PORT_ERR, "rxe0", 1),
                     { "port 1 of rxe0", "down" }));
    BOOST_TEST(holds(async_event_words(IBV_EVENT_PORT_ACTIVE, "rxe0", 1), { "up" }));
    BOOST_TEST(
        holds(async_event_words(IBV_EVENT_DEVICE_FATAL, "rxe0", 1), { "removed" }));
    BOOST_TEST(holds(async_event_words(IBV_EVENT_CQ_ERR, "rxe0", 1), { "overran" }));
    BOOST_TEST(holds(async_event_words(IBV_EVENT_QP_FATAL, "rxe0", 1), { "queue pair" }));
    for (int e = 0; e <= IBV_EVENT_WQ_FATAL; ++e)
        BOOST_TEST(holds(async_event_words(static_cast<ibv_event_type>(e), "rxe0", 1),
                         { "rxe0" }));
}

BOOST_AUTO_TEST_CASE(a_handle_gives_back_once)
{
    verbs_api api{};
    api.dealloc_pd = give_back;
    ibv_pd pd{};
    {
        pd_handle a(api, &pd);
        pd_handle b(std::move(a));
        BOOST_TEST(!a);
        BOOST_TEST(b.get() == &pd);
        pd_handle c;
        c = std::move(b);
        BOOST_TEST(!b);
        BOOST_TEST(given_back == 0);
        c = pd_handle(api, &pd); // the old one goes
        BOOST_TEST(given_back == 1);
    }
    BOOST_TEST(given_back == 2);
    pd_handle d(api, &pd);
    d.reset();
    d.reset();
    BOOST_TEST(given_back == 3);
}

BOOST_AUTO_TEST_CASE(failed_calls_carry_errno_call_and_advice)
{
    const auto thrown = [](auto f) {
        try {
            f();
        } catch (const os_error& e) {
            return std::to_string(e.code().value()) + " " + e.what();
        }
        return std::string();
    };
    BOOST_TEST(holds(thrown([] { check_code(ENOMEM, "ibv_modify_qp", "on rxe0"); }),
                     { "12 ", "ibv_modify_qp on rxe0", "ulimit -l" }));
    BOOST_TEST(holds(thrown([] {
                         errno = EADDRINUSE;
                         check_errno(-1, "rdma_bind_addr", "10.0.0.1:7");
                     }),
                     { "98 ", "rdma_bind_addr", "another program" }));
    // Some providers fail without an errno.
    BOOST_TEST(holds(thrown([] {
                         errno = 0;
                         checked<ibv_pd>(nullptr, "ibv_alloc_pd", "on rxe0");
                     }),
                     { "5 ", "ibv_alloc_pd" }));
    BOOST_TEST(holds(thrown([] { fail(EACCES, "ibv_open_device", "rxe0"); }),
                     { "/dev/infiniband" }));
    BOOST_TEST(holds(thrown([] { fail(ENODEV, "rdma_create_event_channel", ""); }),
                     { "rdma_ucm" }));
    BOOST_TEST(thrown([] { check_code(0, "a", "b"); }) == "");
}

BOOST_AUTO_TEST_CASE(addresses_are_read_with_and_without_port)
{
    const auto text = [](const char* t) {
        const address a = resolve(t, 18515, "listen");
        return a.text() + " " + std::to_string(a.port());
    };
    BOOST_TEST(text("10.0.0.1") == "10.0.0.1 18515");
    BOOST_TEST(text("10.0.0.1:7") == "10.0.0.1 7");
    BOOST_TEST(text("[fd00::1]") == "fd00::1 18515");
    BOOST_TEST(text("[fd00::1]:8") == "fd00::1 8");
    BOOST_TEST(text("[fe80::1%lo]") == "fe80::1%lo 18515");
    for (const char* alone : { "fd00::1", "[fd00::1]" })
        BOOST_TEST(resolve(alone, 0, "peers").text() == "fd00::1");
    for (const char* bad : { "",
                             "10.0.0.1:",
                             "10.0.0.1:0",
                             "10.0.0.1:65536",
                             "[fd00::1]x",
                             "10.0.0.1:1x",
                             "fd00::1", // its last group could be a port
                             "[fe80::1]",
                             "[::ffff:10.0.0.1]",
                             "[10.0.0.1]:5",
                             "no.such.host.invalid",
                             "[fd00::1" })
        BOOST_CHECK_THROW(resolve(bad, 1, "listen"), config_error);
    BOOST_CHECK_THROW(resolve("[fd00::1]", 1, "connect", AF_INET), config_error);
    for (const char* with_port : { "10.0.0.1:1", "[fd00::1]:1" })
        BOOST_CHECK_EXCEPTION(
            resolve(with_port, 0, "peers"), config_error, [&](const config_error& e) {
                return holds(e.what(), { "peers='", with_port, "has a port" });
            });
    BOOST_TEST(resolve("239.1.2.3", 0, "group").is_multicast());
    BOOST_TEST(resolve("ff05::1", 0, "group").is_multicast());
    BOOST_TEST(!resolve("10.1.2.3", 0, "group").is_multicast());
    BOOST_TEST(resolve("127.9.9.9", 0, "listen").is_loopback());
    BOOST_TEST(resolve("::1", 0, "listen").is_loopback());
    BOOST_TEST(resolve("0.0.0.0", 0, "listen").is_wildcard());
    BOOST_TEST(resolve("::", 0, "listen").is_wildcard());
    BOOST_TEST(resolve("255.255.255.255", 0, "connect").is_broadcast());
    BOOST_TEST(!resolve("192.0.2.255", 0, "connect").is_broadcast());
    BOOST_TEST(resolve("10.0.0.1:1", 9, "a").same_host(resolve("10.0.0.1:2", 9, "b")));
    BOOST_TEST(!resolve("10.0.0.1", 0, "a").same_host(resolve("fd00::1", 0, "b")));
    BOOST_TEST(!address().same_host(address()));
    BOOST_TEST(resolve("10.0.0.1", 0, "a").gid().raw[10] == 0xff);
    BOOST_TEST(route_source(resolve("127.0.0.9", 0, "connect")).text() == "127.0.0.1");
}
