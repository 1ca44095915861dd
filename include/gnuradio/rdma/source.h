/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_SOURCE_H
#define INCLUDED_RDMA_SOURCE_H

#include <cstddef>
#include <cstdint>
#include <gnuradio/block.h>
#include <gnuradio/rdma/api.h>
#include <map>
#include <string>

namespace gr {
namespace rdma {

/*!
 * \brief Parameters of rdma.source. Names are those of the program's flags; sizes are
 * bytes.
 */
struct RDMA_API source_config {
    std::string sample = "sc16"; //!< cu8, sc8, sc16, fc32 or byte
    std::size_t vlen = 1;        //!< samples per item

    //! Ring slot, and the longest message payload: a multiple of the item, header not
    //! counted.
    std::size_t message_bytes = 65536;
    unsigned buffers = 16; //!< ring slots, at least 2
    std::size_t header_bytes =
        0; //!< first bytes of each message, split off to host memory

    std::string endpoint = "auto"; //!< auto, softroce, verbs or inproc
    std::string service = "rc";    //!< rc, uc or ud
    std::string device;    //!< verbs: name of the RDMA device; empty: the one with source
    int gid_index = -1;    //!< verbs, static: index of the own GID; -1: that of source
    unsigned ib_port = 0;  //!< verbs: port of the device; 0: the one with source
    std::string source;    //!< own address
    std::string listen;    //!< HOST[:PORT]: wait for a peer to connect
    std::string connect;   //!< HOST[:PORT]: call a peer; HOST if static
    std::uint32_t qpn = 0; //!< own QPN; given: static, no connection manager
    std::uint32_t remote_qpn = 0;
    std::uint32_t psn = 0;           //!< first PSN that we send
    std::uint32_t remote_psn = 0;    //!< first PSN that the peer sends
    std::uint32_t qkey = 0x11111111; //!< ud, static: what both sides give
    std::string group;               //!< ud: multicast group to receive from, too
    std::uint32_t mtu = 0; //!< 256 to 4096; 0: what fits (listen, connect), 1024 (static)
    std::string peers;     //!< listen: who may connect, addresses by comma; empty: anyone

    //! R_Key with which a peer may WRITE into the ring (RC, UC; softroce); 0: it may not.
    std::uint32_t rkey = 0;
    //! never, failure or always: which endings of a connection the stream survives.
    std::string reconnect = "never";

    std::string memory = "auto"; //!< auto, host or cuda:N
    //! How messages get into a GPU's memory: dmabuf, peermem, staged; auto: the first of
    //! these that works.
    std::string route = "auto";
    std::string wait = "hybrid";  //!< hybrid, busy or event
    int pump_cpu = -1;            //!< softroce: CPU that its thread is bound to; -1: any
    std::string receive = "auto"; //!< softroce reads by gro or scatter; auto: the faster

    //! rx_buffer tag on every Nth message; 0: only at discontinuities.
    unsigned tag_every = 1;
    double rate = 0; //!< samples per second for rx_rate and rx_time; 0: unknown
    double freq = 0; //!< centre frequency in Hz for rx_freq
};

/*!
 * \brief Receives RDMA messages into a ring and streams their samples.
 * \ingroup rdma
 *
 * The ring is the output buffer: a message lands in the next free slot, and the slot is
 * offered to the sender again once every reader is past it. A message shorter than its
 * slot leaves the rest of the slot zero; `packet_len` and `rx_buffer.bytes` say the true
 * length. Samples of a failed or over-long message never appear.
 *
 * Tags (keys and values are in the manual): `rx_buffer`, `rx_time`, `rx_rate`, `rx_freq`,
 * `rx_gap`, `packet_len`. Message port `status`: a dict once a second.
 *
 * The constructor validates; start() binds and connects; stop() returns within a second
 * from any state. After stop() the block may be started again; the first message then
 * carries rx_gap with reason "reconnect". So it does when `reconnect` lets the stream go
 * on after its connection has ended: the block listens or calls again, after a delay that
 * doubles from 0.1 s to 10 s (to 1 s if it listens) while no message comes.
 */
class RDMA_API source : virtual public gr::block
{
public:
    using sptr = std::shared_ptr<source>;

    //! \throws config_error a parameter is wrong; named, with the value and what would be
    //! right
    static sptr make(const source_config& config);

    //! Samples per second for rx_rate and rx_time; takes effect with the next message.
    //! Any thread. \throws config_error negative or not a number
    virtual void set_rate(double rate) = 0;
    //! Centre frequency in Hz for rx_freq; takes effect with the next message. Any
    //! thread.
    virtual void set_freq(double freq) = 0;

    //! One line: endpoint, service, addresses, QPNs, MTU; the route into a GPU's memory,
    //! and why not those before it. Any thread.
    virtual std::string description() const = 0;
    //! idle, connecting (also between two connections), connected, closed or failed. Any
    //! thread.
    virtual std::string state() const = 0;
    //! Why, in words; empty if there is nothing to say. Any thread.
    virtual std::string status_text() const = 0;
    //! Every counter of the endpoint by name, since the block was made. Any thread.
    virtual std::map<std::string, std::uint64_t> counters() const = 0;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_SOURCE_H */
