/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_SOURCE_CHECKS_H
#define INCLUDED_RDMA_SOURCE_CHECKS_H

#include "core/sample.h"
#include "io/endpoint_config.h"
#include "mem/host_ring.h"
#include "mem/registration_plan.h"
#include "source_tags.h"

#include <cstddef>
#include <cstdint>
#include <gnuradio/rdma/source.h>
#include <optional>

namespace gr {
namespace rdma {

/*
 * What the parameters of rdma.source mean below it. Pure; each throws config_error naming
 * the parameter, the value and what would be right.
 */

//! Bytes of one output item.
std::size_t item_bytes(const source_config& c, core::sample_type sample);
//! Items of one ring slot, \p item bytes each.
std::uint64_t slot_items(const source_config& c, std::size_t item);
//! A host ring of at least \p slots slots.
mem::host_ring_config ring_config(const source_config& c, std::uint64_t slots);
//! The route that is forced, if one is.
std::optional<mem::route> route_setting(const source_config& c);
void check_rate(double rate);
void check_freq(double freq);
//! All but the log.
io::endpoint_config endpoint_settings(const source_config& c);
source_tags::config
tag_settings(const source_config& c, core::sample_type sample, std::size_t item);

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_SOURCE_CHECKS_H */
