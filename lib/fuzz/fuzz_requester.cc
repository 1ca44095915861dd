/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The input is a script: messages are queued, packets taken, acknowledgements of every
// kind come, time passes. Whatever it says, each packet is the right piece of the right
// message, no message's memory is used after its completion, each completes once, in
// order and not before the peer has it, and something always remains to be done about one
// that has not.
#include "fuzz/input.h"
#include "fuzz/requester_bench.h"

namespace {

using namespace gr::rdma;
using fuzz::requester_bench;
using io::softroce::requester_config;

requester_config config_of(fuzz::input& in)
{
    requester_config c;
    const unsigned bits = in.u8();
    const io::service_type services[] = { io::service_type::rc,
                                          io::service_type::rc,
                                          io::service_type::uc,
                                          io::service_type::ud };
    c.service = services[in.less_than(4)];
    c.mtu = 256;
    c.first_psn = wire::psn(in.u32());
    c.dest_qpn = 0x123456;
    c.own_qpn = 0x654321;
    c.qkey = 0x5678;
    c.retry_count = bits & 7;
    c.rnr_retry = bits >> 3 & 7;
    c.wait_for_peer = bits & 128;
    c.window_bytes = 256 * (1 + in.less_than(64));
    c.rate_bytes = in.less_than(4) == 3 ? 1e6 : 0;
    return c;
}

void play(fuzz::input& in, requester_bench& b)
{
    while (!in.empty()) {
        const unsigned choice = in.u8();
        const unsigned n = choice >> 4;
        switch (choice & 15) {
        case 0:
        case 1:
            b.post(in.u16() % fuzz::longest, n & 1, n & 2);
            break;
        case 2:
            b.post(n * 64, n & 1, n == 7);
            break;
        case 3:
        case 4:
            for (unsigned i = 0; i <= n; ++i)
                b.send();
            break;
        case 5: // as a device does
            while (b.send()) {
            }
            b.hand_over();
            break;
        case 6:
            b.hand_over();
            break;
        case 7:
            b.acknowledge(wire::aeth_kind::ack, 31, static_cast<int>(n));
            break;
        case 8: // with credits
            b.acknowledge(wire::aeth_kind::ack, in.u8() % 8, static_cast<int>(n));
            break;
        case 9:
            b.acknowledge(wire::aeth_kind::nak, 0, static_cast<int>(n));
            break;
        case 10:
            b.acknowledge(wire::aeth_kind::rnr_nak, in.u8(), static_cast<int>(n));
            break;
        case 11: // of any kind, for any packet
            b.acknowledge(static_cast<wire::aeth_kind>(n & 3),
                          in.u8(),
                          static_cast<std::int32_t>(in.u32() << 8) >> 8,
                          static_cast<std::int8_t>(in.u8()));
            break;
        case 12:
            b.pass_time(std::int64_t{ 1 } << (n * 2));
            break;
        case 13:
            b.pass_until_ready();
            break;
        case 14:
            b.pop_all();
            break;
        case 15:
            b.acknowledge(wire::aeth_kind::ack, 31, -static_cast<int>(n));
            break;
        }
        b.check_progress();
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes)
{
    fuzz::input in(data, bytes);
    const requester_config config = config_of(in);
    const std::size_t depth = 1 + in.less_than(8);
    const std::size_t queue = 1 + in.less_than(8);
    const bool drained = in.u8() & 1;
    requester_bench b(config, depth, queue);
    play(in, b);
    if (drained)
        b.drain();
    b.abort();
    return 0;
}
