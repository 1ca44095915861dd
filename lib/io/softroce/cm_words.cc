/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/softroce/cm_words.h"

#include "io/softroce/addresses.h"

namespace gr {
namespace rdma {
namespace io {
namespace softroce {

namespace {

std::string
no_answer_text(const queue_pair& qp, std::uint16_t port, std::int64_t patience_ns)
{
    return "no answer from " + text_of(qp.peer_address, port) + " within " +
           std::to_string(patience_ns / 1000000) +
           " ms; is the peer listening there, and is UDP port 4791 open between it "
           "and " +
           text_of(qp.own_address) + "?";
}

// What a REJ's private data say, if it is text: it comes from outside.
std::string said_by_peer(const std::vector<std::byte>& data)
{
    std::string text;
    for (const std::byte b : data) {
        const char c = static_cast<char>(b);
        if (c == 0)
            break;
        if (c < ' ' || c > '~')
            return "";
        text += c;
    }
    return text;
}

// The REJ's words for people, with what they can do.
std::string connection_words(const queue_pair& qp)
{
    const cm_connection& cm = *qp.cm;
    const std::string peer = text_of(qp.peer_address, cm.settings().port);
    if (cm.state() == cm_state::failed)
        return no_answer_text(qp, cm.settings().port, cm.settings().patience_ns);
    const std::string reason = std::string(wire::to_string(cm.reason())) + " (reason " +
                               std::to_string(static_cast<unsigned>(cm.reason())) + ")";
    if (qp.listens) // connected already: it is not our port that tells the peer apart
        return "the peer " + text_of(qp.peer_address) +
               " broke the connection off: " + reason;
    const std::string text = "the peer " + peer + " refused the connection: " + reason;
    const std::string said = said_by_peer(cm.reject_data());
    switch (cm.reason()) {
    case wire::cm_rej_reason::invalid_service_id:
        return text + "; nobody listens on port " + std::to_string(cm.settings().port);
    case wire::cm_rej_reason::no_resources:
        return text + "; it has a connection already";
    case wire::cm_rej_reason::invalid_transport_service_type:
        return text + "; give both sides the same service (this one has " +
               to_string(qp.service) + ")";
    case wire::cm_rej_reason::consumer_reject:
        return text + (said.empty()
                           ? "; its list of peers may not have " + text_of(qp.own_address)
                           : "; it says '" + said + "'");
    default:
        return text;
    }
}

// For people, with what they can do.
std::string query_words(const queue_pair& qp)
{
    const sidr_query& query = *qp.query;
    const std::string peer = text_of(qp.peer_address, query.settings().port);
    if (query.state() == sidr_state::failed)
        return no_answer_text(qp, query.settings().port, query.settings().patience_ns);
    std::string text = "the peer " + peer + " has no queue pair for datagrams to give: " +
                       wire::to_string(query.status()) + " (status " +
                       std::to_string(static_cast<unsigned>(query.status())) + ")";
    switch (query.status()) {
    case wire::cm_sidr_status::service_id_not_supported:
        return text + "; nobody listens there with service='ud' on port " +
               std::to_string(query.settings().port);
    case wire::cm_sidr_status::rejected_by_service_provider:
        return text + "; its list of peers may not have " + text_of(qp.own_address);
    default:
        return text;
    }
}

} // namespace

std::string failure_text(const queue_pair& qp)
{
    return qp.query ? query_words(qp) : connection_words(qp);
}

std::string elsewhere_text(const queue_pair& qp)
{
    const std::optional<wire::psn> psn = qp.tx->elsewhere();
    if (!psn)
        return "";
    const std::string expected = std::to_string(psn->value());
    return "the peer " + text_of(qp.peer_address) + " waits for PSN " + expected +
           ", where an earlier sender ended, and takes what is sent here for "
           "repetitions: start both sides anew, give psn=" +
           expected + ", or connect to a port";
}

std::string refusal_text(const queue_pair& qp)
{
    const std::string from =
        "refused what the peer " + text_of(qp.peer_address) + " sent: ";
    switch (qp.told) {
    case responder::refusal::none:
        return "";
    case responder::refusal::message_length:
        return from + "a message of more than " + std::to_string(qp.rx->most_bytes()) +
               " bytes (header_bytes included); raise message_bytes to what the peer "
               "sends";
    case responder::refusal::packet_length:
        return from +
               "a packet whose length does not suit mtu=" + std::to_string(qp.rx->mtu()) +
               "; give both sides the same mtu";
    case responder::refusal::sequence:
        return from + "packets that make no message; is it a RoCEv2 RC sender?";
    case responder::refusal::access:
        return from +
               "an RDMA WRITE with a wrong R_Key or outside the next slot; compare "
               "rkey, address and message_bytes on both sides";
    case responder::refusal::begins_again: {
        const std::string expected = std::to_string(qp.rx->expected_psn().value());
        return "the peer " + text_of(qp.peer_address) + " begins again at PSN " +
               std::to_string(qp.rx->first_psn().value()) + ", and " + expected +
               " is next here: what it sends is taken for a repetition, and dropped. "
               "Start both sides anew, give the sender psn=" +
               expected + ", or connect with listen instead";
    }
    }
    return "";
}

} // namespace softroce
} // namespace io
} // namespace rdma
} // namespace gr
