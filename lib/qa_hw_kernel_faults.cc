/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Kernels that fault on the machine's GPU: whose name is told? Each case has a process of
// its own, since CUDA is of no more use to one in which a kernel has faulted.
#include "mem/gpu.h"
#include "testing/has_text.h"
#include "testing/patience.h"
#include "testing/pattern_kernels.h"
#include "testing/skip.h"

#include <gnuradio/blocks/null_sink.h>
#include <gnuradio/io_signature.h>
#include <gnuradio/rdma/device_block.h>
#include <gnuradio/top_block.h>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

using namespace gr::rdma;
using namespace gr::rdma::testing;

namespace {

const auto on_ring = std::cref<const gr::buffer_type_base>(ring_buffer::type);

gr::io_signature::sptr ports(int n)
{
    return gr::io_signature::make(n, n, n == 0 ? 0 : 4, on_ring);
}

class writer : public device_block
{
public:
    explicit writer(std::uint64_t total)
        : gr::block("writer", ports(0), ports(1)), d_total(total)
    {
    }
    int device_work(int room,
                    gr_vector_int&,
                    gr_vector_const_void_star&,
                    gr_vector_void_star& out) override
    {
        if (d_n == d_total)
            return WORK_DONE;
        const auto n =
            std::min<std::uint64_t>(static_cast<unsigned>(room), d_total - d_n);
        check(launch_pattern(static_cast<std::uint32_t*>(out[0]), d_n, n, stream()),
              "launch_pattern");
        d_n += n;
        return static_cast<int>(n);
    }

private:
    const std::uint64_t d_total;
    std::uint64_t d_n = 0;
};

class offender : public device_block
{
public:
    offender(std::uint64_t fault_at, int (*fault)(CUstream_st*))
        : gr::block("offender", ports(1), ports(1)), d_fault_at(fault_at), d_fault(fault)
    {
    }
    int device_work(int room,
                    gr_vector_int& there,
                    gr_vector_const_void_star&,
                    gr_vector_void_star& out) override
    {
        const int n = std::min(room, there[0]);
        check(launch_pattern(static_cast<std::uint32_t*>(out[0]),
                             nitems_read(0),
                             static_cast<std::uint64_t>(n),
                             stream()),
              "launch_pattern");
        if (nitems_read(0) + static_cast<std::uint64_t>(n) >= d_fault_at)
            check(d_fault(stream()), "launch of a kernel that faults");
        consume_each(n);
        return n;
    }

private:
    const std::uint64_t d_fault_at;
    int (*const d_fault)(CUstream_st*);
};

//! A thousand items, and then none, for ever.
class quiet_source : public gr::block
{
public:
    quiet_source()
        : gr::block("quiet_source",
                    gr::io_signature::make(0, 0, 0),
                    gr::io_signature::make(1, 1, 4))
    {
    }
    int general_work(int room,
                     gr_vector_int&,
                     gr_vector_const_void_star&,
                     gr_vector_void_star&) override
    {
        const int n = std::min(room, 1000 - static_cast<int>(nitems_written(0)));
        return std::max(n, 0);
    }
};

class reader : public device_block
{
public:
    reader() : gr::block("reader", ports(1), gr::io_signature::make(0, 0, 0, on_ring)) {}
    bool start() override
    {
        const bool started = device_block::start();
        d_wrong = make_count();
        return started;
    }
    int device_work(int n,
                    gr_vector_int&,
                    gr_vector_const_void_star& in,
                    gr_vector_void_star&) override
    {
        check(launch_check(static_cast<const std::uint32_t*>(in[0]),
                           nitems_read(0),
                           static_cast<std::uint64_t>(n),
                           1,
                           0,
                           d_wrong,
                           stream()),
              "launch_check");
        consume_each(n);
        return 0;
    }

private:
    unsigned long long* d_wrong = nullptr;
};

// What the child prints before its end, which comes by _Exit(); "hangs" after a while.
std::string in_a_child(const std::function<std::string()>& work)
{
    int ends[2];
    BOOST_REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60 * patience());
        const std::string text = work();
        if (::write(ends[1], text.data(), text.size()) < 0)
            std::_Exit(1);
        std::_Exit(0);
    }
    ::close(ends[1]);
    std::string text;
    char part[4096];
    for (ssize_t n; (n = ::read(ends[0], part, sizeof part)) > 0;)
        text.append(part, static_cast<std::size_t>(n));
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? text : text + "hangs, or was killed";
}

