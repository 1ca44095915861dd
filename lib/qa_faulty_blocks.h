/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_QA_FAULTY_BLOCKS_H
#define INCLUDED_RDMA_QA_FAULTY_BLOCKS_H

// What the tests of faults on the imitated driver share.
#include "qa_device_blocks.h"

#include <cstdlib>

namespace gr {
namespace rdma {
namespace testing {

//! Copies by kernels, of which one may be stuck, and another may fault.
class copier : public device_block
{
public:
    explicit copier(fake_cuda& fake, const std::string& wait = "event")
        : gr::block("copier",
                    gr::io_signature::make(1, 1, 4, ring_buffer::type),
                    gr::io_signature::make(1, 1, 4, ring_buffer::type)),
          device_block("cuda:0", wait),
          d_fake(fake)
    {
    }
    int device_work(int room,
                    gr_vector_int& there,
                    gr_vector_const_void_star& in,
                    gr_vector_void_star& out) override
    {
        check(launch_error, "launch_copy");
        const int n = std::min(room, there[0]);
        const auto bytes = static_cast<std::size_t>(n) * 4;
        const bool faults = nitems_read(0) >= fault_at;
        const void* const from = in[0];
        void* const to = out[0];
        d_fake.launch(stream(), [this, from, to, bytes, faults] {
            entered.reach(1);
            work.pass();
            if (faults)
                d_fake.fault(CUDA_ERROR_ILLEGAL_ADDRESS);
            std::memcpy(to, from, bytes);
        });
        if (throws) {
            entered.wait(1);
            d_fake.fault(CUDA_ERROR_ILLEGAL_ADDRESS);
            work.set(true);
            check(CUDA_ERROR_ILLEGAL_ADDRESS, "launch_copy");
        }
        consume_each(n);
        return n;
    }

    int launch_error = 0;
    std::uint64_t fault_at = UINT64_MAX; //!< item from which on a kernel faults
    bool throws = false;                 //!< the second launch of a call is refused
    gate work;
    milestone entered;

private:
    fake_cuda& d_fake;
};

//! So many items, and then none, for ever.
inline source_options quiet_after(std::uint64_t items)
{
    source_options s;
    s.total = UINT64_MAX;
    s.allowed = items;
    return s;
}

//! As long as it lives, kernels take turns.
struct turns {
    turns() { ::setenv("RDMA_CHECK_KERNELS", "1", 1); }
    ~turns() { ::unsetenv("RDMA_CHECK_KERNELS"); }
};

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_QA_FAULTY_BLOCKS_H */
