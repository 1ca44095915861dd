/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_SPECTRA_ERROR_H
#define INCLUDED_RDMA_TESTING_SPECTRA_ERROR_H

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace gr {
namespace rdma {
namespace testing {

/*!
 * \brief How far spectra of \p bins bins each are off, at the worst bin of all.
 *
 * Relative to the bin, or to the mean of its vector if that is more, for what a transform
 * leaves in bins that are nearly empty. Infinite where the lengths differ or a value is
 * no number.
 */
inline double worst_error(const std::vector<float>& got,
                          const std::vector<float>& want,
                          std::size_t bins)
{
    if (got.size() != want.size())
        return std::numeric_limits<double>::infinity();
    double worst = 0;
    for (std::size_t v = 0; v < got.size(); v += bins) {
        double mean = 0;
        for (std::size_t k = v; k < v + bins; ++k)
            mean += want[k] / static_cast<double>(bins);
        for (std::size_t k = v; k < v + bins; ++k) {
            const double error =
                std::abs(got[k] - want[k]) / std::max<double>(want[k], mean);
            if (!(error <= std::numeric_limits<double>::max()))
                return std::numeric_limits<double>::infinity();
            worst = std::max(worst, error);
        }
    }
    return worst;
}

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_SPECTRA_ERROR_H */
