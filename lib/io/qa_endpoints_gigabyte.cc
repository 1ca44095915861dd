/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */

// The longest message that there may be, apart from the others for the memory it takes.
#include "testing/endpoint_contract.h"
#include "testing/endpoint_factories.h"
#include "testing/skip.h"

#include <fstream>
#include <string>

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

constexpr std::uint64_t longest = 1u << 30;
constexpr std::uint64_t needed = 6 * longest;

// Of what Linux calls available, bytes.
std::uint64_t available_memory()
{
    std::ifstream file("/proc/meminfo");
    std::string name;
    std::uint64_t kibibytes = 0;
    while (file >> name && name != "MemAvailable:") {
    }
    file >> kibibytes;
    return kibibytes * 1024;
}

struct enough_memory {
    enough_memory()
    {
        if (available_memory() < needed)
            skip("memory", "6 GiB of free memory for messages of 1 GiB");
    }
};
BOOST_GLOBAL_FIXTURE(enough_memory);

template <typename Factory>
void a_message_of_one_gibibyte_arrives()
{
    io::endpoint_config c = contract_config(io::service_type::rc, 2);
    c.mtu = 4096;
    endpoint_pair<Factory> p(c, longest, 1);
    BOOST_REQUIRE(p.b->post(0, 1) == 1u);
    p.start();
    BOOST_REQUIRE(p.a->send(pattern(1, longest)));
    BOOST_REQUIRE(p.a->send(pattern(2, 1)));
    const io::completion got = p.b->next();
    BOOST_TEST((got.status == io::wc_status::success));
    BOOST_TEST(got.bytes == longest);
    BOOST_TEST(std::equal(p.a->messages[0].begin(),
                          p.a->messages[0].end(),
                          p.b->ring.begin() + contract_end::room));
    BOOST_TEST(p.b->guards_intact());
    p.b->post(0, 1);
    BOOST_TEST(p.b->next().bytes == 1u);
    BOOST_TEST(p.a->next_sent().cookie == 0u);
    BOOST_TEST(p.a->next_sent().cookie == 1u);
}

} // namespace

BOOST_AUTO_TEST_CASE(inproc) { a_message_of_one_gibibyte_arrives<inproc_endpoints>(); }

BOOST_AUTO_TEST_CASE(softroce)
{
    a_message_of_one_gibibyte_arrives<softroce_endpoints>();
}
