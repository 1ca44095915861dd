/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "commands.h"
#include "console.h"
#include "core/clock.h"
#include "core/sizes.h"
#include "messages.h"
#include "parse.h"
#include "usage_error.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace gr {
namespace rdma {
namespace apps {

namespace {

constexpr const char* about =
    "Usage: gr-rdma send [flags]\n\n"
    "Sends the samples of a file or of a synthetic scene as RDMA messages, and ends when "
    "all is sent (RC: and acknowledged).";
constexpr const char* examples =
    "Examples:\n"
    "  gr-rdma send --connect 10.0.0.2 --file capture.sigmf-meta\n"
    "  gr-rdma send --connect 127.0.0.2 --source 127.0.0.1 --scene --rate 4M \\\n"
    "      --seconds 0\n"
    "  gr-rdma send --connect 10.0.0.2 --qpn 0x11 --remote-qpn 0x12 --service uc \\\n"
    "      --file capture.bin --sample sc16 --rate 10M\n"
    "The receiver of the last one swaps --qpn with --remote-qpn.\n";

constexpr double default_scene_rate = 2e6;
constexpr double default_scene_seconds = 10;
constexpr std::int64_t look_up_ns = 50000000; // for signals and progress
constexpr std::uint64_t scene_memory = 8u << 20;
constexpr std::uint64_t most_in_flight = 64;

struct send_options {
    connection_options connection;
    stream_options stream;
    talk_options talk;
    fault_options faults;
    std::string file;
    std::string scene_list;
    std::string pace = "auto";
    std::uint64_t seed = 1;
    std::uint64_t multicast_ttl = 1;
    std::uint64_t repeat = 1;
    std::uint64_t count = 0;
    double seconds = -1; // not given

    void declare(flags& f)
    {
        f.group("What to send");
        f.text("file",
               file,
               "FILE",
               "raw samples (then --sample says of which type), or a SigMF recording by "
               "any of its names");
        f.optional_text("scene",
                        scene_list,
                        "default",
                        "LIST",
                        "instead of a file: a synthetic band of emitters over noise. "
                        "default, noise, or some of tone,fm,qpsk,chirp");
        f.count("seed", seed, 0, UINT64_MAX, "of the scene's noise and symbols");
        f.count("repeat", repeat, 0, UINT64_MAX, "send the file N times; 0: for ever");
        f.count("count", count, 1, UINT64_MAX, "end after N messages");
        f.number(
            "seconds",
            seconds,
            0,
            1e9,
            "SECONDS",
            "end after that much signal; 0: never. Default for a scene without --count: "
            "10");
        stream.declare(f, true);
        f.choice("pace",
                 pace,
                 { "auto", "rate", "none" },
                 "at the sample rate, or as fast as the receiver takes it. auto: rate if "
                 "--rate is given, and for UC wherever a rate is known");
        connection.declare(f, true);
        ring_options::refuse(f);
        f.elsewhere("out", "it is the receiver's file; give the own one as --file");
        f.count("multicast-ttl",
                multicast_ttl,
                0,
                255,
                "networks that packets to a multicast group may cross; 0: this machine");
        faults.declare(f);
        talk.declare(f);
    }
};

//! What the flags come to.
struct send_plan {
    recording source;
    core::sample_type sample = core::sample_type::sc16;
    double rate = 0;
    bool paced = false;
    feed_limits limits;
};

send_plan make_plan(const send_options& o, const flags& f)
{
    if (o.file.empty() == o.scene_list.empty())
        throw usage_error(o.file.empty()
                              ? "--file or --scene is needed: what is to be sent?"
                              : "--file and --scene cannot go together: give one");
    send_plan plan;
    const bool from_file = !o.file.empty();
    if (from_file) {
        plan.source = open_recording(o.file, f.given("sample") ? o.stream.sample : "");
        plan.sample = plan.source.sample;
    } else {
        plan.sample = core::parse_sample(o.stream.sample);
    }
    plan.rate = o.stream.rate > 0 ? o.stream.rate
                : from_file       ? plan.source.rate
                                  : default_scene_rate;
    stream_options stream = o.stream;
    stream.sample = core::to_string(plan.sample);
    stream.check();

    if (o.pace == "rate" && plan.rate == 0)
        throw usage_error("--pace='rate': the sample rate of '" + o.file +
                          "' is not known; give --rate");
    plan.paced =
        o.pace == "rate" || (o.pace == "auto" && plan.rate > 0 &&
                             (o.stream.rate > 0 || o.connection.service != "rc"));
    if (o.count != 0)
        plan.limits.messages = o.count;
    double seconds = o.seconds;
    if (seconds < 0 && !from_file && o.count == 0)
        seconds = default_scene_seconds;
    if (seconds > 0 && plan.rate == 0)
        throw usage_error("--seconds: the sample rate of '" + o.file +
                          "' is not known; give --rate");
    if (seconds > 0)
        plan.limits.bytes =
            core::sample_bytes(plan.sample) *
            std::max<std::uint64_t>(1, std::llround(std::min(seconds * plan.rate, 1e18)));
    return plan;
}

io::endpoint_config
endpoint_settings(const send_options& o, const send_plan& plan, std::size_t depth)
{
    const connection_options& c = o.connection;
    io::endpoint_config e;
    e.endpoint = c.endpoint;
    e.service = io::parse_service(c.service);
    e.source = c.source;
    e.connect = c.connect;
    e.listen = c.listen;
    e.peers = c.peers;
    e.qpn = static_cast<std::uint32_t>(c.qpn);
    e.remote_qpn = static_cast<std::uint32_t>(c.remote_qpn);
    e.psn = static_cast<std::uint32_t>(c.psn);
    e.remote_psn = static_cast<std::uint32_t>(c.remote_psn);
    e.qkey = static_cast<std::uint32_t>(c.qkey);
    e.device = c.device;
    e.gid_index = c.chosen_gid();
    e.ib_port = static_cast<unsigned>(c.ib_port);
    e.multicast_ttl = static_cast<std::uint8_t>(o.multicast_ttl);
    e.mtu = static_cast<std::uint32_t>(c.mtu);
    e.wait = io::parse_wait(c.wait);
    e.pump_cpu = c.bound_cpu();
    e.message_bytes = o.stream.message_bytes;
    e.send_depth = static_cast<std::uint32_t>(depth);
    e.faults = o.faults.config();
    if (plan.paced)
        e.rate_bytes = plan.rate * double(core::sample_bytes(plan.sample));
    return e;
}

//! Posts messages, takes completions, watches signals, until all is sent.
class sender
{
public:
    //! \param endless a scene or a repeated file: the receiver says when it is enough
    sender(io::endpoint& to,
           message_feed& feed,
           bool endless,
           stop_signals& signals,
           console& talk)
        : d_to(to), d_feed(feed), d_endless(endless), d_signals(signals), d_console(talk)
    {
    }

