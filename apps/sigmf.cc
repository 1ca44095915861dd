/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sigmf.h"
#include "options.h"
#include "parse.h"
#include "usage_error.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

namespace gr {
namespace rdma {
namespace apps {

namespace {

using nlohmann::json;

const std::string meta_extension = ".sigmf-meta";
const std::string data_extension = ".sigmf-data";

struct datatype {
    const char* name;
    core::sample_type sample;
};
// The first of a sample type is the one that is written.
constexpr datatype datatypes[] = {
    { "cu8", core::sample_type::cu8 },      { "ci8", core::sample_type::sc8 },
    { "ci16_le", core::sample_type::sc16 }, { "cf32_le", core::sample_type::fc32 },
    { "ri8", core::sample_type::byte },     { "ru8", core::sample_type::byte },
};

[[noreturn]] void refuse(const std::string& path, const std::string& why)
{
    throw run_error("'" + path + "': " + why);
}

//! One object of the metadata, whose fields are looked at by key.
class fields
{
public:
    //! \param where "global", "captures[0]" \throws run_error \p from is no object
    fields(const json& from, std::string where, const std::string& path)
        : d_from(from), d_where(std::move(where)), d_path(path)
    {
        if (!from.is_object())
            refuse(path,
                   d_where + "=" + shown(from) + " is wrong: give an object, {...}");
    }
    bool has(const char* key) const { return d_from.contains(key); }
    const json& at(const char* key, const char* right) const
    {
        if (!has(key))
            refuse(d_path, d_where + " has no " + key + ": give " + right);
        return d_from.at(key);
    }
    [[noreturn]] void wrong(const char* key, const std::string& right) const
    {
        refuse(d_path,
               std::string(key) + "=" + shown(d_from.at(key)) + " in " + d_where +
                   " is wrong: give " + right);
    }
    //! \return 0 if the key is absent
    double number(const char* key, double least, const char* right) const
    {
        if (!has(key))
            return 0;
        const json& value = d_from.at(key);
        if (!value.is_number() || !(value.get<double>() >= least))
            wrong(key, right);
        return value.get<double>();
    }
    //! Such as 3, or 3.0 and 3e0, which some writers have. \return 0 if the key is absent
    std::uint64_t whole(const char* key, const char* right) const
    {
        constexpr double exact = 9007199254740992; // beyond, a double is not every number
        if (!has(key))
            return 0;
        const json& value = d_from.at(key);
        if (value.is_number_unsigned())
            return value.get<std::uint64_t>();
        const double real = value.is_number_float() ? value.get<double>() : -1;
        if (!(real >= 0 && real <= exact && real == std::floor(real)))
            wrong(key, right);
        return static_cast<std::uint64_t>(real);
    }
    //! \return "" if the key is absent
    std::string text(const char* key, const char* right) const
    {
        if (!has(key))
            return {};
        if (!d_from.at(key).is_string())
            wrong(key, right);
        return d_from.at(key).get<std::string>();
    }

private:
    static std::string shown(const json& value)
    {
        constexpr std::size_t most = 60;
        const std::string all = value.dump(-1, ' ', true);
        return all.size() <= most ? all : all.substr(0, most) + "...";
    }

