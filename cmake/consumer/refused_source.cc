/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// Makes a source with a message length that no item fits, and prints what the library
// says.
#include <gnuradio/rdma/error.h>
#include <gnuradio/rdma/source.h>
#include <iostream>

int main()
{
    gr::rdma::source_config config;
    config.sample = "sc16";
    config.source = "127.0.0.1";
    config.connect = "127.0.0.2";
    config.qpn = 17;
    config.remote_qpn = 18;
    config.message_bytes = 4095;
    try {
        gr::rdma::source::make(config);
    } catch (const gr::rdma::config_error& error) {
        std::cout << error.what() << "\n";
        return 0;
    }
    std::cout << "a source with 4095-byte messages of 4-byte samples was accepted\n";
    return 1;
}