    //! \return why it ended \throws run_error the connection failed
    std::string run()
    {
        d_first_ns = core::monotonic_ns();
        for (;;) {
            const bool reaped = reap();
            const io::endpoint_state state = d_to.state();
            if (d_failed != io::wc_status::success || state == io::endpoint_state::failed)
                throw run_error(failure());
            if (state == io::endpoint_state::closed && d_endless)
                return "closed"; // there would always be more
            if (state == io::endpoint_state::closed) {
                reap(); // what was acknowledged just before
                if (d_posted == d_done && d_feed.finished())
                    return "done";
                throw run_error("not all was sent: " + d_to.status_text());
            }
            if (d_signals.received())
                return d_signals.name();
            const bool posted = post();
            if (d_posted == d_done && d_feed.finished())
                return "done";
            // Time counts from when the peer was there.
            if (d_done == 0 && state == io::endpoint_state::connecting &&
                d_to.counters().messages_sent.value() == 0)
                d_first_ns = core::monotonic_ns();
            if (!reaped && !posted)
                d_to.wait_sendable(look_up_ns);
            show_progress();
        }
    }
    double seconds() const { return d_done ? double(d_last_ns - d_first_ns) * 1e-9 : 0; }

private:
    bool reap()
    {
        io::send_completion done[64];
        const std::size_t n = d_to.poll_send(done, 64);
        for (std::size_t i = 0; i < n; ++i) {
            d_feed.release(done[i].cookie);
            // Flushed: the state says why.
            if (done[i].status != io::wc_status::success &&
                done[i].status != io::wc_status::flushed &&
                d_failed == io::wc_status::success)
                d_failed = done[i].status;
        }
        d_done += n;
        if (n)
            d_last_ns = core::monotonic_ns();
        return n > 0;
    }
    bool post()
    {
        bool any = false;
        for (;;) {
            if (!d_have && !(d_have = d_feed.next(d_next)))
                return any;
            if (d_to.post_send(&d_next, 1) == 0)
                return any; // queue full: keep it for later
            d_have = false;
            any = true;
            ++d_posted;
        }
    }
    std::string failure() const
    {
        const std::string why = d_to.status_text();
        return why.empty() ? std::string("sending failed: ") + io::to_string(d_failed)
                           : why;
    }
    void show_progress()
    {
        const auto& counts = d_to.counters();
        const bool waits = d_to.state() == io::endpoint_state::connecting && d_done == 0;
        const std::string why = waits ? d_to.status_text() : "";
        if (waits)
            tell_what_it_waits_for(why);
        d_console.progress(
            waits ? "send: " + why
                  : "send: " + std::to_string(counts.messages_sent.value()) +
                        " messages, " + core::human_bytes(counts.bytes_sent.value()) +
                        ", " + std::to_string(counts.retransmissions.value()) +
                        " retransmissions");
    }

