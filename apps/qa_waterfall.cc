/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis.h"
#include "colour_map.h"
#include "qa_temp.h"
#include "usage_error.h"
#include "waterfall.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <png.h>
#include <set>

using namespace gr::rdma::apps;

namespace {

void draw(const std::string& path, const waterfall& w, const waterfall_caption& caption)
{
    output_file file(path);
    write_waterfall_png(file, w, caption);
}

struct picture {
    unsigned width = 0, height = 0;
    std::vector<unsigned char> rgb;
    const unsigned char* at(unsigned x, unsigned y) const
    {
        return &rgb[(std::size_t(y) * width + x) * 3];
    }
    int light(unsigned x, unsigned y) const
    {
        return at(x, y)[0] + at(x, y)[1] + at(x, y)[2];
    }
    int dark_pixels(unsigned x0, unsigned y0, unsigned x1, unsigned y1) const
    {
        int dark = 0;
        for (unsigned x = x0; x < x1; ++x)
            for (unsigned y = y0; y < y1; ++y)
                dark += light(x, y) < 300;
        return dark;
    }
};

picture read_png(const std::string& path)
{
    png_image image;
    std::memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    BOOST_REQUIRE(png_image_begin_read_from_file(&image, path.c_str()));
    image.format = PNG_FORMAT_RGB;
    picture p{ image.width, image.height, {} };
    p.rgb.resize(PNG_IMAGE_SIZE(image));
    BOOST_REQUIRE(png_image_finish_read(&image, nullptr, p.rgb.data(), 0, nullptr));
    return p;
}

std::string labels(double low, double high, int most)
{
    std::string out;
    for (const auto& t : round_ticks(low, high, most))
        out += (out.empty() ? "" : " ") + t.label;
    return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(ticks_stand_at_round_values)
{
    BOOST_TEST(labels(0, 1, 10) == "0.0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1.0");
    BOOST_TEST(labels(1089, 1091, 5) == "1089.0 1089.5 1090.0 1090.5 1091.0");
    BOOST_TEST(labels(-1.1, 1.1, 3) == "-1 0 1");
    BOOST_TEST(labels(0, 0.178, 10) == "0.00 0.02 0.04 0.06 0.08 0.10 0.12 0.14 0.16");
    BOOST_TEST(labels(3, 3, 10) == "");
}

BOOST_AUTO_TEST_CASE(any_span_has_a_fair_number_of_different_ticks)
{
    for (double span = 1e-7; span < 1e9; span *= 1.37) {
        const auto ticks = round_ticks(-span / 3, span, 10);
        BOOST_TEST(ticks.size() >= 4u);
        BOOST_TEST(ticks.size() <= 11u);
        std::set<std::string> different;
        for (const auto& t : ticks)
            different.insert(t.label);
        BOOST_TEST(different.size() == ticks.size());
    }
}

BOOST_AUTO_TEST_CASE(lightness_grows_along_the_colour_map)
{
    double before = -1;
    for (int i = 0; i <= 1000; ++i) {
        const colour c = map_colour(i / 1000.0);
        const double light = 0.2126 * c.red + 0.7152 * c.green + 0.0722 * c.blue;
        BOOST_TEST(light >= before - 0.75); // rounding to 8 bits
        before = std::max(before, light);
    }
    BOOST_TEST(int(map_colour(-3).blue) == 4);
    BOOST_TEST(int(map_colour(7).green) == 255);
}

BOOST_AUTO_TEST_CASE(lines_fold_to_means_or_maxima)
{
    for (const auto hold : { hold_mode::mean, hold_mode::max }) {
        waterfall w(16, 0.5, hold);
        const std::size_t spectra = 3 * waterfall::max_lines;
        for (std::size_t i = 0; i < spectra; ++i) {
            std::vector<float> power(16, 1.0f);
            power[3] = float(i % 4 + 1);
            w.add(power.data(), 0.5 * double(i));
        }
        BOOST_TEST(w.lines() == spectra / 4);
        BOOST_TEST(w.line_seconds() == 2.0);
        const float want = hold == hold_mode::max ? 4.0f : 2.5f;
        for (std::size_t i = 0; i < w.lines(); ++i) {
            BOOST_REQUIRE(w.line(i));
            BOOST_TEST(w.line(i)[2] == 1.0f);
            BOOST_TEST(std::fabs(w.line(i)[3] - want) < 1e-5);
        }
        BOOST_TEST(std::fabs(w.mean()[3] - 2.5f) < 1e-5);
        BOOST_TEST(w.peak()[3] == 4.0f);
    }
}

BOOST_AUTO_TEST_CASE(many_bins_are_joined_by_their_maximum)
{
    waterfall w(65536, 1, hold_mode::mean);
    std::vector<float> power(65536, 1.0f);
    power[6400] = 9.0f;
    w.add(power.data(), 0);
    BOOST_TEST(w.columns() == 1024u);
    BOOST_TEST(w.bins() == 65536u);
    BOOST_TEST(w.line(0)[100] == 9.0f);
    BOOST_TEST(w.line(0)[101] == 1.0f);
}

BOOST_AUTO_TEST_CASE(a_hole_in_time_stays_empty)
{
    waterfall w(16, 1, hold_mode::mean);
    const std::vector<float> power(16, 1.0f);
    w.add(power.data(), 0);
    w.mark_gap(5);
    w.add(power.data(), 5.1);
    BOOST_TEST(w.lines() == 6u);
    BOOST_TEST((w.line(0) != nullptr));
    BOOST_TEST((w.line(3) == nullptr));
    BOOST_TEST((w.line(5) != nullptr));
    BOOST_TEST(w.gap_count() == 1u);
}

BOOST_AUTO_TEST_CASE(gap_marks_are_bounded_and_counted)
{
    waterfall w(16, 1, hold_mode::mean);
    for (std::size_t i = 0; i < waterfall::max_gaps + 10; ++i)
        w.mark_gap(double(i));
    BOOST_TEST(w.gaps().size() == waterfall::max_gaps);
    BOOST_TEST(w.gap_count() == waterfall::max_gaps + 10);
}

BOOST_AUTO_TEST_CASE(decibels_scale_to_noise_and_signal)
{
    std::vector<float> db(100000, -93.0f);
    std::fill(db.begin(), db.begin() + 1000, -11.0f);
    double low = 0, high = 0;
    autoscale_db(db, low, high);
    BOOST_TEST(low == -95);
    BOOST_TEST(high == -10);
    autoscale_db(std::vector<float>(100, -50.0f), low, high);
    BOOST_TEST(high - low == 20);
    autoscale_db({}, low, high);
    BOOST_TEST(high > low);
}

BOOST_AUTO_TEST_CASE(the_picture_shows_a_tone_where_it_is)
{
    temp_folder t;
    waterfall w(256, 0.01, hold_mode::mean);
    std::vector<float> power(256, 1e-9f);
    power[192] = 1e-2f; // a quarter of the rate above the centre
    for (int i = 0; i < 100; ++i)
        w.add(power.data(), i * 0.01);
    w.mark_gap(0.5);
    waterfall_caption caption;
    caption.title = "A title";
    caption.subtitle = "more";
    caption.rate = 2e6;
    caption.freq = 1.09e9;
    draw(t.file("w.png"), w, caption);
    const picture p = read_png(t.file("w.png"));
    BOOST_TEST(p.width == 1280u);
    BOOST_TEST(p.height == 840u);
    // The plot: 1024 columns from 96 on, four a bin; lines from 240 to 760.
    BOOST_TEST(p.light(96 + 192 * 4 + 2, 300) > 600);
    BOOST_TEST(p.light(96 + 191 * 4 + 2, 300) < 60);
    BOOST_TEST(p.light(96 + 193 * 4 + 2, 300) < 60);
    // The gap's line, half way down, is cyan; its mark is outside on the right.
    BOOST_TEST(int(p.at(97, 500)[2]) > 200);
    BOOST_TEST(int(p.at(1128, 500)[0]) < 100);
    BOOST_TEST(p.dark_pixels(96, 15, 400, 40) > 50);      // title
    BOOST_TEST(p.dark_pixels(90, 770, 1130, 785) > 100);  // tick labels
    BOOST_TEST(p.dark_pixels(1165, 240, 1200, 770) > 50); // of the colour bar
}

BOOST_AUTO_TEST_CASE(a_fixed_range_changes_the_colours)
{
    temp_folder t;
    waterfall w(64, 0.01, hold_mode::mean);
    const std::vector<float> power(64, 1e-5f); // -50 dB
    w.add(power.data(), 0);
    waterfall_caption caption;
    caption.has_db_min = caption.has_db_max = true;
    caption.db_min = -60;
    caption.db_max = -40;
    draw(t.file("mid.png"), w, caption);
    caption.db_min = -150;
    caption.db_max = -60;
    draw(t.file("hot.png"), w, caption);
    const int mid = read_png(t.file("mid.png")).light(500, 400);
    const int hot = read_png(t.file("hot.png")).light(500, 400);
    BOOST_TEST(mid > 150);
    BOOST_TEST(mid < 450);
    BOOST_TEST(hot > 600);
}

BOOST_AUTO_TEST_CASE(a_stream_without_a_spectrum_still_gives_a_picture)
{
    temp_folder t;
    draw(t.file("e.png"), waterfall(64, 0.01, hold_mode::mean), waterfall_caption());
    BOOST_TEST(read_png(t.file("e.png")).width == 1280u);
}

BOOST_AUTO_TEST_CASE(a_picture_that_cannot_be_written_is_named)
{
    const waterfall w(64, 0.01, hold_mode::mean);
    for (const std::string path : { "/no/such/folder/x.png", "/dev/full" })
        BOOST_CHECK_EXCEPTION(
            draw(path, w, waterfall_caption()), run_error, [&](const run_error& e) {
                return std::string(e.what()).find(path) != std::string::npos;
            });
}
