/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "parse.h"
#include "usage_error.h"

#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace gr {
namespace rdma {
namespace apps {

namespace {

[[noreturn]] void
refuse(const std::string& flag, const std::string& text, const std::string& right)
{
    throw usage_error(flag + "='" + text + "': give " + right);
}

std::string number_text(double value)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.10g", value);
    return text;
}

// strtod takes what std::stod takes, without throwing; the caller looks at the rest.
bool leading_number(const std::string& text, double& value, std::string& rest)
{
    if (text.empty() || std::isspace(static_cast<unsigned char>(text[0])))
        return false;
    char* end = nullptr;
    value = std::strtod(text.c_str(), &end);
    rest = end;
    return end != text.c_str() && std::isfinite(value);
}

struct unit {
    const char* name;
    double factor;
};

bool scale_by_unit(const std::string& rest, const unit* units, double& value)
{
    for (const unit* u = units; u->name; ++u) {
        if (rest == u->name) {
            value *= u->factor;
            return true;
        }
    }
    return rest.empty();
}

} // namespace

std::uint64_t parse_count(const std::string& flag,
                          const std::string& text,
                          std::uint64_t min,
                          std::uint64_t max)
{
    const std::string right =
        max == std::numeric_limits<std::uint64_t>::max()
            ? "a whole number, " + std::to_string(min) + " or more"
            : "a whole number, " + std::to_string(min) + " to " + std::to_string(max);
    if (text.empty() || !std::isdigit(static_cast<unsigned char>(text[0])))
        refuse(flag, text, right);
    const bool hex = text.size() > 2 && text[0] == '0' && (text[1] | 0x20) == 'x';
    char* end = nullptr;
    errno = 0;
    const unsigned long long value = std::strtoull(text.c_str(), &end, hex ? 16 : 10);
    if (*end != '\0' || errno == ERANGE || value < min || value > max)
        refuse(flag, text, right);
    return value;
}

std::uint64_t parse_bytes(const std::string& flag, const std::string& text)
{
    static const unit units[] = { { "B", 1 },
                                  { "KiB", 1024 },
                                  { "MiB", 1024.0 * 1024 },
                                  { "GiB", 1073741824 },
                                  { "kB", 1e3 },
                                  { "MB", 1e6 },
                                  { "GB", 1e9 },
                                  { nullptr, 0 } };
    double value = 0;
    std::string rest;
    if (!leading_number(text, value, rest) || !scale_by_unit(rest, units, value) ||
        value < 1 || value > 1e15 || value != std::floor(value))
        refuse(flag, text, "a whole number of bytes, such as 65536, 64KiB or 1MiB");
    return static_cast<std::uint64_t>(value);
}

double parse_hertz(const std::string& flag, const std::string& text, double min)
{
    static const unit units[] = {
        { "k", 1e3 }, { "M", 1e6 }, { "G", 1e9 }, { nullptr, 0 }
    };
    double value = 0;
    std::string rest;
    if (!leading_number(text, value, rest) || !scale_by_unit(rest, units, value) ||
        value < min || value > 1e15)
        refuse(flag,
               text,
               "a number of at least " + number_text(min) +
                   ", such as 2000000, 2e6 or 2M");
    return value;
}

double parse_number(const std::string& flag,
                    const std::string& text,
                    double min,
                    double max,
                    const std::string& unit)
{
    double value = 0;
    std::string rest;
    if (!leading_number(text, value, rest) || !rest.empty() || value < min || value > max)
        refuse(flag,
               text,
               "a number from " + number_text(min) + " to " + number_text(max) + " (" +
                   unit + ")");
    return value;
}

bool ends_with(const std::string& text, const std::string& end)
{
    return text.size() >= end.size() &&
           text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string human_number(double value)
{
    static const unit units[] = {
        { "G", 1e9 }, { "M", 1e6 }, { "k", 1e3 }, { nullptr, 0 }
    };
    char text[40];
    for (const unit* u = units; u->name; ++u) {
        if (std::fabs(value) >= u->factor) {
            std::snprintf(text, sizeof text, "%.9g %s", value / u->factor, u->name);
            return text;
        }
    }
    std::snprintf(text, sizeof text, "%.9g ", value);
    return text;
}

} // namespace apps
} // namespace rdma
} // namespace gr
