/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spectrometer_impl.h"

#include "block_checks.h"
#include "gpu_choice.h"
#include "spectrometer_checks.h"
#ifdef RDMA_HAVE_CUDA
#include "spectrometer_device.h"
#endif

#include <gnuradio/io_signature.h>
#include <utility>

namespace gr {
namespace rdma {

spectrometer::sptr spectrometer::make(const spectrometer_config& config)
{
    // A wrong parameter is told before a GPU is looked for.
    item_bytes(config);
    spectrum_config(config);
    check_wait(config.wait, config.memory);
    const bool on_gpu = choose_gpu(config.memory).gpu != nullptr;
#ifdef RDMA_HAVE_CUDA
    if (on_gpu)
        return gnuradio::make_block_sptr<spectrometer_device>(config);
#else
    (void)on_gpu; // never: it has been refused
#endif
    return gnuradio::make_block_sptr<spectrometer_impl>(config);
}

spectrometer_impl::spectrometer_impl(const spectrometer_config& config,
                                     std::unique_ptr<spectrum_engine> engine)
    : gr::block(
          "rdma_spectrometer",
          io_signature::make(1, 1, item_bytes(config)),
          io_signature::make(
              1, 1, static_cast<int>(spectrum_config(config).length * sizeof(float)))),
      spectrometer_common(config),
      d_engine(engine ? std::move(engine) : make_host_engine(spectrum_config(config)))
{
    set_engine(d_engine.get());
}

bool spectrometer_impl::start()
{
    start_over();
    return block::start();
}

int spectrometer_impl::general_work(int noutput_items,
                                    gr_vector_int& ninput_items,
                                    gr_vector_const_void_star& input_items,
                                    gr_vector_void_star& output_items)
{
    const int produced = run(noutput_items,
                             ninput_items[0],
                             input_items[0],
                             static_cast<float*>(output_items[0]));
    if (!d_engine->failure().empty())
        d_logger->error("{}", d_engine->failure());
    return produced;
}

} // namespace rdma
} // namespace gr
