/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testing/endpoint_factories.h"
#include "testing/process_resources.h"
#include "wire/packet.h"

#include <gnuradio/rdma/error.h>

#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <netinet/in.h>
#include <sched.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace gr::rdma;
using namespace gr::rdma::io;
using gr::rdma::testing::fresh_address;
using gr::rdma::testing::fresh_number;

namespace {

endpoint_config good(const char* endpoint)
{
    endpoint_config c;
    c.endpoint = endpoint;
    c.source = fresh_address(2 * fresh_number());
    c.connect = fresh_address(2 * fresh_number() + 1);
    c.qpn = 0x11;
    c.remote_qpn = 0x22;
    return c;
}

struct bad_config {
    std::vector<std::string> words; //!< that the message must have
    std::function<void(endpoint_config&)> spoil;
};

// Refused when made, or else when opened; with every word.
void check_refused(const char* endpoint, const bad_config& bad, bool when_opened = false)
{
    endpoint_config c = good(endpoint);
    bad.spoil(c);
    std::string said;
    try {
        const auto e = make_endpoint(c);
        if (!when_opened)
            BOOST_ERROR(bad.words[0] << ": was not refused when made");
        e->open();
        BOOST_ERROR(bad.words[0] << ": was not refused");
    } catch (const config_error& e) {
        said = e.what();
    }
    for (const std::string& word : bad.words)
        if (said.find(word) == std::string::npos)
            BOOST_ERROR("'" << said << "' does not say '" << word << "'");
}

// A plain socket on port 4791 of an address.
class bound_socket
{
public:
    explicit bound_socket(const std::string& address)
        : d_fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0))
    {
        sockaddr_in own{};
        own.sin_family = AF_INET;
        own.sin_port = htons(wire::roce_udp_port);
        own.sin_addr.s_addr = inet_addr(address.c_str());
        BOOST_REQUIRE(::bind(d_fd, reinterpret_cast<sockaddr*>(&own), sizeof own) == 0);
    }
    ~bound_socket() { ::close(d_fd); }

private:
    int d_fd;
};

} // namespace

