/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "flags.h"
#include "parse.h"
#include "usage_error.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdio>
#include <numeric>
#include <sstream>

namespace gr {
namespace rdma {
namespace apps {

namespace po = boost::program_options;

namespace {

std::string shown_number(double value)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.10g", value);
    return text;
}

std::size_t edit_distance(const std::string& a, const std::string& b)
{
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t(0));
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = std::min({ row[j] + 1, row[j - 1] + 1, substituted });
        }
    }
    return row[b.size()];
}

std::string joined(const std::vector<std::string>& words, const char* separator)
{
    std::string text;
    for (const auto& word : words)
        text += (text.empty() ? "" : separator) + word;
    return text;
}

// Lines of 80 columns at most, without blanks at their ends.
std::string wrapped(const std::string& text)
{
    constexpr std::size_t columns = 80;
    std::istringstream in(text);
    std::string out;
    for (std::string line; std::getline(in, line);) {
        while (line.size() > columns) {
            const std::size_t blank = line.find_last_of(' ', columns);
            if (blank == 0 || blank == line.npos)
                break;
            out += line.substr(0, line.find_last_not_of(' ', blank) + 1) + "\n";
            line.erase(0, blank + 1);
        }
        out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return out;
}

} // namespace

std::string nearest_word(const std::string& word, const std::vector<std::string>& known)
{
    std::string best;
    std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const auto& candidate : known) {
        const std::size_t distance = edit_distance(word, candidate);
        if (distance < best_distance) {
            best_distance = distance;
            best = candidate;
        }
    }
    return best;
}

flags::flags(std::string command, std::string about, std::string examples)
    : d_command(std::move(command)),
      d_about(std::move(about)),
      d_examples(std::move(examples))
{
}

void flags::group(const std::string& title)
{
    d_groups.push_back(std::make_unique<po::options_description>(title, 80, 46));
}

void flags::add(
    const char* name, const char* unit, std::string shown, const char* help, setter set)
{
    const std::string flag = std::string("--") + name;
    auto* value = po::value<std::vector<std::string>>()->value_name(unit)->notifier(
        [flag, set](const std::vector<std::string>& texts) {
            if (texts.size() > 1)
                throw usage_error(flag + " is given " + std::to_string(texts.size()) +
                                  " times ('" + texts[0] + "', '" + texts[1] +
                                  "'): give it once");
            set(flag, texts[0]);
        });
    std::string text = help;
    if (!shown.empty())
        text += " [" + shown + "]";
    d_groups.back()->add_options()(name, value, text.c_str());
    d_names.push_back(name);
}

void flags::text(const char* name, std::string& value, const char* unit, const char* help)
{
    add(name, unit, value, help, [&value](const std::string& flag, const std::string& t) {
        if (t.empty())
            throw usage_error(flag + " is empty: give it a value, or leave it out");
        value = t;
    });
}

void flags::choice(const char* name,
                   std::string& value,
                   std::vector<std::string> words,
                   const char* help,
                   const char* hint)
{
    // A long list goes to the text, so that the column of flags stays narrow.
    const std::string all = joined(words, "|");
    const bool fits = all.size() <= 12;
    const std::string text = fits ? help : std::string(help) + ": " + joined(words, ", ");
    add(name,
        fits ? all.c_str() : "NAME",
        value,
        text.c_str(),
        [&value, words, hint](const std::string& flag, const std::string& t) {
            std::string word = t; // as in Python, blackman_harris
            std::replace(word.begin(), word.end(), '_', '-');
            if (std::find(words.begin(), words.end(), word) == words.end())
                throw usage_error(flag + "='" + t + "': give one of " +
                                  joined(words, ", ") + hint);
            value = word;
        });
}

void flags::count(const char* name,
                  std::uint64_t& value,
                  std::uint64_t min,
                  std::uint64_t max,
                  const char* help)
{
    add(name,
        "N",
        value != 0 && value != UINT64_MAX ? std::to_string(value) : "",
        help,
        [&value, min, max](const std::string& flag, const std::string& t) {
            value = parse_count(flag, t, min, max);
        });
}

void flags::bytes(const char* name, std::uint64_t& value, const char* help)
{
    add(name,
        "BYTES",
        value ? std::to_string(value) : "",
        help,
        [&value](const std::string& flag, const std::string& t) {
            value = parse_bytes(flag, t);
        });
}

