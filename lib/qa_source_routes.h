/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_QA_SOURCE_ROUTES_H
#define INCLUDED_RDMA_QA_SOURCE_ROUTES_H

// rdma.source on an imitated RDMA device and an imitated GPU at once.
#include "qa_source_gpu.h"
#include "testing/fake_verbs.h"
#include "testing/verbs_factories.h"

#include <gnuradio/rdma/error.h>

#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <initializer_list>

namespace gr {
namespace rdma {
namespace testing {

//! A GPU and a NIC that can do everything; whatever is left of them fails the case.
struct nic_and_gpu {
    explicit nic_and_gpu(const fake_cuda::device& gpu = fake_cuda::device())
        : fake({ gpu })
    {
        verbs_addresses() = { "192.0.2.1", "192.0.2.2" };
        mem::use_cuda_api(&fake.api());
        set_peermem(0);
    }
    ~nic_and_gpu()
    {
        world.set_device_memory(nullptr, 0);
        mem::use_cuda_api(nullptr);
        BOOST_TEST(world.problems() == "");
        BOOST_TEST(fake.held() == std::vector<long>(7), boost::test_tools::per_element());
    }
    //! 0: nvidia-peermem is there; else what ibv_reg_mr says without it.
    void set_peermem(int code)
    {
        world.set_device_memory([this](const void* at) { return fake.maps(at); }, code);
    }

    fake_cuda fake;
    fake_verbs world;
};

inline source_config listening(std::size_t message_bytes = 8192)
{
    source_config c;
    c.sample = "byte";
    c.message_bytes = message_bytes;
    c.buffers = 4;
    c.endpoint = "verbs";
    c.listen = verbs_addresses().second + ":18601";
    c.memory = "cuda:0";
    return c;
}

inline io::endpoint_config calling()
{
    io::endpoint_config c;
    c.endpoint = "verbs";
    c.source = verbs_addresses().first;
    c.connect = verbs_addresses().second + ":18601";
    return c;
}

template <class condition>
bool becomes_true(condition is_true)
{
    for (int i = 0; i < 20000; ++i) {
        if (is_true())
            return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

//! A source, a device block and, if asked for, a host block behind it.
struct gpu_flowgraph {
    gpu_flowgraph(fake_cuda& fake, const source_config& config, bool host_reader = true)
        : block(source::make(config)),
          on_device(gnuradio::make_block_sptr<device_reader>(fake))
    {
        top->connect(block, 0, on_device, 0);
        if (host_reader) {
            on_host = gnuradio::make_block_sptr<recorder>(1);
            top->connect(block, 0, on_host, 0);
        }
    }
    ~gpu_flowgraph() { stop(); }
    void stop()
    {
        top->stop();
        top->wait();
    }
    //! Waits for a connection that is over to make way for another one to come.
    bool listens_again(std::uint64_t reconnects)
    {
        return becomes_true([&] {
            return block->counters().at("reconnects") >= reconnects &&
                   block->state() == "connecting" &&
                   block->status_text().find("listening again") == std::string::npos;
        });
    }
    //! Sends \p messages and compares what the host's reader got since the last time.
    //! Both readers have them when it returns.
    void pass(const std::vector<std::vector<std::byte>>& messages)
    {
        const std::size_t before = on_host->bytes.size();
        const auto sent = joined(messages);
        sender tx(calling());
        tx.send(messages);
        BOOST_TEST(on_host->wait_bytes(before + sent.size()));
        BOOST_TEST(on_device->wait_items(before + sent.size()));
        tx.stop();
        std::lock_guard<std::mutex> lock(on_host->mutex);
        BOOST_TEST(on_host->bytes.size() == before + sent.size());
        BOOST_TEST((std::equal(
            sent.begin(), sent.end(), on_host->bytes.begin() + std::ptrdiff_t(before))));
    }

    gr::top_block_sptr top = gr::make_top_block("top");
    source::sptr block;
    std::shared_ptr<device_reader> on_device;
    std::shared_ptr<recorder> on_host;
};

inline bool holds(const std::string& text, std::initializer_list<const char*> parts)
{
    for (const char* part : parts)
        if (text.find(part) == std::string::npos) {
            BOOST_TEST_MESSAGE("'" << part << "' is not in: " << text);
            return false;
        }
    return true;
}

//! What starting says: "os 95 ...", "config ..."; "" if it starts.
inline std::string started(gpu_flowgraph& g)
{
    try {
        g.top->start();
    } catch (const os_error& e) {
        return "os " + std::to_string(e.code().value()) + " " + e.what();
    } catch (const config_error& e) {
        return std::string("config ") + e.what();
    } catch (const std::exception& e) {
        return e.what();
    }
    return "";
}

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_QA_SOURCE_ROUTES_H */
