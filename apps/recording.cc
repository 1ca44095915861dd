/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recording.h"
#include "usage_error.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace apps {

namespace {

void refuse_cut_sample(const std::string& path, const recording& r)
{
    const std::size_t item = core::sample_bytes(r.sample);
    const std::uint64_t rest = r.data.bytes() % item;
    if (rest)
        throw run_error("'" + path +
                        "' is cut inside a sample: " + std::to_string(r.data.bytes()) +
                        " bytes are " + std::to_string(r.data.bytes() / item) + " " +
                        core::to_string(r.sample) + " samples of " +
                        std::to_string(item) + " bytes and " + std::to_string(rest) +
                        " more; give the sample type it was written as, or cut it to " +
                        std::to_string(r.data.bytes() - rest) + " bytes");
}

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

recording open_sigmf(const std::string& path, const std::string& sample)
{
    const sigmf_paths paths(path);
    const mapped_file meta(paths.meta);
    const sigmf_metadata metadata =
        parse_sigmf(std::string(reinterpret_cast<const char*>(meta.data()), meta.bytes()),
                    paths.meta);
    if (!sample.empty() && core::parse_sample(sample) != metadata.sample)
        throw usage_error("--sample='" + sample + "': '" + paths.meta + "' says " +
                          core::to_string(metadata.sample) +
                          "; leave --sample out for SigMF");
    recording r;
    r.sample = metadata.sample;
    r.rate = metadata.rate;
    if (!metadata.captures.empty())
        r.freq = metadata.captures.front().freq;
    r.data = mapped_file(paths.data);
    refuse_cut_sample(paths.data, r);
    return r;
}

} // namespace

recording open_recording(const std::string& path, const std::string& sample)
{
    if (is_sigmf_path(path) || (!exists(path) && exists(sigmf_paths(path).meta)))
        return open_sigmf(path, sample);
    recording r;
    r.data = mapped_file(path);
    if (sample.empty())
        throw usage_error("--sample is needed: '" + path +
                          "' is a raw file; say what its samples are (cu8, sc8, sc16, "
                          "fc32 or byte)");
    r.sample = core::parse_sample(sample, "--sample");
    refuse_cut_sample(path, r);
    return r;
}

recording_writer::recording_writer(const std::string& path,
                                   const sigmf_metadata& metadata)
    : d_file(is_sigmf_path(path) ? sigmf_paths(path).data : path),
      d_meta_path(is_sigmf_path(path) ? sigmf_paths(path).meta : ""),
      d_metadata(metadata)
{
}

void recording_writer::refuse(const std::string& path, int error) const
{
    throw run_error("cannot write '" + path + "': " + std::strerror(error) + " (after " +
                    std::to_string(d_bytes) + " bytes)");
}

std::uint64_t recording_writer::next_sample() const noexcept
{
    return d_bytes / core::sample_bytes(d_metadata.sample);
}

void recording_writer::write(const void* data, std::size_t bytes)
{
    if (bytes && std::fwrite(data, 1, bytes, d_file.stream()) != bytes)
        refuse(d_file.path(), errno);
    d_bytes += bytes;
}

void recording_writer::start_capture(double freq, const std::string& datetime)
{
    auto& captures = d_metadata.captures;
    // Two captures at one sample would leave the first one empty.
    if (!captures.empty() && captures.back().sample_start == next_sample())
        captures.pop_back();
    captures.push_back({ next_sample(), freq, datetime });
}

void recording_writer::annotate(const std::string& label, const std::string& comment)
{
    d_metadata.annotations.push_back({ next_sample(), label, comment });
}

void recording_writer::close()
{
    const int error = d_file.close();
    if (error != 0)
        refuse(d_file.path(), error);
    if (d_meta_path.empty())
        return;
    const std::string text = format_sigmf(d_metadata);
    std::FILE* const meta = std::fopen(d_meta_path.c_str(), "we");
    if (!meta)
        refuse(d_meta_path, errno);
    const bool written = std::fwrite(text.data(), 1, text.size(), meta) == text.size();
    if (std::fclose(meta) != 0 || !written)
        refuse(d_meta_path, errno);
}

} // namespace apps
} // namespace rdma
} // namespace gr
