/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// cuda_ring on the imitated driver: the contract, and everything that can be refused.
#include "mem/cuda_ring.h"
#include "testing/fake_cuda.h"
#include "testing/gpu_rings.h"
#include "testing/process_resources.h"

#include <gnuradio/rdma/error.h>

#include <boost/test/unit_test.hpp>

#include <string>
#include <sys/stat.h>
#include <unistd.h>

using namespace gr::rdma;
using namespace gr::rdma::mem;
using testing::fake_cuda;

namespace {

std::vector<fake_cuda::device> one_device(std::uint64_t granularity)
{
    std::vector<fake_cuda::device> devices(1);
    devices[0].granularity = granularity;
    return devices;
}

// One driver a case: the contract's cases make their factory first.
struct imitated_driver {
    explicit imitated_driver(std::vector<fake_cuda::device> devices)
        : fake(std::move(devices))
    {
        use_cuda_api(&fake.api());
    }
    ~imitated_driver() { use_cuda_api(nullptr); }
    fake_cuda fake;
};

imitated_driver& shared_driver()
{
    static imitated_driver driver(one_device(2 << 20));
    use_cuda_api(&driver.fake.api());
    return driver;
}

struct imitated_rings_base {
    imitated_driver& driver = shared_driver();
};

struct cuda_rings : imitated_rings_base, testing::gpu_rings {
    std::vector<long> held()
    {
        std::vector<long> all = driver.fake.held();
        all.push_back(testing::count_descriptors());
        return all;
    }
};

std::shared_ptr<gpu_ring> make(std::uint64_t min_bytes, std::uint64_t unit_bytes = 1)
{
    gpu_ring_config config;
    config.min_bytes = min_bytes;
    config.unit_bytes = unit_bytes;
    return std::dynamic_pointer_cast<gpu_ring>(open_gpu("cuda:0")->make_ring(config));
}

template <typename Error>
std::string refusal(std::uint64_t min_bytes)
{
    try {
        make(min_bytes);
    } catch (const Error& e) {
        return e.what();
    }
    return "not refused";
}

bool has(const std::string& text, const std::string& part)
{
    const bool found = text.find(part) != std::string::npos;
    if (!found)
        BOOST_TEST_MESSAGE("'" + part + "' is not in: " + text);
    return found;
}

} // namespace

RDMA_RING_CONTRACT(cuda_rings)

BOOST_AUTO_TEST_CASE(every_failing_call_releases_what_was_taken)
{
    imitated_driver driver(one_device(65536));
    const auto gpu = open_gpu("cuda:0"); // its context is held all along
    gpu_ring_config config;
    config.min_bytes = 65536;
    const std::vector<long> before = driver.fake.held();
    int refused = 0;
    for (const CUresult code : { CUDA_ERROR_OUT_OF_MEMORY,
                                 CUDA_ERROR_INVALID_VALUE,
                                 CUDA_ERROR_NOT_SUPPORTED,
                                 CUDA_ERROR_INVALID_CONTEXT,
                                 CUDA_ERROR_UNKNOWN }) {
        int nth = -1;
        do {
            ++nth;
            driver.fake.fail(nth, code);
            try {
                gpu->make_ring(config);
            } catch (const cuda_error& e) {
                ++refused;
                BOOST_TEST(e.code() == code);
                BOOST_TEST(has(e.what(), "cu"));
                BOOST_TEST(has(e.what(), "cuda:0 (Imitation 9000, 0000:17:00.0)"));
            } catch (const out_of_memory& e) {
                ++refused;
                BOOST_TEST(code == CUDA_ERROR_OUT_OF_MEMORY);
                BOOST_TEST(has(e.what(), "65536 bytes (64 KiB)"));
            }
            BOOST_TEST(driver.fake.held() == before, boost::test_tools::per_element());
        } while (driver.fake.calls() > nth);
        BOOST_TEST(nth > 7);
    }
    BOOST_TEST(refused > 5 * 7);
    driver.fake.fail(-1, CUDA_SUCCESS);
}

BOOST_AUTO_TEST_CASE(the_whole_is_refused_where_the_device_cannot)
{
    auto devices = one_device(65536);
    devices[0].attributes[CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED] = 0;
    imitated_driver driver(devices);
    const std::string why = refusal<config_error>(65536);
    BOOST_TEST(has(why, "cuda:0 (Imitation 9000, 0000:17:00.0)"));
    BOOST_TEST(has(why, "virtual memory management"));
    BOOST_TEST(has(why, "memory='host'"));
    std::string reason;
    BOOST_TEST(!choose_gpu("auto", &reason));
    BOOST_TEST(has(reason, "virtual memory management"));
}

BOOST_AUTO_TEST_CASE(a_ring_longer_than_the_memory_is_refused_with_the_one_that_fits)
{
    auto devices = one_device(65536);
    devices[0].total_bytes = 10 * 65536 + 1;
    imitated_driver driver(devices);
    const auto first = make(3 * 65536);
    const std::string why = refusal<out_of_memory>(8 * 65536);
    BOOST_TEST(has(why, "524288 bytes (512 KiB)"));
    BOOST_TEST(has(why, std::to_string(7 * 65536 + 1) + " bytes"));
    BOOST_TEST(has(why, "largest that fits has " + std::to_string(7 * 65536)));
    BOOST_TEST(make(7 * 65536)->first_mapping().bytes == 7u * 65536);
}

