/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/verbs/words.h"

#include <cctype>
#include <cstdio>
#include <cstring>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

namespace {

const char* name_of(ibv_wc_status status)
{
    switch (status) {
    case IBV_WC_SUCCESS:
        return "success";
    case IBV_WC_LOC_LEN_ERR:
        return "local length error";
    case IBV_WC_LOC_QP_OP_ERR:
        return "local QP operation error";
    case IBV_WC_LOC_PROT_ERR:
        return "local protection error";
    case IBV_WC_WR_FLUSH_ERR:
        return "flushed";
    case IBV_WC_BAD_RESP_ERR:
        return "bad response";
    case IBV_WC_LOC_ACCESS_ERR:
        return "local access error";
    case IBV_WC_REM_INV_REQ_ERR:
        return "remote invalid request";
    case IBV_WC_REM_ACCESS_ERR:
        return "remote access error";
    case IBV_WC_REM_OP_ERR:
        return "remote operation error";
    case IBV_WC_RETRY_EXC_ERR:
        return "retries exceeded";
    case IBV_WC_RNR_RETRY_EXC_ERR:
        return "RNR retries exceeded";
    case IBV_WC_REM_ABORT_ERR:
        return "remote abort";
    case IBV_WC_FATAL_ERR:
        return "fatal error";
    case IBV_WC_RESP_TIMEOUT_ERR:
        return "response time-out";
    case IBV_WC_GENERAL_ERR:
        return "general error";
    default:
        return "unknown status";
    }
}

std::string remedy(ibv_wc_status status, bool sending)
{
    switch (status) {
    case IBV_WC_LOC_LEN_ERR:
        return sending
                   ? "the message is longer than the device sends at once (its "
                     "max_msg_sz): use a shorter message_bytes"
                   : "the peer's message is longer than message_bytes: make it as long "
                     "as the sender's";
    case IBV_WC_REM_INV_REQ_ERR:
        return sending
                   ? "the peer refused the message, as a rule because it is longer than "
                     "the peer's message_bytes: make them equal"
                   : "the peer's message is longer than message_bytes, or it is a "
                     "request that this side does not allow";
    case IBV_WC_REM_ACCESS_ERR:
        return "the peer's memory may not be written there: rkey and address must be "
               "those "
               "that it told";
    case IBV_WC_REM_OP_ERR:
        return "the peer could not place the message: is it longer than the peer's "
               "message_bytes? See its own messages";
    case IBV_WC_LOC_QP_OP_ERR:
        return sending
                   ? "the device cannot send it: is its interface up (ip link), and is "
                     "there a route? See the kernel log (dmesg)"
                   : "as a rule the peer's message is longer than message_bytes: make "
                     "it as long as the sender's";
    case IBV_WC_RETRY_EXC_ERR:
        return "the peer does not answer: is it there, with this service, QPN, GID and "
               "MTU? See ip neigh, rdma link, and gid_index on both sides";
    case IBV_WC_RNR_RETRY_EXC_ERR:
        return "the peer had no receive posted for too long: its consumer is too slow, "
               "or "
               "rnr_retry too small (7 waits for ever)";
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
        return "the memory is not registered there: was it freed?";
    default:
        return "see the kernel log (dmesg)";
    }
}

std::string errno_words(int status)
{
    const int code = status < 0 ? -status : status;
    return std::to_string(status) +
           (code != 0 ? std::string(" (") + std::strerror(code) + ")" : "");
}

} // namespace

std::string text_of(const connection_names& names)
{
    return names.own + (names.device.empty() ? "" : " (" + names.device + ")") + " <-> " +
           names.peer;
}

wc_status status_of(ibv_wc_status status) noexcept
{
    switch (status) {
    case IBV_WC_SUCCESS:
        return wc_status::success;
    case IBV_WC_WR_FLUSH_ERR:
        return wc_status::flushed;
    case IBV_WC_LOC_LEN_ERR:
        return wc_status::length_error;
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
        return wc_status::access_error;
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
        return wc_status::retry_exceeded;
    case IBV_WC_RNR_RETRY_EXC_ERR:
        return wc_status::rnr_exceeded;
    default:
        return wc_status::remote_error;
    }
}

std::string status_words(ibv_wc_status status)
{
    return std::to_string(static_cast<int>(status)) + " (" + name_of(status) + ")";
}

std::string completion_words(ibv_wc_status status,
                             std::uint32_t vendor_error,
                             bool sending,
                             std::uint64_t bytes,
                             const connection_names& names)
{
    char vendor[32] = "";
    if (vendor_error != 0)
        std::snprintf(vendor, sizeof vendor, ", vendor code 0x%x", vendor_error);
    return text_of(names) + ": a " + (sending ? "send" : "receive") +
           (bytes != 0 ? " of " + std::to_string(bytes) + " bytes" : "") +
           " failed with status " + status_words(status) + vendor + ": " +
           remedy(status, sending);
}

