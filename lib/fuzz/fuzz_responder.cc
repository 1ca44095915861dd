/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
// The input is a script: slots are posted, a sender's packets come, are lost, come twice
// or late, packets of no sender come between. Whatever it says, no byte outside the slots
// is written, each slot completes once and in order with just the bytes that were
// accepted, acknowledgements say what was accepted, and no loss goes unsaid.
#include "fuzz/input.h"
#include "fuzz/responder_bench.h"

#include <algorithm>

namespace {

using namespace gr::rdma;
using io::softroce::responder_config;
using op = wire::operation;
using fuzz::responder_bench;

constexpr std::size_t longest_packet = 600;

responder_config config_of(fuzz::input& in)
{
    responder_config c;
    const io::service_type services[] = { io::service_type::rc,
                                          io::service_type::uc,
                                          io::service_type::ud };
    c.service = services[in.less_than(3)];
    c.mtu = 256;
    c.first_psn = wire::psn(in.u32());
    const std::uint32_t header_sizes[] = { 0, 16, 300 };
    c.header_bytes = header_sizes[in.less_than(3)];
    c.rkey = in.less_than(8) != 0 ? 0x1234 : 0;
    c.qkey = 0x5678;
    return c;
}

// A sender of equal messages behind a link that loses, doubles and delays.
void play_stream(fuzz::input& in, responder_bench& b)
{
    std::int64_t next = 0;
    while (!in.empty()) {
        const unsigned choice = in.u8();
        const unsigned n = choice >> 4;
        switch (choice & 7) {
        case 0:
        case 1: // a run of packets
            for (unsigned i = 0; i <= n; ++i)
                b.give_of_stream(next++, choice & 8);
            break;
        case 2: // lost
            next += n + 1;
            break;
        case 3: // late, or twice
            b.give_of_stream(std::max<std::int64_t>(0, next - 1 - n), choice & 8);
            break;
        case 4: // early
            b.give_of_stream(next + n, choice & 8);
            break;
        case 5:
            for (unsigned i = 0; i <= n / 4; ++i)
                b.post(in);
            break;
        case 6:
            b.pop_one();
            break;
        case 7:
            if (const std::int64_t asked = b.take_ack(); asked >= 0)
                next = asked;
            break;
        }
    }
}

// Packets of no sender that keeps to any rule.
void play_noise(fuzz::input& in, responder_bench& b)
{
    std::int64_t at = 0;
    while (!in.empty()) {
        const unsigned choice = in.u8();
        switch (choice & 7) {
        case 5:
            b.post(in);
            break;
        case 6:
            b.pop_one();
            break;
        case 7:
            b.take_ack();
            break;
        case 4: // far away
            b.give(in.u32(), in.u8(), in.u16() % longest_packet, false);
            break;
        default: {
            const bool own = choice & 8; // an opcode of the service
            const unsigned operations = 12;
            const unsigned shift = b.service() == wire::service::ud ? 4 : 0; // SEND ONLY
            const auto opcode = static_cast<std::uint8_t>(
                own ? wire::make_opcode(b.service(),
                                        static_cast<op>(in.less_than(operations) | shift))
                    : in.u8());
            const int jump = choice & 16 ? static_cast<std::int8_t>(in.u8()) / 4 : 0;
            at = std::max<std::int64_t>(0, at + jump);
            const std::size_t bytes = choice & 32 ? in.u16() % longest_packet : 256;
            fuzz::extension e;
            if (wire::traits(opcode).has_reth || wire::traits(opcode).has_deth) {
                const unsigned wish = in.u8();
                e.right_key = (wish & 15) != 0;
                e.beyond = wish & 16 ? static_cast<std::int8_t>(in.u8()) * 4 : 0;
                e.bytes = wish & 32   ? in.u16()
                          : wish & 64 ? 256 + in.u8()
                                      : static_cast<std::uint32_t>(bytes);
            }
            b.give(at, opcode, bytes, choice & 64, e);
            ++at;
        }
        }
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes)
{
    fuzz::input in(data, bytes);
    responder_config config = config_of(in);
    const unsigned kind = in.u8();
    const std::size_t depth = 1 + in.less_than(fuzz::places);
    std::uint32_t uniform = kind & 1 ? 1 + in.u16() % 1100 : 0;
    if (config.service == io::service_type::ud)
        uniform = std::min(uniform, config.mtu);
    config.message_bytes = kind & 2 ? uniform : 0;
    responder_bench b(config, depth, uniform);
    b.scatters = kind & 4;
    if (uniform != 0)
        play_stream(in, b);
    else
        play_noise(in, b);
    b.finish();
    return 0;
}
