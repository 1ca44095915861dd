/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_VERBS_BENCH_H
#define INCLUDED_RDMA_TESTING_VERBS_BENCH_H

#include "io/verbs/verbs_endpoint.h"
#include "testing/endpoint_pair.h"
#include "testing/fake_verbs.h"
#include "testing/verbs_factories.h"

#include <gnuradio/rdma/error.h>

#include <initializer_list>
#include <mutex>
#include <string>

namespace gr {
namespace rdma {
namespace testing {

//! Does \p text hold all of \p parts? Says which it does not.
inline bool holds(const std::string& text, std::initializer_list<const char*> parts)
{
    for (const char* part : parts)
        if (text.find(part) == std::string::npos) {
            BOOST_TEST_MESSAGE("'" << part << "' is not in: " << text);
            return false;
        }
    return true;
}

//! What an exception says, with its errno in front if it has one; "" if there is none.
template <typename F>
std::string thrown(F f)
{
    try {
        f();
    } catch (const os_error& e) {
        return std::to_string(e.code().value()) + " " + e.what();
    } catch (const config_error& e) {
        return std::string("config ") + e.what();
    }
    return "";
}

//! Lines that an endpoint logs, from any thread.
class log_lines
{
public:
    core::log_sink sink()
    {
        return [this](core::log_level, const std::string& text) {
            std::lock_guard<std::mutex> lock(d_mutex);
            d_text += text + "\n";
        };
    }
    std::string text() const
    {
        std::lock_guard<std::mutex> lock(d_mutex);
        return d_text;
    }

private:
    mutable std::mutex d_mutex; // guards d_text
    std::string d_text;
};

//! A world of fake devices for one case; whatever is left of it fails the case.
struct fake_case {
    fake_case() { verbs_addresses() = { "192.0.2.1", "192.0.2.2" }; }
    ~fake_case() { BOOST_TEST(world.problems() == ""); }

    static io::endpoint_config calls(const std::string& port = "7")
    {
        io::endpoint_config c;
        c.endpoint = "verbs";
        c.source = "192.0.2.1";
        c.connect = "192.0.2.2:" + port;
        c.recv_depth = c.send_depth = 4;
        c.connect_timeout_ns = 5000000000;
        return c;
    }
    static io::endpoint_config listens(const std::string& port = "7")
    {
        io::endpoint_config c = calls(port);
        c.source = "";
        c.listen = c.connect;
        c.connect = "";
        return c;
    }
    static io::endpoint_config static_end(io::service_type service)
    {
        io::endpoint_config c = calls();
        c.connect = "192.0.2.2";
        c.service = service;
        c.qpn = 1;
        return c;
    }
    static bool fails(const contract_end& e)
    {
        return becomes(*e.ep, io::endpoint_state::failed);
    }

    fake_verbs world; // outlives the ends of the case
};

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_VERBS_BENCH_H */