BOOST_AUTO_TEST_CASE(memory_is_asked_for_rdma_and_the_answer_is_kept)
{
    for (const bool offered : { false, true })
        for (const bool made : { false, true }) {
            auto devices = one_device(65536);
            devices[0]
                .attributes[CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED] =
                offered;
            devices[0].rdma_capable = made;
            imitated_driver driver(devices);
            BOOST_TEST(make(1)->rdma_capable() == (offered && made));
            BOOST_TEST(driver.fake.rdma_asked() == offered);
        }
}

BOOST_AUTO_TEST_CASE(export_is_whole_pages_and_says_where_the_span_begins)
{
    imitated_driver driver(one_device(65536));
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const auto ring = make(4 * 65536, 1);
    const region r = ring->first_mapping();
    const long descriptors = testing::count_descriptors();
    {
        const dma_buf whole = ring->export_dma_buf(0, r.bytes);
        BOOST_TEST(whole.offset() == 0u);
        BOOST_TEST(whole.bytes() == r.bytes);
        const dma_buf odd = ring->export_dma_buf(page + 100, 10);
        BOOST_TEST(odd.offset() == 100u);
        BOOST_TEST(odd.bytes() == page);
        BOOST_TEST(driver.fake.exported_address() == r.address + page);
        struct ::stat status;
        BOOST_REQUIRE(::fstat(odd.fd(), &status) == 0);
        BOOST_TEST(static_cast<std::uint64_t>(status.st_size) == page);
        BOOST_TEST(ring->export_dma_buf(page - 1, 2).bytes() == 2 * page);
        dma_buf moved = ring->export_dma_buf(0, 1);
        moved = ring->export_dma_buf(1, 1);
        BOOST_TEST(moved.offset() == 1u);
    }
    BOOST_TEST(testing::count_descriptors() == descriptors);
    BOOST_CHECK_THROW(ring->export_dma_buf(r.bytes, 1), config_error);
    BOOST_CHECK_THROW(ring->export_dma_buf(0, r.bytes + 1), config_error);
}

BOOST_AUTO_TEST_CASE(pages_of_any_size_hold_the_span)
{
    for (const std::uint64_t page : { 4096, 16384, 65536 })
        for (const std::uint64_t start : { 0, 1, 4095, 4096, 65535, 65536, 100000 })
            for (const std::uint64_t bytes : { 1, 8, 4096, 65537 }) {
                const page_span span = whole_pages(start, bytes, page);
                BOOST_TEST(span.start % page == 0u);
                BOOST_TEST(span.bytes % page == 0u);
                BOOST_TEST(span.start <= start);
                BOOST_TEST(span.start + page > start);
                BOOST_TEST(span.start + span.bytes >= start + bytes);
                BOOST_TEST(span.start + span.bytes < start + bytes + page);
            }
}

BOOST_AUTO_TEST_CASE(export_is_refused_in_words_where_it_cannot_be)
{
    auto devices = one_device(65536);
    devices[0].attributes[CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED] = 0;
    imitated_driver driver(devices);
    const auto ring = make(1);
    BOOST_CHECK_EXCEPTION(ring->export_dma_buf(0, 1), config_error, [](const auto& e) {
        return has(e.what(), "open kernel modules") && has(e.what(), "Imitation 9000");
    });
    driver.fake.api().mem_get_handle_for_address_range = nullptr;
    BOOST_CHECK_EXCEPTION(ring->export_dma_buf(0, 1), config_error, [](const auto& e) {
        return has(e.what(), "CUDA 11.7");
    });
}

BOOST_AUTO_TEST_CASE(an_integrated_gpu_takes_pinned_host_memory)
{
    auto devices = one_device(65536);
    devices[0].attributes[CU_DEVICE_ATTRIBUTE_INTEGRATED] = 1;
    imitated_driver driver(devices);
    const auto gpu = open_gpu("cuda:0");
    const std::vector<long> before = driver.fake.held();
    {
        gpu_ring_config config;
        config.min_bytes = 65536;
        const auto ring = gpu->make_ring(config);
        const region r = ring->first_mapping();
        BOOST_TEST(r.device == 0);
        BOOST_TEST((r.kind == memory_kind::cuda));
        BOOST_REQUIRE(r.host != nullptr);
        r.host[1] = std::byte(42);
        BOOST_TEST((r.host[r.bytes + 1] == std::byte(42)));
        BOOST_TEST(!std::dynamic_pointer_cast<gpu_ring>(ring));
        BOOST_TEST(driver.fake.held().back() == 1);
        ring->zero(0, 2);
        BOOST_TEST((r.host[1] == std::byte(0)));
    }
    BOOST_TEST(driver.fake.held() == before, boost::test_tools::per_element());
}