BOOST_AUTO_TEST_CASE(softroce_refuses_what_cannot_be)
{
    const bad_config cases[] = {
        { { "qpn is missing", "remote_qpn" }, [](auto& c) { c.qpn = 0; } },
        { { "listen='127.0.0.1:7471'", "static" },
          [](auto& c) { c.listen = "127.0.0.1:7471"; } },
        { { "qpn=1 ", "2 to 16777214" }, [](auto& c) { c.qpn = 1; } },
        { { "remote_qpn=1 ", "2 to 16777214" }, [](auto& c) { c.remote_qpn = 1; } },
        { { "qpn=16777215 ", "multicast", "2 to 16777214" },
          [](auto& c) { c.qpn = 0xffffff; } },
        { { "qpn=16777216", "24 bits" }, [](auto& c) { c.qpn = 1 << 24; } },
        { { "remote_qpn=16777216" }, [](auto& c) { c.remote_qpn = 1 << 24; } },
        { { "remote_qpn is missing" }, [](auto& c) { c.remote_qpn = 0; } },
        { { "psn=4294967295", "24 bits" }, [](auto& c) { c.psn = ~0u; } },
        { { "remote_psn=16777216" }, [](auto& c) { c.remote_psn = 1 << 24; } },
        { { "listen or connect is missing" },
          [](auto& c) {
              c.service = service_type::ud;
              c.connect.clear();
              c.qpn = c.remote_qpn = 0;
          } },
        { { "message_bytes", "1025", "at most mtu=1024" },
          [](auto& c) {
              c.service = service_type::ud;
              c.message_bytes = 1025;
          } },
        { { "message_bytes", "4097", "at most mtu=4096" },
          [](auto& c) {
              c.service = service_type::ud;
              c.mtu = 4096;
              c.message_bytes = 4097;
          } },
        { { "connect is missing" }, [](auto& c) { c.connect.clear(); } },
        { { "connect=':18515'", "HOST[:PORT]" },
          [](auto& c) {
              c.connect = ":18515";
              c.qpn = c.remote_qpn = 0;
          } },
        { { "psn=5 ", "static" },
          [](auto& c) {
              c.psn = 5;
              c.qpn = c.remote_qpn = 0;
          } },
        { { "remote_psn=5 ", "static" },
          [](auto& c) {
              c.remote_psn = 5;
              c.qpn = c.remote_qpn = 0;
          } },
        { { "device='rxe0'", "endpoint='verbs'" }, [](auto& c) { c.device = "rxe0"; } },
        { { "gid_index=0", "endpoint='verbs'" }, [](auto& c) { c.gid_index = 0; } },
        { { "ib_port=1", "endpoint='verbs'" }, [](auto& c) { c.ib_port = 1; } },
        { { "source is missing" },
          [](auto& c) {
              c.service = service_type::uc;
              c.connect.clear();
              c.source.clear();
          } },
        { { "connect='127.0.0.2:4791'", "alone" },
          [](auto& c) { c.connect = "127.0.0.2:4791"; } },
        { { "group='10.1.2.3'", "224.0.0.0 to 239.255.255.255" },
          [](auto& c) {
              c.service = service_type::ud;
              c.group = "10.1.2.3";
          } },
        { { "group='no.such.host.invalid'", "no multicast address" },
          [](auto& c) {
              c.service = service_type::ud;
              c.group = "no.such.host.invalid";
          } },
        { { "group='239.1.2.3'", "service='ud'" },
          [](auto& c) { c.group = "239.1.2.3"; } },
        { { "connect='239.1.2.3'", "service='ud'" },
          [](auto& c) { c.connect = "239.1.2.3"; } },
        { { "remote_qpn=34 ", "leave it out" },
          [](auto& c) {
              c.service = service_type::ud;
              c.connect = "239.1.2.3";
          } },
        { { "remote_qpn=16777215 ", "is none" },
          [](auto& c) { c.remote_qpn = 0xffffff; } },
        { { "mtu=1500", "256, 512, 1024, 2048 or 4096" }, [](auto& c) { c.mtu = 1500; } },
        { { "mtu=8192" }, [](auto& c) { c.mtu = 8192; } },
        { { "recv_depth=0", "1 to" }, [](auto& c) { c.recv_depth = 0; } },
        { { "send_depth=0", "1 to" }, [](auto& c) { c.send_depth = 0; } },
        { { "recv_depth=4294967295" }, [](auto& c) { c.recv_depth = ~0u; } },
        { { "header_bytes=1073741825" },
          [](auto& c) { c.header_bytes = (1u << 30) + 1; } },
        { { "message_bytes=1073741825" },
          [](auto& c) { c.message_bytes = (1u << 30) + 1; } },
        { { "rnr_timer=32", "0 to 31" }, [](auto& c) { c.rnr_timer = 32; } },
        { { "retry_count=8", "0 to 7" }, [](auto& c) { c.retry_count = 8; } },
        { { "rnr_retry=8", "0 to 7" }, [](auto& c) { c.rnr_retry = 8; } },
        { { "ack_timeout_ns=0" }, [](auto& c) { c.ack_timeout_ns = 0; } },
        { { "ack_timeout_ns=-5" }, [](auto& c) { c.ack_timeout_ns = -5; } },
        { { "ack_timeout_ns=9223372036854775807" },
          [](auto& c) { c.ack_timeout_ns = INT64_MAX; } },
        { { "socket_buffer_bytes=100" }, [](auto& c) { c.socket_buffer_bytes = 100; } },
        { { "socket_buffer_bytes=4294967295" },
          [](auto& c) { c.socket_buffer_bytes = ~0u; } },
        { { "rate=-1" }, [](auto& c) { c.rate_bytes = -1; } },
        { { "rate=", "nan" }, [](auto& c) { c.rate_bytes = std::nan(""); } },
        { { "rate=inf" },
          [](auto& c) { c.rate_bytes = std::numeric_limits<double>::infinity(); } },
    };
    for (const bad_config& bad : cases)
        check_refused("softroce", bad);
}

