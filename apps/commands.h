/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_COMMANDS_H
#define INCLUDED_RDMA_APPS_COMMANDS_H

#include "stop_signals.h"

#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace apps {

/*!
 * \brief The subcommands: words behind the subcommand's name in, exit code out.
 *
 * 0: done, or ended by a signal as asked. 1: something outside the command line is wrong.
 * \throws usage_error, config_error (exit code 2), or any std::exception (1)
 */
using words = std::vector<std::string>;
int send_command(const words& args, stop_signals& signals);
int receive_command(const words& args, stop_signals& signals);
int spectrum_command(const words& args, stop_signals& signals);
int bench_command(const words& args, stop_signals& signals);
//! `bench gpu`, of the words behind it. Only in builds with CUDA.
int bench_gpu_command(const words& args, stop_signals& signals);

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_COMMANDS_H */
