/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_MESSAGES_H
#define INCLUDED_RDMA_APPS_MESSAGES_H

#include "io/endpoint.h"
#include "recording.h"
#include "scene.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

namespace gr {
namespace rdma {
namespace apps {

//! When a feed ends, whichever comes first.
struct feed_limits {
    std::uint64_t messages = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
};

/*!
 * \brief Gives the messages to send, one after the other.
 *
 * The memory of a request stays the feed's; it must be left alone until the request's
 * cookie went to release(). Not thread-safe.
 */
class message_feed
{
public:
    virtual ~message_feed() = default;
    //! \return false: no message now, since none is left (finished()) or all memory is
    //! out
    virtual bool next(io::send_request& request) = 0;
    virtual void release(std::uint64_t cookie) = 0;
    virtual bool finished() const = 0;
};

/*!
 * \brief Cuts a recording into messages, from the mapping itself.
 *
 * The end of the recording makes a short message if it is no multiple; each round starts
 * at the beginning again. \param source must outlive the feed \param message_bytes whole
 * samples \param rounds 0: for ever
 */
std::unique_ptr<message_feed> make_recording_feed(const recording& source,
                                                  std::uint64_t message_bytes,
                                                  std::uint64_t rounds,
                                                  const feed_limits& limits);

//! Makes messages of a scene as they are asked for. \param depth messages that may be out
//! at once \param cancelled true: next() gives no more, and leaves a message that it is
//! at
std::unique_ptr<message_feed> make_scene_feed(std::unique_ptr<scene> source,
                                              core::sample_type sample,
                                              std::uint64_t message_bytes,
                                              std::size_t depth,
                                              const feed_limits& limits,
                                              std::function<bool()> cancelled = {});

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_MESSAGES_H */
