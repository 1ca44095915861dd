/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_RECEIVING_H
#define INCLUDED_RDMA_APPS_RECEIVING_H

#include "console.h"
#include "ending_sink.h"
#include "options.h"
#include "stop_signals.h"

#include <gnuradio/rdma/source.h>
#include <gnuradio/top_block.h>
#include <string>

namespace gr {
namespace rdma {
namespace apps {

//! What `receive` and `spectrum` share: a flowgraph behind rdma.source, watched until it
//! ends.

source_config make_source_config(const connection_options& connection,
                                 const stream_options& stream,
                                 const ring_options& ring);

//! GNU Radio's log goes to stderr, warnings and worse only: stdout carries data. Call it
//! before the first block is made.
void log_to_stderr();

/*!
 * \brief Start \p graph, watch it, stop it.
 *
 * Ends when \p sink is finished, a signal came, the stream closed or failed and \p sink
 * has taken the rest, or nothing came for `idle` seconds after the first message.
 * \return why, in the words of summary::ended
 * \throws config_error, os_error from the start of the source; what the sink threw
 */
std::string run_flowgraph(gr::top_block& graph,
                          const source& from,
                          const ending_sink& sink,
                          const ring_options& ring,
                          stop_signals& signals,
                          console& talk);

//! Show the summary of a run of \p from that has ended. \throws run_error it failed, or
//! all that the peer sent was refused, so that it left
void finish(const summary& s, const source& from, console& talk);

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_RECEIVING_H */