struct needs_gpu {
    needs_gpu()
    {
        const std::string reason = in_a_child([] { return mem::state_of_gpus().reason; });
        if (!reason.empty())
            skip("gpu", reason);
    }
};

// The three blocks' failures, a line each: those of the writer, the offender, the reader.
std::vector<std::string>
failures_of(std::uint64_t total, int (*fault)(CUstream_st*), bool in_turns)
{
    const std::string text = in_a_child([&] {
        if (in_turns)
            ::setenv("RDMA_CHECK_KERNELS", "1", 1);
        auto top = gr::make_top_block("faults");
        auto from = gnuradio::make_block_sptr<writer>(total);
        auto middle =
            gnuradio::make_block_sptr<offender>(std::min(total, total / 2 + 1), fault);
        auto to = gnuradio::make_block_sptr<reader>();
        top->connect(from, 0, middle, 0);
        top->connect(middle, 0, to, 0);
        top->run();
        return from->failure() + "\n" + middle->failure() + "\n" + to->failure() + "\n";
    });
    std::printf("%s", text.c_str());
    std::vector<std::string> lines(3);
    std::size_t at = 0;
    for (std::string& line : lines) {
        const std::size_t end = text.find('\n', at);
        BOOST_REQUIRE_MESSAGE(end != std::string::npos, text);
        line = text.substr(at, end - at);
        at = end + 1;
    }
    BOOST_TEST(text.size() == at);
    return lines;
}

const std::uint64_t many = (1ULL << 30) / patience();

} // namespace

BOOST_TEST_GLOBAL_FIXTURE(needs_gpu);

BOOST_AUTO_TEST_CASE(in_turns_all_name_the_block_at_fault)
{
    for (const auto fault : { launch_fault, launch_trap }) {
        const auto told = failures_of(many, fault, true);
        BOOST_TEST(has(told[1], "in a kernel of offender"));
        for (const std::string& why : told) {
            BOOST_TEST(!has(why, "kernel of writer"));
            BOOST_TEST(!has(why, "kernel of reader"));
            BOOST_TEST(!has(why, " or "));
        }
    }
}

BOOST_AUTO_TEST_CASE(alone_at_work_it_is_named_alone)
{
    // The writer is through with one round when the offender's first kernel starts, and
    // the reader waits for that kernel.
    const auto told = failures_of(1000, launch_fault, false);
    BOOST_TEST(has(told[1], "in a kernel of offender"));
    BOOST_TEST(!has(told[1], "kernel of reader"));
    BOOST_TEST(!has(told[1], "or reader"));
}

BOOST_AUTO_TEST_CASE(it_is_told_though_nothing_more_comes)
{
    for (const bool by_host : { false, true }) {
        const std::string text = in_a_child([&] {
            auto top = gr::make_top_block("quiet");
            auto from = gnuradio::make_block_sptr<quiet_source>();
            auto middle = gnuradio::make_block_sptr<offender>(0, launch_fault);
            top->connect(from, 0, middle, 0);
            if (by_host)
                top->connect(middle, 0, gr::blocks::null_sink::make(4), 0);
            else
                top->connect(middle, 0, gnuradio::make_block_sptr<reader>(), 0);
            top->run();
            return middle->failure();
        });
        std::printf("%s\n", text.c_str());
        BOOST_TEST(has(text, "in a kernel of "));
        BOOST_TEST(has(text.substr(text.find("in a kernel of")), "offender"));
        BOOST_TEST(!has(text, "hangs"));
    }
}

BOOST_AUTO_TEST_CASE(at_full_rate_it_is_among_the_named)
{
    for (const auto fault : { launch_fault, launch_trap }) {
        const auto told = failures_of(many, fault, false);
        const std::string all = told[0] + told[1] + told[2];
        BOOST_TEST(has(all, "CUDA_ERROR"));
        BOOST_TEST(has(all.substr(std::min(all.find("in a kernel of"), all.size())),
                       "offender"));
    }
}
