/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scene.h"
#include "emitters.h"
#include "usage_error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

namespace gr {
namespace rdma {
namespace apps {

namespace {

constexpr float noise_rms = 0.004f; // -48 dBFS over the whole band

std::set<std::string> parse_emitters(const std::string& text)
{
    if (text == "default")
        return { "tone", "fm", "qpsk", "chirp" };
    std::set<std::string> names;
    if (text == "noise")
        return names;
    const std::string right =
        "give default, noise, or some of tone, fm, qpsk, chirp with "
        "commas, each once";
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        const std::string name = text.substr(at, end - at);
        if (name != "tone" && name != "fm" && name != "qpsk" && name != "chirp")
            throw usage_error("--scene='" + text + "': '" + name + "' is no emitter; " +
                              right);
        if (!names.insert(name).second)
            throw usage_error("--scene='" + text + "': '" + name + "' is there twice; " +
                              right);
        at = end + 1;
    }
    return names;
}

// (0, 1]: the logarithm of it is finite.
double uniform(std::uint64_t bits) { return ((bits >> 11) + 1) * 0x1p-53; }

template <typename T>
void store(float value, float scale, float offset, float low, float high, std::byte*& out)
{
    const T rounded =
        static_cast<T>(std::nearbyint(std::clamp(value * scale + offset, low, high)));
    std::memcpy(out, &rounded, sizeof rounded);
    out += sizeof rounded;
}

} // namespace

scene::scene(const std::string& emitters, double rate, std::uint64_t seed) : d_noise(seed)
{
    const auto names = parse_emitters(emitters);
    if (names.count("tone"))
        d_emitters.push_back(make_tone(rate, tone_offset * rate, 0.10f));
    if (names.count("fm"))
        d_emitters.push_back(make_fm(rate, fm_offset * rate, 0.05 * rate, 0.15f));
    if (names.count("chirp"))
        d_emitters.push_back(
            make_chirp(rate, chirp_low * rate, chirp_high * rate, 0.1, 0.12f));
    if (names.count("qpsk"))
        d_emitters.push_back(make_qpsk(rate, qpsk_offset * rate, 0.12f, seed ^ 0x51));
}

void scene::generate(std::complex<float>* out, std::size_t n)
{
    for (std::size_t i = 0; i < n; ++i) {
        // Box-Muller; std::normal_distribution may differ between libraries.
        const double radius = noise_rms * std::sqrt(-std::log(uniform(d_noise())));
        const double angle = 2 * M_PI * uniform(d_noise());
        out[i] = { static_cast<float>(radius * std::cos(angle)),
                   static_cast<float>(radius * std::sin(angle)) };
    }
    for (const auto& one : d_emitters)
        one->add(out, n);
}

void quantise(core::sample_type sample,
              const std::complex<float>* in,
              std::size_t n,
              std::byte* out)
{
    using core::sample_type;
    const auto each = [&](auto put) {
        for (std::size_t i = 0; i < n; ++i) {
            put(in[i].real());
            put(in[i].imag());
        }
    };
    switch (sample) {
    case sample_type::cu8:
        return each([&](float v) { store<std::uint8_t>(v, 128, 127.5f, 0, 255, out); });
    case sample_type::sc8:
        return each([&](float v) { store<std::int8_t>(v, 128, 0, -128, 127, out); });
    case sample_type::sc16:
        return each(
            [&](float v) { store<std::int16_t>(v, 32768, 0, -32768, 32767, out); });
    case sample_type::fc32:
        std::memcpy(out, in, n * sizeof *in);
        return;
    case sample_type::byte:
        for (std::size_t i = 0; i < n; ++i)
            store<std::int8_t>(in[i].real(), 128, 0, -128, 127, out);
        return;
    }
}

} // namespace apps
} // namespace rdma
} // namespace gr
