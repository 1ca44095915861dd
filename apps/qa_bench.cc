/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// What the benchmarks measure with: statistics, the search for a rate without loss, and
// senders that send when they are told to.
#include "bench_measure.h"
#include "bench_traffic.h"

#include <gnuradio/blocks/null_sink.h>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <thread>

using namespace gr::rdma;
using namespace gr::rdma::apps;

namespace {

bool comes(const traffic& t, std::uint64_t bytes)
{
    for (int i = 0; i < 2000 && t.received() < bytes; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return t.received() == bytes;
}

traffic_config on_demand(std::uint64_t message_bytes)
{
    traffic_config c = loopback_config(1024, message_bytes);
    c.on_demand = true;
    return c;
}

// Loses a byte above its limit.
class limited : public traffic
{
public:
    limited(double rate, double limit) : d_loses(rate > limit) {}
    std::uint64_t received() const override { return d_loses ? 999 : 1000; }
    std::uint64_t sent() const override { return 1000; }
    void end_sending() override {}

private:
    const bool d_loses;
};

} // namespace

BOOST_AUTO_TEST_CASE(medians_and_percentiles)
{
    BOOST_TEST(median({}) == 0);
    BOOST_TEST(median({ 3 }) == 3);
    BOOST_TEST(median({ 4, 1, 2 }) == 2);
    BOOST_TEST(median({ 4, 1, 2, 3 }) == 2.5);
    std::vector<double> hundred;
    for (int i = 100; i > 0; --i)
        hundred.push_back(i);
    BOOST_TEST(percentile_99({}) == 0);
    BOOST_TEST(percentile_99(hundred) == 99);
}

BOOST_AUTO_TEST_CASE(the_search_ends_at_the_last_rate_without_loss)
{
    std::vector<double> tried;
    const path p = { "limited",
                     [&](const traffic_config& c) {
                         tried.push_back(c.rate);
                         return std::make_unique<limited>(c.rate, 2e5);
                     },
                     false };
    stop_signals signals;
    series s{ 1024, p.name, false, {} };
    BOOST_TEST(find_lossless(p, loopback_config(1024, 4096), 0.001, signals, s));
    // 100, 125, 156, 195 and, too fast, 244 kB/s.
    BOOST_TEST(tried.size() == 5u);
    BOOST_TEST(tried.back() > 2e5);
    BOOST_REQUIRE(s.rates.size() == 1u);
    BOOST_TEST(s.rates[0] > 0);
    BOOST_TEST(s.lost() == 0);
    BOOST_TEST(s.received == 1000);
}

BOOST_AUTO_TEST_CASE(a_path_that_always_loses_has_no_rate)
{
    const path p = { "lossy",
                     [](const traffic_config& c) {
                         return std::make_unique<limited>(c.rate, 0);
                     },
                     false };
    stop_signals signals;
    series s{ 1024, p.name, false, {} };
    BOOST_TEST(find_lossless(p, loopback_config(1024, 4096), 0.001, signals, s));
    BOOST_TEST(s.rates == std::vector<double>{ 0 }, boost::test_tools::per_element());
    BOOST_TEST(s.cpu_per_gigabyte() == 0);
}

BOOST_AUTO_TEST_CASE(messages_on_demand_reach_what_is_behind_the_receiver)
{
    constexpr std::uint64_t message = 16384;
    for (const bool udp : { false, true })
        BOOST_TEST_CONTEXT((udp ? "udp" : "softroce"))
        {
            const auto sink = gr::blocks::null_sink::make(4);
            receiving to;
            to.wait = "busy";
            to.item_bytes = 4;
            to.behind = { sink };
            to.received = [sink] { return 4 * sink->nitems_read(0); };
            const auto idle =
                udp ? make_udp_source_traffic(on_demand(message), to)
                    : make_source_traffic(on_demand(message), io::service_type::rc, to);
            BOOST_TEST(idle->sent() == 0u);
            for (std::uint64_t n = 1; n <= 3; ++n) {
                idle->send_message();
                BOOST_TEST(comes(*idle, n * message));
            }
        }
}
