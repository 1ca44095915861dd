/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sigmf.h"
#include "options.h"
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

bool ends_with(const std::string& text, const std::string& end)
{
    return text.size() >= end.size() &&
           text.compare(text.size() - end.size(), end.size(), end) == 0;
}

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

core::sample_type parse_datatype(const json& global, const std::string& path)
{
    if (!global.contains("core:datatype") || !global["core:datatype"].is_string())
        refuse(path, "global has no core:datatype");
    const auto name = global["core:datatype"].get<std::string>();
    for (const auto& known : datatypes)
        if (name == known.name)
            return known.sample;
    refuse(path,
           "core:datatype '" + name +
               "' is not read here; cu8, ci8, ci16_le, cf32_le, ri8 and ru8 are");
}

// Data that is not one plain run of samples from byte 0 to the end.
void refuse_unread_features(const json& global, const std::string& path)
{
    if (global.value("core:num_channels", 1) != 1)
        refuse(path,
               "core:num_channels is " +
                   std::to_string(global["core:num_channels"].get<int>()) +
                   "; only recordings of one channel are read");
    if (global.value("core:trailing_bytes", 0) != 0 || global.contains("core:dataset"))
        refuse(
            path,
            "a non-conforming dataset (core:dataset, core:trailing_bytes) is not read");
}

sigmf_capture parse_capture(const json& from, const std::string& path)
{
    sigmf_capture capture;
    if (from.value("core:header_bytes", 0) != 0)
        refuse(path, "captures with core:header_bytes are not read");
    capture.sample_start = from.at("core:sample_start").get<std::uint64_t>();
    capture.freq = from.value("core:frequency", 0.0);
    capture.datetime = from.value("core:datetime", std::string());
    return capture;
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
        if (!all.is_object() || !all.contains("global") || !all["global"].is_object())
            refuse(path, "no SigMF metadata: there is no object 'global'");
        const json& global = all["global"];
        refuse_unread_features(global, path);
        metadata.sample = parse_datatype(global, path);
        metadata.rate = global.value("core:sample_rate", 0.0);
        if (!(metadata.rate >= 0) || !std::isfinite(metadata.rate))
            refuse(path, "core:sample_rate is no positive number");
        metadata.description = global.value("core:description", std::string());
        for (const auto& one : all.value("captures", json::array()))
            metadata.captures.push_back(parse_capture(one, path));
        for (const auto& one : all.value("annotations", json::array()))
            metadata.annotations.push_back(
                { one.at("core:sample_start").get<std::uint64_t>(),
                  one.value("core:label", std::string()),
                  one.value("core:comment", std::string()) });
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
