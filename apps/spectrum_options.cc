/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spectrum_options.h"

#include "parse.h"
#include "usage_error.h"

namespace gr {
namespace rdma {
namespace apps {

namespace {

struct named_window {
    const char* name;
    fft::window::win_type type;
};
constexpr named_window windows[] = {
    { "hann", fft::window::WIN_HANN },
    { "hamming", fft::window::WIN_HAMMING },
    { "blackman", fft::window::WIN_BLACKMAN },
    { "blackman-harris", fft::window::WIN_BLACKMAN_HARRIS },
    { "nuttall", fft::window::WIN_NUTTALL },
    { "flattop", fft::window::WIN_FLATTOP },
    { "bartlett", fft::window::WIN_BARTLETT },
    { "welch", fft::window::WIN_WELCH },
    { "parzen", fft::window::WIN_PARZEN },
    { "kaiser", fft::window::WIN_KAISER },
    { "rectangular", fft::window::WIN_RECTANGULAR },
};

std::vector<std::string> window_names()
{
    std::vector<std::string> names;
    for (const auto& w : windows)
        names.push_back(w.name);
    return names;
}

} // namespace

void spectrum_options::declare(flags& f)
{
    f.group("Where to");
    f.list("out",
           outs,
           "FILE",
           "*.csv: spectra as text; *.png: a waterfall; - : CSV on stdout, as without "
           "--out. May be given twice. An existing file is replaced");
    f.group("Spectra");
    f.count("fft-length", length, 16, 65536, "samples in a transform: a power of two");
    f.count("average", average, 1, 1u << 30, "transforms averaged to one spectrum");
    f.count("overlap",
            overlap,
            0,
            65535,
            "samples that neighbouring transforms share (default 0)");
    f.choice("window", window, window_names(), "before the transform");
    f.number("window-parameter", beta, 0, 700, "BETA", "of the Kaiser window");
    f.choice("scaling",
             scaling,
             { "spectrum", "density" },
             "power per bin (dBFS), or per hertz (dBFS/Hz)");
    f.group("Waterfall");
    f.choice("hold",
             hold,
             { "mean", "max" },
             "how spectra that share a line are joined; max keeps short bursts");
    f.number(
        "db-min", db_min, -300, 300, "DB", "dark end of the colours, else automatic");
    f.number("db-max", db_max, -300, 300, "DB", "light end of the colours");
    stream.declare(f, false);
    ring.declare(f);
    connection.declare(f, false);
    talk.declare(f);
}

void spectrum_options::sort_outs()
{
    if (outs.empty())
        outs.push_back("-");
    for (const auto& out : outs) {
        std::string& kind = ends_with(out, ".png") ? png : csv;
        if (&kind == &csv && out != "-" && !ends_with(out, ".csv"))
            throw usage_error("--out='" + out +
                              "': give a name that ends in .csv or .png, or -");
        if (!kind.empty())
            throw usage_error("--out='" + out + "': '" + kind +
                              "' is of the same kind: give one .csv and one .png");
        kind = out;
    }
}

void spectrum_options::check(const flags& f) const
{
    if (csv == "-" && talk.json)
        throw usage_error("--json and CSV on stdout do not go together: give --out a "
                          "file name");
    if (stream.rate == 0)
        throw usage_error("--rate is needed: the sample rate, for frequency and time");
    if (length & (length - 1))
        throw usage_error("--fft-length='" + std::to_string(length) +
                          "': give a power of two, 16 to 65536");
    if (overlap >= length)
        throw usage_error("--overlap='" + std::to_string(overlap) +
                          "': give less than --fft-length, " + std::to_string(length));
    if (f.given("db-min") && f.given("db-max") && db_min >= db_max)
        throw usage_error("--db-min is not below --db-max");
    if (f.given("window-parameter") && window != "kaiser")
        throw usage_error("--window-parameter='" + std::to_string(beta) +
                          "' is of --window kaiser, not " + window);
    stream.check();
    connection.check(f, false);
}

spectrometer_config spectrum_options::spectrometer() const
{
    spectrometer_config c;
    c.sample = stream.sample;
    c.length = length;
    for (const auto& w : windows)
        if (window == w.name)
            c.window = w.type;
    c.window_parameter = beta;
    c.average = static_cast<unsigned>(average);
    c.overlap = overlap;
    c.scaling = scaling;
    c.rate = stream.rate;
    c.memory = ring.memory;
    c.wait = connection.wait == "busy" && ring.memory != "host" ? "busy" : "event";
    return c;
}

} // namespace apps
} // namespace rdma
} // namespace gr