    // In a line that stays, and where there is no terminal: it may wait for ever.
    void tell_what_it_waits_for(const std::string& text)
    {
        constexpr std::int64_t patience_ns = 2000000000;
        const std::int64_t now = core::monotonic_ns();
        if (text != d_waits_for) {
            d_waits_for = text;
            d_waits_since_ns = now;
            d_told = false;
        }
        if (d_told || now - d_waits_since_ns < patience_ns)
            return;
        d_told = true;
        d_console.note("gr-rdma send: " + text);
    }

    io::endpoint& d_to;
    message_feed& d_feed;
    const bool d_endless;
    stop_signals& d_signals;
    console& d_console;
    io::send_request d_next;
    bool d_have = false;
    std::uint64_t d_posted = 0;
    std::uint64_t d_done = 0;
    io::wc_status d_failed = io::wc_status::success;
    std::int64_t d_first_ns = 0;
    std::int64_t d_last_ns = 0;
    std::string d_waits_for;
    std::int64_t d_waits_since_ns = 0;
    bool d_told = false;
};

summary summarise(const io::endpoint& endpoint, const std::string& ended, double seconds)
{
    summary s;
    s.command = "send";
    s.messages = endpoint.counters().messages_sent.value();
    s.bytes = endpoint.counters().bytes_sent.value();
    s.seconds = seconds;
    s.ended = ended;
    endpoint.counters().for_each([&](const char* name, const char*, std::uint64_t value) {
        s.counters[name] = value;
    });
    s.more["retransmissions"] = s.counters["retransmissions"];
    s.counters.erase("retransmissions");
    return s;
}

} // namespace

int send_command(const words& args, stop_signals& signals)
{
    send_options o;
    flags f("gr-rdma send", about, examples);
    o.declare(f);
    if (!f.parse(args)) {
        std::printf("%s", f.help().c_str());
        return 0;
    }
    const send_plan plan = make_plan(o, f);
    o.connection.check(f, true);
    o.faults.check(o.connection);

    if (!o.file.empty())
        plan.source.data.end_if_cut("gr-rdma send: cannot read '" + o.file +
                                    "': it was cut short while it was sent\n");

    console talk(o.talk, false);
    const std::size_t depth =
        o.file.empty() ? std::clamp<std::uint64_t>(
                             scene_memory / o.stream.message_bytes, 2, most_in_flight)
                       : most_in_flight;
    const auto feed =
        o.file.empty()
            ? make_scene_feed(std::make_unique<scene>(o.scene_list, plan.rate, o.seed),
                              plan.sample,
                              o.stream.message_bytes,
                              depth,
                              plan.limits,
                              [&signals] { return signals.received() != 0; })
            : make_recording_feed(
                  plan.source, o.stream.message_bytes, o.repeat, plan.limits);
    // Behind the feed: it must be gone before the memory that it sends from.
    const auto endpoint = io::make_endpoint(endpoint_settings(o, plan, depth));
    endpoint->attach({}, {}); // receives nothing
    endpoint->start();
    sender work(*endpoint, *feed, o.file.empty() || o.repeat == 0, signals, talk);
    std::string ended = "failed", error;
    try {
        ended = work.run();
    } catch (const run_error& e) {
        error = e.what();
    }
    endpoint->stop();
    talk.finish(summarise(*endpoint, ended, work.seconds()));
    if (!error.empty())
        throw run_error(error);
    return 0;
}

} // namespace apps
} // namespace rdma
} // namespace gr
