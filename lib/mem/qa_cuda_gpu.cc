/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// GPUs by name, what a driver's answers mean, streams and events: on the imitated driver.
#include "mem/cuda_bar1.h"
#include "mem/cuda_gpu.h"
#include "testing/fake_cuda.h"

#include <gnuradio/rdma/error.h>

#include <boost/test/unit_test.hpp>

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

using namespace gr::rdma;
using namespace gr::rdma::mem;
using testing::fake_cuda;

namespace {

bool has(const std::string& text, const std::string& part)
{
    const bool found = text.find(part) != std::string::npos;
    if (!found)
        BOOST_TEST_MESSAGE("'" + part + "' is not in: " + text);
    return found;
}

// In the order of the bus the second comes first.
std::vector<fake_cuda::device> two_devices()
{
    std::vector<fake_cuda::device> devices(2);
    devices[0].pci = "0000:C1:00.0";
    devices[1].pci = "0000:17:00.0";
    devices[1].name = "Imitation 8000";
    devices[1].uuid = "GPU-0001aaaa-0405-0607-0809-0a0b0c0d0e0f";
    return devices;
}

struct fixture {
    fake_cuda fake{ two_devices() };
    fixture() { use_cuda_api(&fake.api()); }
    ~fixture() { use_cuda_api(nullptr); }
};

// What a thread of a stream waits for until the test lets it go on.
class gate
{
public:
    void wait()
    {
        std::unique_lock<std::mutex> lock(d_mutex);
        d_changed.wait(lock, [this] { return d_open; });
    }
    void open()
    {
        std::lock_guard<std::mutex> lock(d_mutex);
        d_open = true;
        d_changed.notify_all();
    }

private:
    std::mutex d_mutex; // guards d_open
    std::condition_variable d_changed;
    bool d_open = false;
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_gpu_has_three_names, fixture)
{
    const auto by_number = open_gpu("cuda:1");
    BOOST_TEST(by_number->info().name == "Imitation 8000");
    BOOST_TEST(by_number->info().pci == "0000:17:00.0");
    BOOST_TEST(by_number->info().compute_capability == 90);
    for (const char* name : { "cuda:0000:17:00.0",
                              "cuda:17:00.0",
                              "cuda:GPU-0001aaaa-0405-0607-0809-0a0b0c0d0e0f",
                              "cuda:gpu-0001AAAA",
                              "cuda:GPU-0001a" })
        BOOST_TEST(open_gpu(name) == by_number);
    BOOST_TEST(open_gpu("cuda:0000:c1:00.0")->info().ordinal == 0);
    BOOST_TEST(open_gpu("cuda:0000:C1:00.0")->info().tag() == "cuda:0");
}

BOOST_FIXTURE_TEST_CASE(a_name_of_none_or_several_is_refused_with_the_list, fixture)
{
    for (const char* name :
         { "cuda:2", "cuda:", "cuda:-1", "cuda:0000:18:00.0", "cuda:x" })
        BOOST_CHECK_EXCEPTION(open_gpu(name), config_error, [&](const auto& e) {
            return has(e.what(), name) && has(e.what(), "cuda:0 = 0000:c1:00.0") &&
                   has(e.what(), "cuda:1 = 0000:17:00.0 = GPU-0001aaaa") &&
                   has(e.what(), "Imitation 8000");
        });
    BOOST_CHECK_EXCEPTION(open_gpu("cuda:GPU-0001"), config_error, [](const auto& e) {
        return has(e.what(), "several");
    });
}

BOOST_FIXTURE_TEST_CASE(memory_is_auto_host_or_a_gpu, fixture)
{
    BOOST_TEST(!choose_gpu("host"));
    BOOST_TEST(choose_gpu("cuda:1")->info().ordinal == 1);
    for (const char* memory : { "", "gpu", "cuda", "HOST", "device" })
        BOOST_CHECK_EXCEPTION(choose_gpu(memory), config_error, [&](const auto& e) {
            return has(e.what(), "memory='" + std::string(memory) + "': ") &&
                   has(e.what(), "auto, host");
        });
}

// Not even a driver is needed to know these.
BOOST_AUTO_TEST_CASE(a_name_that_no_gpu_can_have_is_refused_for_its_form)
{
    for (const char* memory : { "cuda:",
                                "cuda:-1",
                                "cuda:x",
                                "cuda: 0",
                                "cuda:0 ",
                                "cuda:1.5",
                                "cuda:0x1",
                                "cuda:auto",
                                "cuda:GPU-",
                                "cuda:GPU-xyz",
                                "cuda:GPU6f1c",
                                "cuda:17:00",
                                "cuda:17:00.",
                                "cuda:17.00.0",
                                "cuda:0000:17:00.0.1",
                                "cuda:0000:0000:17:00.0",
                                "cuda:0000::17:00.0",
                                "cuda::17:00.0" })
        BOOST_CHECK_EXCEPTION(choose_gpu(memory), config_error, [&](const auto& e) {
            return has(e.what(),
                       "memory='" + std::string(memory) + "' is no GPU's name: ") &&
                   has(e.what(), "such as cuda:0, cuda:GPU-");
        });
}

BOOST_FIXTURE_TEST_CASE(a_name_that_a_gpu_can_have_is_looked_for, fixture)
{
    for (const char* memory : { "cuda:1",
                                "cuda:gpu-0001AAAA",
                                "cuda:GPU-0001aaaa-0405-0607-0809-0a0b0c0d0e0f",
                                "cuda:17:00.0",
                                "cuda:0000:17:00.0" })
        BOOST_TEST(choose_gpu(memory)->info().ordinal == 1);
    for (const char* memory :
         { "cuda:7", "cuda:99999999999999999999", "cuda:GPU-6", "cuda:00010000:17:00.0" })
        BOOST_CHECK_EXCEPTION(choose_gpu(memory), config_error, [&](const auto& e) {
            return has(e.what(), "memory='" + std::string(memory) + "': ") &&
                   has(e.what(), "cuda:1 = 0000:17:00.0");
        });
}

BOOST_AUTO_TEST_CASE(a_machine_without_a_gpu_says_why)
{
    if (has_cuda())
        return; // qa_hw_cuda_ring has the other half
    BOOST_TEST(!state_of_gpus().reason.empty());
    std::string reason;
    BOOST_TEST(!choose_gpu("auto", &reason));
    BOOST_TEST(has(reason, state_of_gpus().reason));
    BOOST_CHECK_EXCEPTION(choose_gpu("cuda"), config_error, [](const auto& e) {
        return has(e.what(), "auto, host, or cuda: with");
    });
    BOOST_CHECK_EXCEPTION(choose_gpu("cuda:0"), config_error, [](const auto& e) {
        return has(e.what(), "memory='cuda:0': " + state_of_gpus().reason);
    });
}

BOOST_AUTO_TEST_CASE(the_states_of_a_driver_are_told_apart)
{
    struct {
        int error, driver, build, devices;
        gpu_absence absence;
        const char* words;
    } const cases[] = {
        { 0, 13000, 13000, 1, gpu_absence::none, "" },
        { 0, 12080, 12040, 8, gpu_absence::none, "" },
        { 35, 0, 13000, 0, gpu_absence::no_driver, "libcuda.so.1 was not found" },
        { 35, 12040, 13000, 0, gpu_absence::too_old, "has CUDA 12.4" },
        { 35, 12040, 13000, 0, gpu_absence::too_old, "needs a driver for CUDA 13.0" },
        { 100, 13000, 13000, 0, gpu_absence::no_device, "CUDA_VISIBLE_DEVICES" },
        { 0, 13000, 13000, 0, gpu_absence::no_device, "sees no GPU" },
        { 34, 0, 13000, 0, gpu_absence::stub_library, "stub" },
        { 34, 13000, 13000, 0, gpu_absence::stub_library, "LD_LIBRARY_PATH" },
        { 802, 13000, 13000, 0, gpu_absence::broken, "nvidia-fabricmanager" },
        { 803, 13000, 13000, 0, gpu_absence::broken, "different releases" },
        { 999, 13000, 13000, 0, gpu_absence::broken, "999" },
    };
    for (const auto& c : cases) {
        const gpu_state s = explain_driver(c.error, c.driver, c.build, c.devices);
        BOOST_TEST_CONTEXT(c.error << " " << c.driver)
        {
            BOOST_TEST((s.absence == c.absence));
            BOOST_TEST(has(s.reason, c.words));
            BOOST_TEST(s.reason.empty() == (c.absence == gpu_absence::none));
        }
    }
}

BOOST_FIXTURE_TEST_CASE(the_threads_own_context_comes_back, fixture)
{
    const auto first = open_gpu("cuda:0");
    const auto second = open_gpu("cuda:1");
    BOOST_TEST(fake.current_device() == -1);
    BOOST_TEST(first->make_current() == 0);
    const auto stream = second->make_stream();
    const auto event = second->make_event();
    BOOST_TEST(event->record(*stream) == 0);
    BOOST_TEST(event->synchronize() == 0);
    second->free_bytes();
    BOOST_TEST(fake.current_device() == 0);
}

BOOST_FIXTURE_TEST_CASE(a_context_is_held_as_long_as_something_of_it, fixture)
{
    BOOST_TEST(fake.held()[0] == 0);
    auto gpu = open_gpu("cuda:1");
    BOOST_TEST(fake.held()[0] == 1);
    auto stream = gpu->make_stream();
    gpu.reset();
    BOOST_TEST(fake.held()[0] == 1);
    stream.reset();
    BOOST_TEST(fake.held() == std::vector<long>(7), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(an_event_is_done_when_the_work_before_it_is, fixture)
{
    const auto gpu = open_gpu("cuda:0");
    const auto a = gpu->make_stream();
    const auto b = gpu->make_stream();
    const auto event = gpu->make_event();
    BOOST_TEST(event->query() == 0);
    gate first;
    fake.launch(a->native(), [&] { first.wait(); });
    BOOST_TEST(event->record(*a) == 0);
    BOOST_TEST(event->query() == gpu_not_ready);
    // b goes on only behind a.
    std::vector<int> order;
    BOOST_TEST(b->wait(*event) == 0);
    struct mark : gpu_callback {
        explicit mark(std::vector<int>& o) : order(o) {}
        void on_done() noexcept override
        {
            order.push_back(2);
            reached.open();
        }
        std::vector<int>& order;
        gate reached;
    } m(order);
    BOOST_TEST(b->notify(m) == 0);
    order.push_back(1);
    first.open();
    m.reached.wait();
    BOOST_TEST(order == (std::vector<int>{ 1, 2 }), boost::test_tools::per_element());
    BOOST_TEST(event->query() == 0);
}

BOOST_FIXTURE_TEST_CASE(a_fault_on_the_device_is_an_error_code_with_a_name, fixture)
{
    const auto gpu = open_gpu("cuda:0");
    const auto stream = gpu->make_stream();
    const auto event = gpu->make_event();
    fake.fault(CUDA_ERROR_ILLEGAL_ADDRESS);
    BOOST_TEST(event->record(*stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    BOOST_TEST(stream->synchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
    BOOST_TEST(event->query() == CUDA_ERROR_ILLEGAL_ADDRESS);
    BOOST_TEST(gpu_error_text(700) == "CUDA_ERROR_ILLEGAL_ADDRESS (700)");
}

BOOST_FIXTURE_TEST_CASE(each_failing_call_is_an_exception_that_leaves_nothing, fixture)
{
    char memory[64];
    int nth = -1;
    do {
        ++nth;
        fake.fail(nth, CUDA_ERROR_UNKNOWN);
        try {
            const auto gpu = open_gpu("cuda:1");
            const auto stream = gpu->make_stream();
            const auto event = gpu->make_event();
            const auto pinned = gpu->pin(memory, sizeof memory);
            gpu->free_bytes();
        } catch (const cuda_error& e) {
            BOOST_TEST(e.code() == CUDA_ERROR_UNKNOWN);
            BOOST_TEST(has(e.what(), "cu"));
        }
        BOOST_TEST(fake.held() == std::vector<long>(7), boost::test_tools::per_element());
    } while (fake.calls() > nth);
    BOOST_TEST(nth > 20);
}

BOOST_FIXTURE_TEST_CASE(flushing_needs_a_driver_that_can, fixture)
{
    const auto gpu = open_gpu("cuda:0");
    BOOST_TEST(gpu->flush_rdma_writes() == 0);
    BOOST_TEST(fake.calls_of("cuFlushGPUDirectRDMAWrites") == 1);
    fake.api().flush_gpu_direct_rdma_writes = nullptr;
    BOOST_TEST(gpu->flush_rdma_writes() != 0);
}

BOOST_AUTO_TEST_CASE(bar1_is_the_first_wide_prefetchable_region)
{
    const char* h200 = "0x00000000a2000000 0x00000000a2ffffff 0x0000000000040200\n"
                       "0x0000204000000000 0x0000207fffffffff 0x000000000014220c\n"
                       "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
                       "0x0000208000000000 0x0000208001ffffff 0x000000000014220c\n";
    BOOST_TEST(bar1_bytes_of(h200) == 256ULL << 30);
    BOOST_TEST(bar1_bytes_of("0x0 0x0 0x0\n") == 0u);
    BOOST_TEST(bar1_bytes_of("") == 0u);
    BOOST_TEST(machine_bar1("ffff:ff:1f.7").total_bytes == 0u);
}
