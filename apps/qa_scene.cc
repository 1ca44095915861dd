/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scene.h"
#include "usage_error.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>

using namespace gr::rdma;
using namespace gr::rdma::apps;
using samples = std::vector<std::complex<float>>;

namespace {

constexpr double rate = 2e6;

samples make(const std::string& emitters, std::size_t n, std::uint64_t seed = 1)
{
    samples out(n);
    scene(emitters, rate, seed).generate(out.data(), n);
    return out;
}

// Mean power between two fractions of the rate, by plain Hann-windowed DFTs of 500
// points, each at a multiple of 0.002 of the rate.
double band_db(const samples& x, double low, double high)
{
    constexpr int n = 500;
    double sum = 0;
    int frames = 0;
    for (std::size_t at = 0; at + n <= x.size(); at += 10 * n, ++frames) {
        for (int bin = int(std::lround(low * n)); bin <= int(std::lround(high * n));
             ++bin) {
            const std::complex<double> step = std::polar(1.0, -2 * M_PI * bin / n);
            std::complex<double> sum_bin = 0, turn = 1;
            for (int i = 0; i < n; ++i, turn *= step)
                sum_bin += std::complex<double>(x[at + i]) * turn *
                           (0.5 - 0.5 * std::cos(2 * M_PI * i / n));
            // The sum of w**2 is 3/8 n: this is the power in the bin's own width.
            sum += std::norm(sum_bin) / (0.375 * n) / n;
        }
    }
    return 10 * std::log10(sum / frames);
}

// The noise's share of a band.
double noise_db(double low, double high)
{
    return 20 * std::log10(0.004) + 10 * std::log10(high - low);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_seed_gives_the_same_samples_in_any_blocks)
{
    const samples whole = make("default", 10000, 7);
    samples pieces(10000);
    scene s("default", rate, 7);
    for (std::size_t at = 0, n = 1; at < pieces.size(); at += n, n = n * 3 % 1009) {
        n = std::min(n, pieces.size() - at);
        s.generate(&pieces[at], n);
    }
    BOOST_TEST(whole == pieces, boost::test_tools::per_element());
    BOOST_TEST((whole != make("default", 10000, 8)));
}

BOOST_AUTO_TEST_CASE(each_emitter_has_its_power_in_its_own_band)
{
    const struct {
        const char* name;
        double low, high, db, tolerance;
    } rows[] = {
        { "tone", 0.09, 0.11, 20 * std::log10(0.10), 0.2 },
        { "fm", -0.36, -0.24, 20 * std::log10(0.15), 0.3 },
        { "chirp", -0.20, -0.04, 20 * std::log10(0.12), 0.3 },
        // On for three fifths of the time.
        { "qpsk", 0.26, 0.34, 20 * std::log10(0.12) + 10 * std::log10(0.6), 0.5 },
    };
    for (const auto& row : rows) {
        const samples x = make(row.name, 400000);
        BOOST_TEST_CONTEXT(row.name)
        {
            const double db = band_db(x, row.low, row.high);
            BOOST_TEST(db > row.db - row.tolerance);
            BOOST_TEST(db < row.db + row.tolerance);
            for (const auto& other : rows)
                if (other.name != row.name)
                    BOOST_TEST(band_db(x, other.low, other.high) <
                               noise_db(other.low, other.high) + 3);
        }
    }
}

BOOST_AUTO_TEST_CASE(all_emitters_together_stay_below_full_scale)
{
    float most = 0;
    for (const auto& x : make("default", 400000))
        most = std::max({ most, std::fabs(x.real()), std::fabs(x.imag()) });
    BOOST_TEST(most < 1);
    BOOST_TEST(most > 0.3);
}

BOOST_AUTO_TEST_CASE(noise_alone_is_gaussian_with_its_power)
{
    double sum = 0, fourth = 0;
    const samples x = make("noise", 200000);
    for (const auto& v : x) {
        sum += std::norm(v);
        fourth += double(std::norm(v)) * std::norm(v);
    }
    const double power = sum / double(x.size());
    BOOST_TEST(std::fabs(10 * std::log10(power) - 20 * std::log10(0.004)) < 0.1);
    // E|x|**4 = 2 (E|x|**2)**2 for circular Gaussian noise.
    BOOST_TEST(std::fabs(fourth / double(x.size()) / (power * power) - 2) < 0.05);
}

BOOST_AUTO_TEST_CASE(bad_lists_are_refused_by_name)
{
    for (const std::string bad :
         { "tune", "tone,tone", "tone,", "", ",", "default,tone" })
        BOOST_CHECK_EXCEPTION(
            scene(bad, rate, 1), usage_error, [&](const usage_error& e) {
                const std::string what = e.what();
                return what.find("--scene='" + bad + "'") == 0 &&
                       what.find("tone, fm, qpsk, chirp") != what.npos;
            });
}

BOOST_AUTO_TEST_CASE(quantising_rounds_and_saturates)
{
    const samples x = { { 0, 0 }, { 0.5f, -0.5f }, { 2, -2 }, { 1 / 256.0f, -1 } };
    const auto as = [&](core::sample_type type) {
        std::vector<std::byte> out(x.size() * core::sample_bytes(type));
        quantise(type, x.data(), x.size(), out.data());
        return out;
    };
    const auto check = [&](core::sample_type type, auto zero, std::vector<int> want) {
        const auto bytes = as(type);
        std::vector<decltype(zero)> got(want.size());
        BOOST_REQUIRE(bytes.size() == got.size() * sizeof zero);
        std::memcpy(got.data(), bytes.data(), bytes.size());
        for (std::size_t i = 0; i < want.size(); ++i)
            BOOST_TEST(int(got[i]) == want[i]);
    };
    using core::sample_type;
    check(sample_type::cu8, std::uint8_t(), { 128, 128, 192, 64, 255, 0, 128, 0 });
    check(sample_type::sc8, std::int8_t(), { 0, 0, 64, -64, 127, -128, 0, -128 });
    check(sample_type::sc16,
          std::int16_t(),
          { 0, 0, 16384, -16384, 32767, -32768, 128, -32768 });
    check(sample_type::byte, std::int8_t(), { 0, 64, 127, 0 });
    BOOST_TEST(std::memcmp(as(sample_type::fc32).data(), x.data(), 32) == 0);
}
