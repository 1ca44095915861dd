/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ending_sink.h"
#include "core/clock.h"

#include <gnuradio/io_signature.h>

namespace gr {
namespace rdma {
namespace apps {

ending_sink::ending_sink(const std::string& name,
                         std::size_t item_bytes,
                         std::function<void()> on_finished)
    : gr::sync_block(name,
                     gr::io_signature::make(1, 1, static_cast<int>(item_bytes)),
                     gr::io_signature::make(0, 0, 0)),
      d_on_finished(std::move(on_finished))
{
}

void ending_sink::finish()
{
    if (!d_finished.exchange(true) && d_on_finished)
        d_on_finished();
}

void ending_sink::rethrow() const
{
    if (finished() && d_error)
        std::rethrow_exception(d_error);
}

int ending_sink::work(int noutput_items,
                      gr_vector_const_void_star& input_items,
                      gr_vector_void_star&)
{
    if (finished())
        return WORK_DONE;
    int result = WORK_DONE;
    if (d_first_ns == 0)
        d_first_ns = core::monotonic_ns();
    try {
        result = consume(input_items[0], noutput_items);
    } catch (...) {
        d_error = std::current_exception();
    }
    d_span_ns = core::monotonic_ns() - d_first_ns;
    if (result == WORK_DONE)
        finish();
    return result;
}

bool ending_sink::start()
{
    try {
        begin();
    } catch (...) {
        d_error = std::current_exception();
        finish(); // GNU Radio would hang on what start() throws
    }
    return true;
}

bool ending_sink::stop()
{
    finish();
    return true;
}

} // namespace apps
} // namespace rdma
} // namespace gr
