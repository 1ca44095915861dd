/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_AXIS_H
#define INCLUDED_RDMA_APPS_AXIS_H

#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace apps {

//! A labelled mark on an axis.
struct tick {
    double value;
    std::string label;
};

/*!
 * \brief Marks at round values (1, 2 or 5 times a power of ten) in [\p low, \p high],
 * at most \p most of them, labels with just the decimals that tell them apart.
 * Empty if \p high is not above \p low.
 */
std::vector<tick> round_ticks(double low, double high, int most);

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_AXIS_H */