    const json& d_from;
    const std::string d_where;
    const std::string& d_path;
};

constexpr const char* sample_number = "the number of a sample, 0 or more";

core::sample_type parse_datatype(const fields& global)
{
    constexpr const char* key = "core:datatype";
    const std::string right = "\"cu8\", \"ci8\", \"ci16_le\", \"cf32_le\", \"ri8\" or "
                              "\"ru8\", which are read here";
    global.at(key, right.c_str());
    const std::string name = global.text(key, right.c_str());
    for (const auto& known : datatypes)
        if (name == known.name)
            return known.sample;
    global.wrong(key, right);
}

// Data that is not one plain run of samples from byte 0 to the end.
void refuse_unread_features(const fields& global)
{
    constexpr const char* key = "core:num_channels";
    constexpr const char* one = "1: only recordings of one channel are read";
    if (global.has(key) && global.whole(key, one) != 1)
        global.wrong(key, one);
    constexpr const char* none =
        "0 bytes, or leave it out: a non-conforming dataset is not read";
    if (global.whole("core:trailing_bytes", none) != 0)
        global.wrong("core:trailing_bytes", none);
    if (global.has("core:dataset"))
        global.wrong("core:dataset", "no such key: a non-conforming dataset is not read");
}

sigmf_capture parse_capture(const fields& from)
{
    constexpr const char* no_header =
        "0 bytes, or leave it out: captures with headers are not read";
    if (from.whole("core:header_bytes", no_header) != 0)
        from.wrong("core:header_bytes", no_header);
    sigmf_capture capture;
    from.at("core:sample_start", sample_number);
    capture.sample_start = from.whole("core:sample_start", sample_number);
    capture.freq =
        from.number("core:frequency", -HUGE_VAL, "a number of Hz, such as 1.09e9");
    capture.datetime =
        from.text("core:datetime", "a string such as \"2026-01-31T12:00:00.5Z\"");
    return capture;
}

sigmf_annotation parse_annotation(const fields& from)
{
    sigmf_annotation annotation;
    from.at("core:sample_start", sample_number);
    annotation.sample_start = from.whole("core:sample_start", sample_number);
    annotation.label = from.text("core:label", "a string, a short name");
    annotation.comment = from.text("core:comment", "a string");
    return annotation;
}

// read(fields) of each object in the array under \p key, if there is one.
template <typename Read>
void each(const json& all, const char* key, const std::string& path, Read read)
{
    if (!all.contains(key))
        return;
    if (!all.at(key).is_array())
        fields(all, "the metadata", path).wrong(key, "an array of objects, [{...}, ...]");
    std::size_t i = 0;
    for (const auto& one : all.at(key))
        read(fields(one, std::string(key) + "[" + std::to_string(i++) + "]", path));
}

} // namespace

bool is_sigmf_path(const std::string& path)
{
    return ends_with(path, meta_extension) || ends_with(path, data_extension);
}

sigmf_paths::sigmf_paths(const std::string& path)
{
    std::string base = path;
    if (is_sigmf_path(path))
        base.resize(path.size() - meta_extension.size());
    meta = base + meta_extension;
    data = base + data_extension;
}

sigmf_metadata parse_sigmf(const std::string& text, const std::string& path)
{
    sigmf_metadata metadata;
    try {
        const json all = json::parse(text);
        const fields top(all, "the metadata", path);
        const fields global(top.at("global", "an object, {...}"), "global", path);
        refuse_unread_features(global);
        metadata.sample = parse_datatype(global);
        metadata.rate = global.number("core:sample_rate",
                                      0,
                                      "a number of samples per second, such as "
                                      "2000000.0, or leave it out");
        metadata.description = global.text("core:description", "a string");
        each(all, "captures", path, [&](const fields& one) {
            metadata.captures.push_back(parse_capture(one));
        });
        each(all, "annotations", path, [&](const fields& one) {
            metadata.annotations.push_back(parse_annotation(one));
        });
    } catch (const json::exception& e) {
        refuse(path, std::string("no valid SigMF metadata: ") + e.what());
    }
    return metadata;
}

std::string format_sigmf(const sigmf_metadata& metadata)
{
    nlohmann::ordered_json all;
    auto& global = all["global"];
    const auto* type =
        std::find_if(std::begin(datatypes), std::end(datatypes), [&](const datatype& t) {
            return t.sample == metadata.sample;
        });
    global["core:datatype"] = type->name;
    if (metadata.rate > 0)
        global["core:sample_rate"] = metadata.rate;
    global["core:version"] = "1.2.0";
    global["core:recorder"] = std::string("gr-rdma ") + version();
    if (!metadata.description.empty())
        global["core:description"] = metadata.description;
    auto& captures = all["captures"] = nlohmann::ordered_json::array();
    for (const auto& capture : metadata.captures) {
        nlohmann::ordered_json one;
        one["core:sample_start"] = capture.sample_start;
        if (capture.freq != 0)
            one["core:frequency"] = capture.freq;
        if (!capture.datetime.empty())
            one["core:datetime"] = capture.datetime;
        captures.push_back(std::move(one));
    }
    auto& annotations = all["annotations"] = nlohmann::ordered_json::array();
    for (const auto& annotation : metadata.annotations) {
        nlohmann::ordered_json one;
        one["core:sample_start"] = annotation.sample_start;
        one["core:label"] = annotation.label;
        one["core:comment"] = annotation.comment;
        annotations.push_back(std::move(one));
    }
    return all.dump(4) + "\n";
}

std::string iso_8601(std::uint64_t whole, double fraction)
{
    // Microseconds, rounded down: a rounded-up second would need a carry.
    const auto micro = static_cast<unsigned>(std::clamp(fraction, 0.0, 0.999999) * 1e6);
    const std::time_t seconds = static_cast<std::time_t>(whole);
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    char date[40], text[64];
    std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    std::snprintf(text, sizeof text, "%s.%06uZ", date, micro);
    return text;
}

} // namespace apps
} // namespace rdma
} // namespace gr