std::string reject_words(int reason)
{
    switch (reason) {
    case 1:
        return "no queue pair left";
    case 2:
        return "no end-to-end context left";
    case 3:
        return "no resources left";
    case 4:
        return "time-out";
    case 5:
        return "unsupported request";
    case 6:
        return "invalid communication ID";
    case 8:
        return "nobody listens on that port: start the listening side first, and compare "
               "the ports";
    case 9:
        return "service type (rc, uc, ud) not supported there";
    case 10:
        return "stale connection: the peer still holds an old one, try again in a moment";
    case 12:
        return "invalid GID";
    case 15:
        return "invalid alternate GID";
    case 24:
        return "port redirection";
    case 26:
        return "path MTU not supported there: make the MTU of both interfaces equal";
    case 28:
        return "refused by the peer's program: wrong peer, direction or version, or it "
               "is "
               "busy";
    default:
        return "reason not in the books";
    }
}

std::string data_words(const void* data, std::size_t bytes)
{
    const auto* at = static_cast<const unsigned char*>(data);
    while (at && bytes != 0 && at[bytes - 1] == 0)
        --bytes;
    if (!at || bytes == 0)
        return "";
    bool text = true;
    for (std::size_t i = 0; i < bytes; ++i)
        text = text && std::isprint(at[i]);
    if (text)
        return "'" + std::string(reinterpret_cast<const char*>(at), bytes) + "'";
    std::string hex = "0x";
    for (std::size_t i = 0; i < bytes; ++i) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", at[i]);
        hex += digits;
    }
    return hex;
}

std::string cm_event_words(rdma_cm_event_type event,
                           int status,
                           const std::string& data,
                           const connection_names& names)
{
    const std::string who = text_of(names) + ": ";
    const std::string said = data.empty() ? "" : "; the peer says " + data;
    switch (event) {
    case RDMA_CM_EVENT_ADDR_ERROR:
        return who + "the address cannot be resolved, status " + errno_words(status) +
               ": is there a route from the RDMA device's interface, and does the peer "
               "answer (ip route get, ip neigh)?";
    case RDMA_CM_EVENT_ROUTE_ERROR:
        return who + "no RDMA route, status " + errno_words(status) +
               ": is the port up (rdma link)?";
    case RDMA_CM_EVENT_REJECTED:
        return who + "the peer refused the connection, reason " + std::to_string(status) +
               " (" + reject_words(status) + ")" + said;
    case RDMA_CM_EVENT_UNREACHABLE:
        return who + "the peer does not answer, status " + errno_words(status) +
               ": is it up, and does a firewall let UDP port 4791 pass?";
    case RDMA_CM_EVENT_CONNECT_ERROR:
        return who + "the connection could not be made, status " + errno_words(status) +
               said;
    case RDMA_CM_EVENT_DISCONNECTED:
        return who + "the peer closed the connection";
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
        return who + "the RDMA device was removed";
    case RDMA_CM_EVENT_ADDR_CHANGE:
        return who + "the address moved to another device";
    case RDMA_CM_EVENT_MULTICAST_ERROR:
        return who + "the multicast group cannot be joined, status " +
               errno_words(status);
    default:
        return who + "unexpected event " + std::to_string(static_cast<int>(event)) +
               ", status " + errno_words(status);
    }
}

std::string
async_event_words(ibv_event_type event, const std::string& device, unsigned port)
{
    const std::string at = "port " + std::to_string(port) + " of " + device;
    switch (event) {
    case IBV_EVENT_PORT_ERR:
        return at + " is down: is the interface up (ip link, rdma link)?";
    case IBV_EVENT_PORT_ACTIVE:
        return at + " is up";
    case IBV_EVENT_GID_CHANGE:
        return at + ": its table of GIDs has changed";
    case IBV_EVENT_DEVICE_FATAL:
        return device + " has failed or was removed: see the kernel log (dmesg)";
    case IBV_EVENT_CQ_ERR:
        return device + ": the completion queue overran, completions are lost";
    case IBV_EVENT_QP_FATAL:
        return device + ": fatal error of the queue pair: see the kernel log (dmesg)";
    case IBV_EVENT_QP_REQ_ERR:
        return device +
               ": the peer sent a request that is not allowed here, or a message "
               "longer than message_bytes";
    case IBV_EVENT_QP_ACCESS_ERR:
        return device + ": the peer asked for memory that it may not touch";
    default:
        return device + ": event " + std::to_string(static_cast<int>(event));
    }
}

std::string hex(std::uint32_t value)
{
    char text[16];
    std::snprintf(text, sizeof text, "0x%x", value);
    return text;
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