void flags::hertz(const char* name, double& value, double min, const char* help)
{
    add(name,
        "HZ",
        value != 0 ? shown_number(value) : "",
        help,
        [&value, min](const std::string& flag, const std::string& t) {
            value = parse_hertz(flag, t, min);
        });
}

void flags::number(const char* name,
                   double& value,
                   double min,
                   double max,
                   const char* unit,
                   const char* help)
{
    const std::string unit_text = unit;
    add(name,
        unit,
        value > 0 ? shown_number(value) : "",
        help,
        [&value, min, max, unit_text](const std::string& flag, const std::string& t) {
            value = parse_number(flag, t, min, max, unit_text);
        });
}

void flags::on_off(const char* name, bool& value, const char* help)
{
    d_groups.back()->add_options()(
        name,
        po::bool_switch()->notifier([&value](bool on) { value = value || on; }),
        help);
    d_names.push_back(name);
}

void flags::list(const char* name,
                 std::vector<std::string>& value,
                 const char* unit,
                 const char* help)
{
    d_groups.back()->add_options()(
        name,
        po::value<std::vector<std::string>>()->value_name(unit)->notifier(
            [&value](const std::vector<std::string>& texts) { value = texts; }),
        help);
    d_names.push_back(name);
}

void flags::optional_text(const char* name,
                          std::string& value,
                          const char* implicit,
                          const char* unit,
                          const char* help)
{
    text(name, value, unit, help);
    d_implicit[std::string("--") + name] = implicit;
}

void flags::elsewhere(const char* name, const char* instead)
{
    d_elsewhere[name] = instead;
}

// boost's implicit_value() would take a value only behind '='.
std::vector<std::string>
flags::with_implicit_values(const std::vector<std::string>& args) const
{
    std::vector<std::string> out;
    for (std::size_t i = 0; i < args.size(); ++i) {
        out.push_back(args[i]);
        const auto found = d_implicit.find(args[i]);
        if (found != d_implicit.end() &&
            (i + 1 == args.size() || args[i + 1].rfind("--", 0) == 0))
            out.push_back(found->second);
    }
    return out;
}

void flags::refuse_unknown(const std::string& word) const
{
    std::string what = "'" + word + "' is no flag of " + d_command;
    const auto start = word.find_first_not_of('-');
    const std::string bare =
        start == word.npos ? "" : word.substr(start, word.find('=') - start);
    const auto other = d_elsewhere.find(bare);
    if (other != d_elsewhere.end())
        throw usage_error(what + ": " + other->second);
    const std::string near = nearest_word(bare, d_names);
    if (!near.empty())
        what += "; did you mean --" + near + "?";
    throw usage_error(what + " (" + d_command + " --help lists them)");
}

bool flags::parse(const std::vector<std::string>& words)
{
    const std::vector<std::string> args = with_implicit_values(words);
    po::options_description all;
    for (const auto& one : d_groups)
        all.add(*one);
    all.add_options()("help,h", "");
    const int style =
        po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    try {
        const auto parsed = po::command_line_parser(args)
                                .options(all)
                                .style(style)
                                .positional(po::positional_options_description())
                                .run();
        po::variables_map values;
        po::store(parsed, values);
        if (values.count("help"))
            return false;
        for (const auto& option : parsed.options)
            d_given.insert(option.string_key);
        po::notify(values);
    } catch (const po::unknown_option& e) {
        refuse_unknown(e.get_option_name());
    } catch (const po::too_many_positional_options_error&) {
        // The parser does not say which word: find the first that no flag takes.
        const auto loose = po::command_line_parser(args)
                               .options(all)
                               .style(style)
                               .allow_unregistered()
                               .run();
        for (const auto& option : loose.options)
            if (option.position_key >= 0 && !option.value.empty())
                refuse_unknown(option.value[0]);
        throw usage_error("a word belongs to no flag");
    } catch (const po::error& e) {
        throw usage_error(e.what());
    }
    return true;
}

std::string flags::help() const
{
    std::ostringstream out;
    out << d_about << "\n";
    for (const auto& one : d_groups) {
        out << "\n";
        one->print(out, 28); // one column for all groups
    }
    out << "\n" << d_examples;
    return wrapped(out.str());
}

} // namespace apps
} // namespace rdma
} // namespace gr
