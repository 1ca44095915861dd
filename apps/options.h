/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_OPTIONS_H
#define INCLUDED_RDMA_APPS_OPTIONS_H

#include "flags.h"
#include "io/lossy_link.h"

#include <cstdint>
#include <string>

namespace gr {
namespace rdma {
namespace apps {

//! The version that --version and written metadata show, such as "0.1.0".
const char* version() noexcept;

/*!
 * \brief Who talks to whom. Names and defaults are those of the blocks' parameters.
 *
 * `listen` or `connect` alone: the connection manager. With `qpn`: a static connection.
 */
struct connection_options {
    std::string endpoint = "auto";
    std::string service = "rc";
    std::string device;
    std::uint64_t gid_index = UINT64_MAX; //!< not given
    std::uint64_t ib_port = 0;            //!< 0: not given
    //! As the blocks take it: -1 if not given.
    int chosen_gid() const
    {
        return gid_index == UINT64_MAX ? -1 : static_cast<int>(gid_index);
    }
    std::string listen;
    std::string connect;
    std::string source;
    std::string peers;
    std::uint64_t qpn = 0;
    std::uint64_t remote_qpn = 0;
    std::uint64_t psn = 0;
    std::uint64_t remote_psn = 0;
    std::uint64_t qkey = 0x11111111;
    std::string group;
    std::uint64_t mtu = 0; //!< 0: not given
    std::string wait = "hybrid";
    std::string receive = "auto";
    std::uint64_t pump_cpu = UINT64_MAX; //!< not given
    //! As the blocks take it: -1 if not given.
    int bound_cpu() const
    {
        return pump_cpu == UINT64_MAX ? -1 : static_cast<int>(pump_cpu);
    }

    //! \param sends without the flags that only receivers take: these are refused by name
    void declare(flags& f, bool sends);
    //! \param sends a sender, or a reliable receiver, must know its peer
    //! \throws usage_error what the connection needs is missing, flags that do not go
    //! together, or an MTU that is no path MTU
    void check(const flags& f, bool sends) const;
};

//! What the samples are and how they are cut into messages.
struct stream_options {
    std::string sample = "sc16";
    std::uint64_t message_bytes = 65536;
    double rate = 0; //!< samples per second; 0: not given
    double freq = 0; //!< receivers: centre frequency, Hz; 0: not given

    //! \param sends as connection_options
    void declare(flags& f, bool sends);
    //! \throws usage_error message bytes hold no whole number of samples, or above 1 GiB
    void check() const;
};

//! The ring that receives: `receive` and `spectrum`.
struct ring_options {
    std::uint64_t buffers = 16;
    std::string memory = "auto";
    std::string route = "auto";
    std::string reconnect = "never";
    double idle = 0; //!< seconds without a message that end the stream; 0: never
    std::uint64_t count = 0;

    void declare(flags& f);
    //! What `send` says to these flags.
    static void refuse(flags& f);
};

//! Harm that `send` does to its own packets, to see how a receiver takes it.
struct fault_options {
    double drop = 0; //!< shares of the packets, 0 to 1
    double duplicate = 0;
    double reorder = 0;
    double corrupt = 0;
    double delay_ms = 0;
    std::uint64_t seed = 1;

    void declare(flags& f);
    //! \throws usage_error the endpoint has no packets
    void check(const connection_options& connection) const;
    io::lossy_link_config config() const;
};

//! How the program talks to its user.
struct talk_options {
    bool json = false;
    bool quiet = false;

    void declare(flags& f);
};

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_OPTIONS_H */
