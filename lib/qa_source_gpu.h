/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_QA_SOURCE_GPU_H
#define INCLUDED_RDMA_QA_SOURCE_GPU_H

// What the tests of rdma.source with its ring on a GPU share: the imitated driver and a
// reader on it.
#include "mem/cuda_gpu.h"
#include "qa_source.h"
#include "testing/fake_cuda.h"

#include <functional>
#include <gnuradio/rdma/device_block.h>

namespace gr {
namespace rdma {
namespace testing {

struct on_imitated_driver {
    on_imitated_driver() { mem::use_cuda_api(&fake.api()); }
    ~on_imitated_driver() { mem::use_cuda_api(nullptr); }
    fake_cuda fake;
};

// A kernel that keeps the bytes, late.
class device_reader : public device_block
{
public:
    explicit device_reader(fake_cuda& fake)
        : gr::block("device_reader",
                    gr::io_signature::make(1, 1, 1, ring_buffer::type),
                    gr::io_signature::make(0, 0, 0, ring_buffer::type)),
          device_block("cuda:0"),
          d_fake(fake)
    {
    }
    int device_work(int n,
                    gr_vector_int&,
                    gr_vector_const_void_star& in,
                    gr_vector_void_star&) override
    {
        const auto* from = static_cast<const std::byte*>(in[0]);
        if (arrives)
            arrives(nitems_read(0));
        lowest = std::min<std::uintptr_t>(lowest, reinterpret_cast<std::uintptr_t>(from));
        d_fake.launch(stream(), [this, from, n] {
            if (kernel_runs)
                kernel_runs();
            const std::vector<std::byte> first(from, from + n);
            std::this_thread::sleep_for(std::chrono::microseconds(200));
            changed = changed || std::memcmp(first.data(), from, first.size()) != 0;
            bytes.insert(bytes.end(), from, from + n);
        });
        items += static_cast<std::uint64_t>(n);
        consume_each(n);
        return 0;
    }

    bool wait_items(std::uint64_t n) const
    {
        for (int i = 0; i < 20000 && items < n; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return items >= n;
    }

    std::atomic<std::uint64_t> items{ 0 }; //!< that its kernels were given
    // Of the stream's thread, until the flowgraph has ended.
    std::vector<std::byte> bytes;
    bool changed = false;
    std::uintptr_t lowest = UINTPTR_MAX;
    //! Called first in each work() with the number of the first item.
    std::function<void(std::uint64_t)> arrives;
    //! Called first in each kernel.
    std::function<void()> kernel_runs;

private:
    fake_cuda& d_fake;
};

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_QA_SOURCE_GPU_H */
