/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "commands.h"
#include "console.h"
#include "core/sample.h"
#include "message_head.h"
#include "output_file.h"
#include "parse.h"
#include "receiving.h"
#include "spectrum_options.h"
#include "spectrum_sink.h"
#include "usage_error.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <gnuradio/rdma/spectrometer.h>
#include <memory>

namespace gr {
namespace rdma {
namespace apps {

namespace {

constexpr const char* about =
    "Usage: gr-rdma spectrum [flags]\n\n"
    "Receives RDMA messages of samples and writes averaged power spectra: CSV, a PNG "
    "waterfall, or both. Ends when the sender disconnects, after --count messages, after "
    "--idle seconds without one, or on Ctrl-C.";
constexpr const char* examples =
    "Examples:\n"
    "  gr-rdma spectrum --listen 10.0.0.2 --sample cu8 --rate 2M --freq 1090M \\\n"
    "      --average 1 --out waterfall.png --out spectra.csv\n"
    "CSV: comment lines (#), names (time_s, then Hz), a line per spectrum in dB.\n"
    "0 dBFS is a complex tone of full scale.\n"
    "--wait busy also has the spectrometer on a GPU spin for its input, on another "
    "CPU.\n";

std::string settings_text(const spectrum_options& o)
{
    return o.stream.sample + ", FFT " + std::to_string(o.length) + ", " + o.window +
           " window, average of " + std::to_string(o.average) +
           (o.overlap ? ", overlap " + std::to_string(o.overlap) : "");
}

const char* unit(const spectrum_options& o)
{
    return o.scaling == "density" ? "dBFS/Hz" : "dBFS";
}

std::unique_ptr<spectrum_csv> make_csv(const spectrum_options& o, double period)
{
    std::vector<double> frequencies;
    const auto bins = static_cast<std::int64_t>(o.length);
    for (std::int64_t k = 0; k < bins; ++k)
        frequencies.push_back(o.stream.freq +
                              double(k - bins / 2) * o.stream.rate / double(bins));
    char period_text[32];
    std::snprintf(period_text, sizeof period_text, "%.9g", period);
    const std::vector<std::string> comments = {
        std::string("gr-rdma ") + version() + " spectrum: " + settings_text(o),
        "rate " + human_number(o.stream.rate) + "S/s, centre " +
            human_number(o.stream.freq) + "Hz, a spectrum each " + period_text + " s",
        std::string("values: power in ") + unit(o) + "; columns: Hz",
    };
    return std::make_unique<spectrum_csv>(o.csv, comments, frequencies);
}

waterfall_caption
make_caption(const spectrum_options& o, const flags& f, const waterfall& fall)
{
    waterfall_caption c;
    c.title = (o.stream.freq > 0 ? human_number(o.stream.freq) + "Hz, " : "Band of ") +
              human_number(o.stream.rate) + "S/s";
    c.subtitle =
        settings_text(o) + "; " + std::to_string(fall.spectra()) + " spectra, " +
        (fall.gap_count() == 1 ? "1 gap" : std::to_string(fall.gap_count()) + " gaps");
    const double joined = fall.line_seconds() * o.stream.rate /
                          (double(o.average) * double(o.length - o.overlap));
    if (joined > 1.5)
        c.subtitle += "; a line is the " + o.hold + " of " +
                      std::to_string(std::llround(joined)) + " spectra";
    c.rate = o.stream.rate;
    c.freq = o.stream.freq;
    c.unit = unit(o);
    c.has_db_min = f.given("db-min");
    c.has_db_max = f.given("db-max");
    c.db_min = o.db_min;
    c.db_max = o.db_max;
    return c;
}

//! The flowgraph and what it writes to.
struct spectrum_run {
    spectrum_run(const spectrum_options& o, stop_signals& signals)
        : from(source::make(make_source_config(o.connection, o.stream, o.ring))),
          meter(spectrometer::make(o.spectrometer())),
          graph(gr::make_top_block("gr-rdma spectrum"))
    {
        const double period =
            double(o.average) * double(o.length - o.overlap) / o.stream.rate;
        if (!o.csv.empty())
            csv = make_csv(o, period);
        if (!o.png.empty()) {
            png = std::make_unique<output_file>(o.png);
            fall = std::make_unique<waterfall>(
                o.length, period, o.hold == "max" ? hold_mode::max : hold_mode::mean);
        }
        sink = gnuradio::make_block_sptr<spectrum_sink>(
            o.length, period, csv.get(), fall.get(), [&signals] { signals.wake(); });
        const std::size_t item = core::sample_bytes(core::parse_sample(o.stream.sample));
        gr::block_sptr last = from;
        if (o.ring.count > 0) {
            // Cuts exactly; only there is the copy that it costs.
            last = gnuradio::make_block_sptr<message_head>(
                item, o.ring.count * (o.stream.message_bytes / item));
            graph->connect(from, 0, last, 0);
        }
        graph->connect(last, 0, meter, 0);
        graph->connect(meter, 0, sink, 0);
    }
    source::sptr from;
    spectrometer::sptr meter;
    gr::top_block_sptr graph;
    std::unique_ptr<spectrum_csv> csv;
    std::unique_ptr<output_file> png;
    std::unique_ptr<waterfall> fall;
    std::shared_ptr<spectrum_sink> sink;
};

summary
summarise(const spectrum_options& o, const spectrum_run& r, const std::string& ended)
{
    summary s;
    s.command = "spectrum";
    s.counters = r.from->counters();
    s.messages = s.counters["messages_received"];
    s.bytes = s.counters["bytes_received"];
    if (o.ring.count > 0) { // what came behind them was not looked at
        s.messages = std::min(s.messages, o.ring.count);
        s.bytes = std::min(s.bytes, o.ring.count * o.stream.message_bytes);
    }
    s.seconds = r.sink->seconds();
    s.ended = ended;
    s.more["spectra"] = r.sink->spectra();
    s.more["gaps"] = s.counters["gaps"];
    return s;
}

} // namespace

int spectrum_command(const words& args, stop_signals& signals)
{
    spectrum_options o;
    flags f("gr-rdma spectrum", about, examples);
    o.declare(f);
    if (!f.parse(args)) {
        std::printf("%s", f.help().c_str());
        return 0;
    }
    o.sort_outs();
    o.check(f);
    log_to_stderr();
    spectrum_run r(o, signals);
    console talk(o.talk, o.csv == "-");
    const std::string ended =
        run_flowgraph(*r.graph, *r.from, *r.sink, o.ring, signals, talk);
    if (r.csv)
        r.csv->close();
    if (r.fall && r.fall->spectra() > 0)
        write_waterfall_png(*r.png, *r.fall, make_caption(o, f, *r.fall));
    finish(summarise(o, r, ended), *r.from, talk);
    if (r.fall && r.fall->spectra() == 0) {
        const std::string why =
            "'" + o.png + "' was not written: nothing came that fills a spectrum of " +
            std::to_string(o.average) + " x " + std::to_string(o.length) + " samples";
        if (!signals.received())
            throw run_error(why);
        talk.note(why);
    }
    return 0;
}

} // namespace apps
} // namespace rdma
} // namespace gr
