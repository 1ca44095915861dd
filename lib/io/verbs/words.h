/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_VERBS_WORDS_H
#define INCLUDED_RDMA_IO_VERBS_WORDS_H

#include "io/endpoint.h"
#include "io/verbs/verbs_api.h"

#include <string>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

//! "10.0.0.1 (rxe0) <-> 10.0.0.2": what every message about a connection names.
struct connection_names {
    std::string own;    //!< address
    std::string device; //!< of the RDMA device
    std::string peer;   //!< address and port as far as known, or "any"
};
std::string text_of(const connection_names& names);

//! What the endpoint's interface calls \p status.
wc_status status_of(ibv_wc_status status) noexcept;

//! "11 (remote operation error)"
std::string status_words(ibv_wc_status status);

/*!
 * \brief The first failed completion in words: status with its number, what was being
 * done (\p bytes; 0 if unknown), the vendor's code, and the setting that helps.
 * \param sending a send, else a receive
 */
std::string completion_words(ibv_wc_status status,
                             std::uint32_t vendor_error,
                             bool sending,
                             std::uint64_t bytes,
                             const connection_names& names);

//! Reason number of a refused connection, as the InfiniBand spec numbers them (vol. 1,
//! 12.6.7.2).
std::string reject_words(int reason);

/*!
 * \brief An event of the connection manager that ends an attempt or a connection, with
 * its status: -errno (of either sign), or the reason of a refusal.
 * \param data private data that came with it, shown as text or in hexadecimal
 */
std::string cm_event_words(rdma_cm_event_type event,
                           int status,
                           const std::string& data,
                           const connection_names& names);

//! Bytes as people read them: text in quotes if it is text (trailing zeros aside), else
//! hexadecimal; empty if there is nothing but zeros.
std::string data_words(const void* data, std::size_t bytes);

//! An asynchronous event of the device, in words.
std::string
async_event_words(ibv_event_type event, const std::string& device, unsigned port);

//! "0x1a"
std::string hex(std::uint32_t value);

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_VERBS_WORDS_H */
