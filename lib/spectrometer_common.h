/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_SPECTROMETER_COMMON_H
#define INCLUDED_RDMA_SPECTROMETER_COMMON_H

#include "dsp/padding.h"
#include "dsp/sample_clock.h"
#include "spectrum_engine.h"

#include <gnuradio/rdma/spectrometer.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <pmt/pmt.h>
#include <vector>

namespace gr {
namespace rdma {

/*
 * Walks the input from tag to tag: what a tag says takes effect in front of its item, the
 * samples between two tags go to the engine. A "series" is what runs from one gap to the
 * next; samples and vectors are counted from its start. Vectors may come later than their
 * samples, but in front of a gap they are waited for: no two series are under way at
 * once.
 */
class spectrometer_common : public spectrometer
{
public:
    void forecast(int noutput_items, gr_vector_int& ninput_items_required) override;

    std::uint64_t spectra() const override { return d_spectra; }
    std::uint64_t samples_dropped() const override { return d_samples_dropped; }
    std::uint64_t frames_dropped() const override { return d_frames_dropped; }

protected:
    //! \param config a right one: spectrum_config() has not refused it
    explicit spectrometer_common(const spectrometer_config& config);

    //! Before each start, without anything pending; it outlives the run.
    void set_engine(spectrum_engine* engine) noexcept { d_engine = engine; }
    //! Item numbers start anew, and so does what hangs on them.
    void start_over();
    //! general_work(), the input where the engine wants it. Waits for the engine only if
    //! there is nothing else to do. \return WORK_DONE too when the engine has failed
    int run(int noutput_items, int ninput_items, const void* input, float* output);

private:
    struct pending_tag {
        std::uint64_t vector;
        pmt::pmt_t key;
        pmt::pmt_t value;
    };

    void restart_series();
    void read_tags(std::uint64_t begin, std::uint64_t end);
    bool gap_at(std::size_t index, std::uint64_t item) const;
    std::size_t apply_tags(std::size_t index, std::uint64_t item);
    void apply_rate(const pmt::pmt_t& value);
    void apply_time(const pmt::pmt_t& value);
    void apply_freq(const pmt::pmt_t& value);
    void state_rate(std::uint64_t vector);
    void tag_later(std::uint64_t vector, const pmt::pmt_t& key, const pmt::pmt_t& value);
    void put_out(std::size_t vectors);
    void tag_output(std::uint64_t first_item, std::size_t vectors);

    const std::size_t d_vlen;
    const std::size_t d_sample_bytes;
    const std::size_t d_length;
    const std::uint64_t d_step; // samples from one vector's first to the next vector's
    const std::uint64_t d_time_every; // rx_time on every so many-th vector
    const double d_config_rate;       // 0: unknown
    const std::size_t d_max_items;    // input per work(), so that stop() is prompt
    spectrum_engine* d_engine = nullptr;

    std::vector<tag_t> d_tags;   // of this work(), ours only, by offset
    std::uint64_t d_applied = 0; // tags in front of this offset have been applied
    std::size_t d_item_samples_taken = 0; // of the item that is next to consume
    dsp::padding d_padding;
    dsp::sample_clock d_clock;
    std::vector<pending_tag> d_pending;
    pmt::pmt_t d_freq;           // stated last on the output
    double d_spectra_rate = 0;   // stated last on the output
    std::uint64_t d_samples = 0; // of this series
    std::uint64_t d_vectors = 0; // of this series
    std::uint64_t d_untimed = 0; // vectors since the last rx_time
    std::size_t d_produced = 0;  // vectors of this work()

    std::atomic<std::uint64_t> d_spectra{ 0 };
    std::atomic<std::uint64_t> d_samples_dropped{ 0 };
    std::atomic<std::uint64_t> d_frames_dropped{ 0 };
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_SPECTROMETER_COMMON_H */