BOOST_AUTO_TEST_CASE(softroce_refuses_addresses_when_opened)
{
    const bad_config cases[] = {
        { { "source='192.0.2.77'", "127.0.0.1 (lo)", "127.0.0.0/8" },
          [](auto& c) { c.source = "192.0.2.77"; } },
        { { "source='no.such.host.invalid'" },
          [](auto& c) { c.source = "no.such.host.invalid"; } },
        { { "source='127.0.0.1:5'", "has a port" },
          [](auto& c) { c.source = "127.0.0.1:5"; } },
        { { "listen='127.0.0.9:5'", "source='127.0.0.8'", "listen alone" },
          [](auto& c) {
              c.listen = "127.0.0.9:5";
              c.source = "127.0.0.8";
              c.connect.clear();
              c.qpn = c.remote_qpn = 0;
          } },
        { { "peers='0.0.0.0'", "leave peers out" },
          [](auto& c) {
              c.listen = c.source;
              c.connect.clear();
              c.qpn = c.remote_qpn = 0;
              c.peers = "127.0.0.1,0.0.0.0";
          } },
        { { "connect='1.2.3.4.5'" }, [](auto& c) { c.connect = "1.2.3.4.5"; } },
        { { "connect='255.255.255.255' is the address of no host" },
          [](auto& c) { c.connect = "255.255.255.255"; } },
        { { "127.7.0.1", "qpn=remote_qpn=17", "itself" },
          [](auto& c) {
              c.source = c.connect = "127.7.0.1";
              c.remote_qpn = c.qpn;
          } },
    };
    for (const bad_config& bad : cases)
        check_refused("softroce", bad, true);
}

BOOST_AUTO_TEST_CASE(inproc_refuses_what_cannot_be)
{
    const bad_config cases[] = {
        { { "source is missing" }, [](auto& c) { c.source.clear(); } },
        { { "connect is missing" }, [](auto& c) { c.connect.clear(); } },
        { { "source and connect are both 'x'" },
          [](auto& c) { c.source = c.connect = "x"; } },
        { { "service='ud'", "rc or uc" }, [](auto& c) { c.service = service_type::ud; } },
        { { "rate", "inproc" }, [](auto& c) { c.rate_bytes = 1; } },
        { { "recv_depth", "at least 1" }, [](auto& c) { c.recv_depth = 0; } },
        { { "send_depth", "at least 1" }, [](auto& c) { c.send_depth = 0; } },
    };
    for (const bad_config& bad : cases)
        check_refused("inproc", bad);
}

BOOST_AUTO_TEST_CASE(unknown_endpoints_and_words_are_named)
{
    check_refused("softroce",
                  { { "endpoint='tcp'", "auto, softroce, verbs or inproc" },
                    [](auto& c) { c.endpoint = "tcp"; } });
    BOOST_CHECK_THROW(parse_service("rd"), config_error);
    BOOST_CHECK_THROW(parse_wait("poll"), config_error);
    for (const auto s : { service_type::rc, service_type::uc, service_type::ud })
        BOOST_TEST((parse_service(to_string(s)) == s));
    for (const auto w : { wait_mode::hybrid, wait_mode::busy, wait_mode::event })
        BOOST_TEST((parse_wait(to_string(w)) == w));
}

BOOST_AUTO_TEST_CASE(memory_that_the_cpu_cannot_store_into_is_refused)
{
    mem::region device;
    device.kind = mem::memory_kind::cuda;
    device.address = 0x1000;
    device.bytes = 4096;
    for (const char* endpoint : { "softroce", "inproc" }) {
        const auto made = make_endpoint(good(endpoint));
        BOOST_CHECK_THROW(made->attach(device, mem::region()), config_error);
        BOOST_TEST(!made->registrar());
        BOOST_CHECK_THROW(made->attach_registered(device, mem::region(), nullptr),
                          config_error);
    }
}

BOOST_AUTO_TEST_CASE(one_name_is_taken_once)
{
    for (const char* endpoint : { "softroce", "inproc" }) {
        const endpoint_config c = good(endpoint);
        const auto first = make_endpoint(c);
        const auto second = make_endpoint(c);
        first->open();
        BOOST_CHECK_EXCEPTION(second->open(), config_error, [&](const config_error& e) {
            const std::string said = e.what();
            return said.find("in use") != said.npos && said.find(c.source) != said.npos;
        });
        BOOST_TEST((second->state() == endpoint_state::idle));
        first->stop(); // it is free again
        BOOST_CHECK_NO_THROW(second->start());
    }
}

