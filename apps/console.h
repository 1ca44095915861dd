/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_CONSOLE_H
#define INCLUDED_RDMA_APPS_CONSOLE_H

#include "options.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace gr {
namespace rdma {
namespace apps {

//! What a subcommand did. Bytes are payload.
struct summary {
    std::string command; //!< "send", ...
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    double seconds = 0; //!< from the first message to the last
    //! Why it ended: "done", "count", "idle", "closed", "failed" or a signal's name.
    std::string ended;
    std::map<std::string, std::uint64_t> counters; //!< of the endpoint, by name
    //! What only one subcommand has, such as "gaps", in this order.
    nlohmann::ordered_json more = nlohmann::ordered_json::object();
};

/*!
 * \brief Where the program's words go: progress on stderr if that is a terminal, the
 * summary on stdout, or on stderr where stdout carries data.
 */
class console
{
public:
    //! \param data_on_stdout samples or spectra go there
    console(const talk_options& talk, bool data_on_stdout);
    ~console();
    console(const console&) = delete;
    console& operator=(const console&) = delete;

    //! Replace the progress line; at most five times a second, else dropped.
    void progress(const std::string& text);
    //! A line for people, on stderr. Not if quiet.
    void note(const std::string& text);
    //! The last word: one line of key=value and a line for each counter that tells of
    //! trouble, or with --json one object.
    void finish(const summary& s);
    //! Take the progress line away.
    void clear();

private:
    const talk_options d_talk;
    const bool d_data_on_stdout;
    const bool d_terminal;
    bool d_shown = false;
    std::int64_t d_next_ns = 0;
};

//! "3.2 MB/s".
std::string human_rate(double bytes_per_second);

//! The text of a library error with the block's parameter at its front turned into the
//! flag: "message_bytes=7 is ..." -> "--message-bytes=7 is ...".
std::string as_flag(const std::string& what);

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_CONSOLE_H */
