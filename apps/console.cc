/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "console.h"
#include "core/clock.h"
#include "io/counters.h"
#include "parse.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <set>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace apps {

namespace {

// Counters that go up when all is well.
bool is_ordinary(const std::string& name)
{
    static const std::set<std::string> ordinary = {
        "messages_received", "bytes_received", "packets_received", "messages_sent",
        "bytes_sent",        "packets_sent",   "acks_sent",        "acks_received",
        "icrc_checked",      "gaps",           "cm_requests",      "requests_flushed",
    };
    return ordinary.count(name) > 0;
}

std::string meaning_of(const std::string& name)
{
    std::string meaning;
    if (name == "messages_odd")
        meaning = "messages that were no whole number of items: the rest was left out";
    io::counters().for_each([&](const char* known, const char* text, std::uint64_t) {
        if (name == known)
            meaning = text;
    });
    return meaning;
}

std::string seconds_text(double seconds)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", seconds);
    return text;
}

std::string plain(const nlohmann::ordered_json& value)
{
    return value.is_string() ? value.get<std::string>() : value.dump();
}

void print_json(const summary& s)
{
    nlohmann::ordered_json all;
    all["command"] = s.command;
    all["messages"] = s.messages;
    all["bytes"] = s.bytes;
    all.update(s.more);
    all["seconds"] = s.seconds;
    all["bytes_per_second"] = s.seconds > 0 ? double(s.bytes) / s.seconds : 0.0;
    all["ended"] = s.ended;
    all["counters"] = s.counters;
    std::printf("%s\n", all.dump().c_str());
}

void print_text(const summary& s, std::FILE* to)
{
    std::string line = s.command + ": messages=" + std::to_string(s.messages) +
                       " bytes=" + std::to_string(s.bytes);
    for (const auto& [key, value] : s.more.items())
        line += " " + key + "=" + plain(value);
    line += " seconds=" + seconds_text(s.seconds);
    if (s.seconds > 0)
        line += " rate=" + human_rate(double(s.bytes) / s.seconds);
    std::fprintf(to, "%s ended=%s\n", line.c_str(), s.ended.c_str());
    for (const auto& [name, value] : s.counters)
        if (value != 0 && !is_ordinary(name))
            std::fprintf(to,
                         "  %s=%llu  %s\n",
                         name.c_str(),
                         static_cast<unsigned long long>(value),
                         meaning_of(name).c_str());
}

} // namespace

std::string human_rate(double bytes_per_second)
{
    std::string text = human_number(bytes_per_second);
    // Three digits are what a rate is good for.
    char short_text[40];
    const double scaled = std::stod(text);
    std::snprintf(short_text, sizeof short_text, "%.3g", scaled);
    return short_text + text.substr(text.find(' ') + 1) + "B/s";
}

std::string as_flag(const std::string& what)
{
    const std::size_t end =
        std::find_if(what.begin(),
                     what.end(),
                     [](unsigned char c) { return !std::islower(c) && c != '_'; }) -
        what.begin();
    const bool named = end > 0 && (what.compare(end, 1, "=") == 0 ||
                                   what.compare(end, 11, " is missing") == 0);
    if (!named)
        return what;
    std::string name = what.substr(0, end);
    std::replace(name.begin(), name.end(), '_', '-');
    return "--" + name + what.substr(end);
}

console::console(const talk_options& talk, bool data_on_stdout)
    : d_talk(talk),
      d_data_on_stdout(data_on_stdout),
      d_terminal(isatty(STDERR_FILENO) && !talk.quiet)
{
}

console::~console() { clear(); }

void console::clear()
{
    if (d_shown)
        std::fprintf(stderr, "\r\033[K");
    d_shown = false;
}

void console::progress(const std::string& text)
{
    const std::int64_t now = core::monotonic_ns();
    if (!d_terminal || now < d_next_ns)
        return;
    d_next_ns = now + 200000000;
    std::fprintf(stderr, "\r\033[K%s", text.c_str());
    d_shown = true;
}

void console::note(const std::string& text)
{
    clear();
    if (!d_talk.quiet)
        std::fprintf(stderr, "%s\n", text.c_str());
}

void console::finish(const summary& s)
{
    clear();
    if (d_talk.json)
        print_json(s);
    else if (!d_talk.quiet)
        print_text(s, d_data_on_stdout ? stderr : stdout);
    std::fflush(stdout);
}

} // namespace apps
} // namespace rdma
} // namespace gr