BOOST_AUTO_TEST_CASE(a_port_in_use_is_named)
{
    const endpoint_config c = good("softroce");
    const auto e = make_endpoint(c);
    {
        const bound_socket other(c.source);
        for (int i = 0; i < 2; ++i)
            BOOST_CHECK_EXCEPTION(e->open(), os_error, [&](const os_error& error) {
                return error.code().value() == EADDRINUSE &&
                       std::string(error.what()).find(c.source + ":4791") !=
                           std::string::npos;
            });
        BOOST_CHECK_THROW(e->start(), os_error);
        BOOST_TEST((e->state() == endpoint_state::idle));
    }
    BOOST_CHECK_NO_THROW(e->start()); // the same one, once the port is free
    BOOST_TEST((e->state() == endpoint_state::connecting));
}

BOOST_AUTO_TEST_CASE(a_source_is_found_by_the_route)
{
    endpoint_config c = good("softroce");
    c.source.clear();
    c.connect = "127.0.0.1";
    const auto e = make_endpoint(c); // from 127.0.0.1 to itself, by another QPN
    e->open();
    const auto same = make_endpoint(c);
    BOOST_CHECK_THROW(same->open(), config_error);
}

BOOST_AUTO_TEST_CASE(open_and_close_leave_nothing_behind)
{
    const auto round = [] {
        const auto e = make_endpoint(good("softroce"));
        e->start();
        const auto opened = make_endpoint(good("softroce"));
        opened->open();
        const auto made = make_endpoint(good("softroce"));
    };
    round();
    const long descriptors = testing::count_descriptors();
    const long threads = testing::count_threads();
    for (int i = 0; i < 100; ++i)
        round();
    BOOST_TEST(testing::count_descriptors() == descriptors);
    BOOST_TEST(testing::count_threads_down_to(threads) <= threads);
}

BOOST_AUTO_TEST_CASE(threads_may_open_and_close_one_address)
{
    const std::string address = fresh_address(2 * fresh_number());
    std::vector<std::thread> threads;
    std::atomic<unsigned> failed{ 0 };
    for (std::uint32_t t = 0; t < 2; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 500; ++i) {
                endpoint_config c = good("softroce");
                c.source = address;
                c.connect = "127.7.0.9";
                c.qpn = 100 + t;
                try {
                    make_endpoint(c)->start();
                } catch (const std::exception&) {
                    ++failed;
                }
            }
        });
    for (std::thread& t : threads)
        t.join();
    BOOST_TEST(failed == 0u);
}

BOOST_AUTO_TEST_CASE(the_pump_runs_on_the_cpu_that_was_asked_for)
{
    cpu_set_t allowed;
    BOOST_REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    int last = -1;
    for (int c = 0; c < CPU_SETSIZE; ++c)
        if (CPU_ISSET(c, &allowed))
            last = c;
    auto configs = gr::rdma::testing::softroce_endpoints().make({});
    configs.first.pump_cpu = last;
    const auto bound = make_endpoint(configs.first);
    bound->open();
    // The thread binds itself: wait for one of this process that is bound to just that
    // CPU.
    const std::string want = "Cpus_allowed_list:\t" + std::to_string(last) + "\n";
    bool found = false;
    for (int look = 0; look < 2000 && !found; ++look) {
        for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
            std::ifstream status(task.path() / "status");
            std::string text((std::istreambuf_iterator<char>(status)), {});
            found = found || text.find(want) != std::string::npos;
        }
        std::this_thread::yield();
    }
    BOOST_TEST((found || CPU_COUNT(&allowed) == 1));
    configs.second.pump_cpu = CPU_SETSIZE + 5;
    const auto nowhere = make_endpoint(configs.second);
    BOOST_CHECK_EXCEPTION(nowhere->open(), config_error, [](const config_error& e) {
        return std::string(e.what()).find("pump_cpu=") == 0;
    });
}
