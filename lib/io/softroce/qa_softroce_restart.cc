/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// A sender of a static connection that is started anew: it begins at its first PSN, where
// its receiver is far beyond.
#include "testing/endpoint_factories.h"
#include "testing/endpoint_pair.h"
#include "testing/has_text.h"

#include <boost/test/unit_test.hpp>

using namespace gr::rdma;
using namespace gr::rdma::testing;

BOOST_AUTO_TEST_CASE(both_sides_tell_what_a_restarted_sender_would_have_to_do)
{
    constexpr std::uint32_t bytes = 3 << 19; // more than the window
    io::endpoint_config common;
    common.service = io::service_type::rc;
    common.mtu = 256;
    endpoint_pair<softroce_endpoints> pair(common, bytes, 4);
    pair.b->post(0, 4);
    pair.start();
    BOOST_TEST(pair.a->send(bytes_t(bytes)));
    BOOST_TEST(pair.b->next().bytes == bytes);
    BOOST_TEST((pair.a->next_sent().status == io::wc_status::success));
    pair.a = nullptr;

    const std::uint32_t first = pair.configs.first.psn;
    const std::uint32_t next = (first + bytes / 256) & 0xffffff;
    const std::string expected = std::to_string(next);
    pair.a = std::make_unique<contract_end>(pair.configs.first, bytes, 1);
    pair.a->ep->start();
    BOOST_TEST(pair.a->send(bytes_t(bytes)));
    const auto says = [](const contract_end& end, const std::string& words) {
        return await([&] { return has(end.ep->status_text(), words); });
    };
    BOOST_TEST(says(*pair.a, "waits for PSN " + expected), pair.a->describe());
    BOOST_TEST((pair.a->ep->state() == io::endpoint_state::connecting));
    BOOST_TEST(says(*pair.b, "begins again at PSN " + std::to_string(first)),
               pair.b->describe());
    BOOST_TEST(has(pair.b->ep->status_text(), "psn=" + expected));
    pair.a = nullptr;

    // As they say.
    io::endpoint_config there = pair.configs.first;
    there.psn = next;
    pair.a = std::make_unique<contract_end>(there, bytes, 1);
    pair.a->ep->start();
    BOOST_TEST(pair.a->send(bytes_t(bytes, std::byte{ 7 })));
    const io::completion c = pair.b->next();
    BOOST_TEST((pair.b->stored(c) == bytes_t(bytes, std::byte{ 7 })));
    BOOST_TEST((pair.a->next_sent().status == io::wc_status::success));
}
