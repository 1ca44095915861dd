/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis.h"
#include "colour_map.h"
#include "png_file.h"
#include "spectrum_csv.h"
#include "usage_error.h"
#include "waterfall.h"

#include <algorithm>
#include <cairo.h>
#include <cmath>
#include <cstring>
#include <memory>

namespace gr {
namespace rdma {
namespace apps {

namespace {

// Pixels. The plot is as wide as the most columns, so that a column is never split.
constexpr int picture_width = 1280;
constexpr int picture_height = 840;
constexpr int plot_left = 96;
constexpr int plot_width = 1024;
constexpr int spectrum_top = 84;
constexpr int spectrum_height = 140;
constexpr int fall_top = 240;
constexpr int fall_height = 520;
constexpr int bar_left = plot_left + plot_width + 28;
constexpr int bar_width = 18;

//! Cairo's calls never fail on the spot; write() asks for the first error.
class canvas
{
public:
    canvas()
        : d_surface(cairo_image_surface_create(
                        CAIRO_FORMAT_RGB24, picture_width, picture_height),
                    cairo_surface_destroy),
          d_cairo(cairo_create(d_surface.get()), cairo_destroy)
    {
        grey(1);
        cairo_paint(c());
        cairo_select_font_face(
            c(), "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
        cairo_set_line_width(c(), 1);
    }
    cairo_t* c() { return d_cairo.get(); }
    void grey(double value) { cairo_set_source_rgb(c(), value, value, value); }

    void pixel(int x, int y, colour value)
    {
        const std::uint32_t word =
            std::uint32_t(value.red) << 16 | std::uint32_t(value.green) << 8 | value.blue;
        std::memcpy(cairo_image_surface_get_data(d_surface.get()) +
                        std::ptrdiff_t(y) *
                            cairo_image_surface_get_stride(d_surface.get()) +
                        x * 4,
                    &word,
                    sizeof word);
    }
    // Around direct pixel access.
    void begin_pixels() { cairo_surface_flush(d_surface.get()); }
    void end_pixels() { cairo_surface_mark_dirty(d_surface.get()); }

    //! \p align 0: \p x is the left end, 0.5: the middle, 1: the right end
    void text(double x, double y, const std::string& text, double size, double align)
    {
        cairo_set_font_size(c(), size);
        cairo_text_extents_t extents;
        cairo_text_extents(c(), text.c_str(), &extents);
        cairo_move_to(c(), x - align * extents.x_advance, y);
        cairo_show_text(c(), text.c_str());
        cairo_new_path(c()); // else the next line would start behind the text
    }
    void text_upwards(double x, double y, const std::string& words, double size)
    {
        cairo_save(c());
        cairo_translate(c(), x, y);
        cairo_rotate(c(), -M_PI / 2);
        text(0, 0, words, size, 0.5);
        cairo_restore(c());
    }
    void line(double x0, double y0, double x1, double y1)
    {
        // Half a pixel in: a line of width 1 then covers one row of pixels, not two.
        cairo_move_to(c(), std::floor(x0) + 0.5, std::floor(y0) + 0.5);
        cairo_line_to(c(), std::floor(x1) + 0.5, std::floor(y1) + 0.5);
        cairo_stroke(c());
    }
    void frame(int x, int y, int width, int height)
    {
        grey(0.2);
        cairo_rectangle(c(), x - 0.5, y - 0.5, width + 1, height + 1);
        cairo_stroke(c());
    }
    void write(output_file& file)
    {
        begin_pixels();
        const cairo_status_t status = cairo_status(c());
        if (status != CAIRO_STATUS_SUCCESS)
            throw run_error("cannot draw '" + file.path() +
                            "': " + cairo_status_to_string(status));
        write_png(file,
                  cairo_image_surface_get_data(d_surface.get()),
                  picture_width,
                  picture_height,
                  cairo_image_surface_get_stride(d_surface.get()));
    }

private:
    std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)> d_surface;
    std::unique_ptr<cairo_t, decltype(&cairo_destroy)> d_cairo;
};

//! Decibels of every pixel of the plot; NaN where nothing came.
std::vector<float> plot_pixels(const waterfall& data)
{
    const std::size_t columns = data.columns(), lines = data.lines();
    std::vector<float> db(std::size_t(plot_width) * fall_height, NAN);
    std::vector<float> row(columns);
    for (int y = 0; y < fall_height && lines; ++y) {
        const std::size_t first = std::size_t(y) * lines / fall_height;
        const std::size_t last =
            std::max(first + 1, std::size_t(y + 1) * lines / fall_height);
        std::size_t joined = 0;
        for (std::size_t i = first; i < last; ++i) {
            const float* const line = data.line(i);
            if (!line)
                continue;
            for (std::size_t k = 0; k < columns; ++k)
                row[k] = joined == 0 ? line[k]
                         : data.hold() == hold_mode::max
                             ? std::max(row[k], line[k])
                             : row[k] + (line[k] - row[k]) / float(joined + 1);
            ++joined;
        }
        for (int x = 0; x < plot_width && joined; ++x)
            db[std::size_t(y) * plot_width + x] =
                power_db(row[std::size_t(x) * columns / plot_width]);
    }
    return db;
}

void pick_range(const std::vector<float>& pixels,
                const waterfall_caption& caption,
                double& low,
                double& high)
{
    std::vector<float> there;
    std::copy_if(pixels.begin(), pixels.end(), std::back_inserter(there), [](float v) {
        return !std::isnan(v);
    });
    autoscale_db(std::move(there), low, high);
    if (caption.has_db_min)
        low = caption.db_min;
    if (caption.has_db_max)
        high = caption.db_max;
    // One given end may lie beyond the other, which came from the data.
    if (!(high > low)) {
        if (caption.has_db_max)
            low = high - 20;
        else
            high = low + 20;
    }
}

struct frequency_axis {
    double low;  // MHz at the left edge
    double high; // MHz at the right edge
    const char* label;
    double x(double mhz) const
    {
        return plot_left + (mhz - low) / (high - low) * plot_width;
    }
};

frequency_axis make_frequency_axis(const waterfall& data,
                                   const waterfall_caption& caption)
{
    // A bin is drawn around its frequency, and the lowest one is that of -rate/2.
    const double half_bin = caption.rate / double(data.bins()) / 2;
    const double low = (caption.freq - caption.rate / 2 - half_bin) * 1e-6;
    return { low,
             low + caption.rate * 1e-6,
             caption.freq != 0 ? "Frequency (MHz)" : "Frequency offset (MHz)" };
}

void draw_fall(canvas& to, const std::vector<float>& db, double low, double high)
{
    to.begin_pixels();
    for (int y = 0; y < fall_height; ++y) {
        for (int x = 0; x < plot_width; ++x) {
            const float value = db[std::size_t(y) * plot_width + x];
            to.pixel(plot_left + x,
                     fall_top + y,
                     std::isnan(value) ? colour{ 0xd8, 0xd8, 0xd8 }
                                       : map_colour((value - low) / (high - low)));
        }
    }
    for (int y = 0; y < fall_height; ++y)
        for (int x = 0; x < bar_width; ++x)
            to.pixel(bar_left + x, fall_top + y, map_colour(1 - y / (fall_height - 1.0)));
    to.end_pixels();
    to.frame(plot_left, fall_top, plot_width, fall_height);
    to.frame(bar_left, fall_top, bar_width, fall_height);
}

void draw_axes(canvas& to,
               const waterfall& data,
               const frequency_axis& axis,
               const waterfall_caption& caption,
               double db_low,
               double db_high)
{
    const int bottom = fall_top + fall_height;
    to.grey(0.13);
    for (const auto& mark : round_ticks(axis.low, axis.high, 10)) {
        to.line(axis.x(mark.value), bottom + 1, axis.x(mark.value), bottom + 6);
        to.text(axis.x(mark.value), bottom + 22, mark.label, 13, 0.5);
    }
    to.text(plot_left + plot_width / 2.0, bottom + 48, axis.label, 15, 0.5);
    const double seconds = double(data.lines()) * data.line_seconds();
    for (const auto& mark : round_ticks(0, seconds, 10)) {
        const double y = fall_top + mark.value / seconds * fall_height;
        to.line(plot_left - 6, y, plot_left - 1, y);
        to.text(plot_left - 10, y + 4.5, mark.label, 13, 1);
    }
    to.text_upwards(28, fall_top + fall_height / 2.0, "Time (s)", 15);
    for (const auto& mark : round_ticks(db_low, db_high, 10)) {
        const double y =
            bottom - (mark.value - db_low) / (db_high - db_low) * fall_height;
        to.line(bar_left + bar_width + 1, y, bar_left + bar_width + 6, y);
        to.text(bar_left + bar_width + 10, y + 4.5, mark.label, 13, 0);
    }
    to.text_upwards(bar_left + bar_width + 66,
                    fall_top + fall_height / 2.0,
                    "Power per bin (" + caption.unit + ")",
                    15);
}

void draw_gaps(canvas& to, const waterfall& data)
{
    const double seconds = double(data.lines()) * data.line_seconds();
    cairo_t* const c = to.c();
    for (const double time : data.gaps()) {
        const double y =
            std::floor(fall_top + std::clamp(time / seconds, 0.0, 1.0) * fall_height);
        cairo_set_source_rgb(c, 0.25, 0.95, 1.0);
        const double dashes[] = { 6, 4 };
        cairo_set_dash(c, dashes, 2, 0);
        to.line(plot_left, y, plot_left + plot_width - 1, y);
        cairo_set_dash(c, nullptr, 0, 0);
        cairo_set_source_rgb(c, 0.0, 0.45, 0.6);
        cairo_move_to(c, plot_left + plot_width + 2, y + 0.5);
        cairo_rel_line_to(c, 9, -5);
        cairo_rel_line_to(c, 0, 10);
        cairo_close_path(c);
        cairo_fill(c);
    }
}

void draw_curve(canvas& to, const std::vector<float>& power, double low, double high)
{
    cairo_t* const c = to.c();
    const std::size_t columns = power.size();
    for (std::size_t k = 0; k < columns; ++k) {
        const double part = (power_db(power[k]) - low) / (high - low);
        cairo_line_to(c,
                      plot_left + (k + 0.5) * plot_width / columns,
                      spectrum_top + (1 - std::clamp(part, 0.0, 1.0)) * spectrum_height);
    }
    cairo_stroke(c);
}

void draw_spectrum(canvas& to, const waterfall& data, const frequency_axis& axis)
{
    const std::vector<float> mean = data.mean();
    const double low =
        10 * std::floor(power_db(*std::min_element(mean.begin(), mean.end())) / 10 - 0.1);
    const double high = std::max(
        low + 20,
        10 *
            std::ceil(
                power_db(*std::max_element(data.peak().begin(), data.peak().end())) / 10 +
                0.1));
    for (const auto& mark : round_ticks(low, high, 5)) {
        const double y =
            spectrum_top + (high - mark.value) / (high - low) * spectrum_height;
        to.grey(0.88);
        to.line(plot_left, y, plot_left + plot_width - 1, y);
        to.grey(0.13);
        to.text(plot_left - 10, y + 4.5, mark.label, 13, 1);
    }
    to.grey(0.88);
    for (const auto& mark : round_ticks(axis.low, axis.high, 10))
        to.line(axis.x(mark.value),
                spectrum_top,
                axis.x(mark.value),
                spectrum_top + spectrum_height - 1);
    cairo_set_source_rgb(to.c(), 0.93, 0.45, 0.10);
    draw_curve(to, data.peak(), low, high);
    to.text(bar_left, spectrum_top + 14, "peak", 14, 0);
    cairo_set_source_rgb(to.c(), 0.29, 0.05, 0.42);
    draw_curve(to, mean, low, high);
    to.text(bar_left, spectrum_top + 34, "mean", 14, 0);
    to.frame(plot_left, spectrum_top, plot_width, spectrum_height);
}

} // namespace

void write_waterfall_png(output_file& file,
                         const waterfall& data,
                         const waterfall_caption& caption)
{
    const std::vector<float> db = plot_pixels(data);
    double low = 0, high = 0;
    pick_range(db, caption, low, high);
    const frequency_axis axis = make_frequency_axis(data, caption);
    canvas to;
    to.grey(0.1);
    to.text(plot_left, 36, caption.title, 21, 0);
    to.grey(0.35);
    to.text(plot_left, 62, caption.subtitle, 14, 0);
    draw_spectrum(to, data, axis);
    to.grey(0.13);
    to.text_upwards(28, spectrum_top + spectrum_height / 2.0, caption.unit, 15);
    draw_fall(to, db, low, high);
    draw_axes(to, data, axis, caption, low, high);
    draw_gaps(to, data);
    to.write(file);
}

} // namespace apps
} // namespace rdma
} // namespace gr
