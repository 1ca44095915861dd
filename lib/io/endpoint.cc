/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/endpoint.h"

#include "io/inproc/inproc_endpoint.h"
#include "io/softroce/endpoint_checks.h"
#include "io/softroce/softroce_endpoint.h"
#include "io/verbs/endpoint_checks.h"
#include "io/verbs/verbs_endpoint.h"

#include <gnuradio/rdma/error.h>

namespace gr {
namespace rdma {
namespace io {

const char* to_string(wc_status status) noexcept
{
    switch (status) {
    case wc_status::success:
        return "success";
    case wc_status::flushed:
        return "flushed";
    case wc_status::length_error:
        return "length error";
    case wc_status::access_error:
        return "access error";
    case wc_status::remote_error:
        return "remote error";
    case wc_status::retry_exceeded:
        return "retry exceeded";
    case wc_status::rnr_exceeded:
        return "RNR retry exceeded";
    }
    return "unknown";
}

const char* to_string(gap_reason reason) noexcept
{
    switch (reason) {
    case gap_reason::none:
        return "none";
    case gap_reason::packet_loss:
        return "packet_loss";
    case gap_reason::no_slot:
        return "no_slot";
    case gap_reason::length_error:
        return "length_error";
    case gap_reason::access_error:
        return "access_error";
    case gap_reason::late_start:
        return "late_start";
    case gap_reason::reconnect:
        return "reconnect";
    case gap_reason::overrun:
        return "overrun";
    }
    return "unknown";
}

const char* to_string(endpoint_state state) noexcept
{
    switch (state) {
    case endpoint_state::idle:
        return "idle";
    case endpoint_state::connecting:
        return "connecting";
    case endpoint_state::connected:
        return "connected";
    case endpoint_state::closed:
        return "closed";
    case endpoint_state::failed:
        return "failed";
    }
    return "unknown";
}

const char* to_string(service_type service) noexcept
{
    return service == service_type::rc ? "rc" : service == service_type::uc ? "uc" : "ud";
}

const char* to_string(wait_mode wait) noexcept
{
    return wait == wait_mode::hybrid ? "hybrid"
           : wait == wait_mode::busy ? "busy"
                                     : "event";
}

service_type parse_service(const std::string& text, const char* parameter)
{
    for (const auto s : { service_type::rc, service_type::uc, service_type::ud })
        if (text == to_string(s))
            return s;
    throw config_error(std::string(parameter) + "='" + text +
                       "' is no service; use rc, uc or ud");
}

wait_mode parse_wait(const std::string& text, const char* parameter)
{
    for (const auto w : { wait_mode::hybrid, wait_mode::busy, wait_mode::event })
        if (text == to_string(w))
            return w;
    throw config_error(std::string(parameter) + "='" + text +
                       "' is no waiting mode; use hybrid, busy or event");
}

receive_strategy parse_receive(const std::string& text, const char* parameter)
{
    if (text == "auto")
        return receive_strategy::automatic;
    if (text == "gro")
        return receive_strategy::gro;
    if (text == "scatter")
        return receive_strategy::scatter;
    throw config_error(std::string(parameter) + "='" + text +
                       "' is no way to receive; use auto, gro or scatter");
}

bool is_path_mtu(std::uint32_t bytes) noexcept
{
    return bytes >= 256 && bytes <= 4096 && (bytes & (bytes - 1)) == 0;
}

void endpoint::attach_registered(const mem::region&,
                                 const mem::region&,
                                 std::unique_ptr<mem::registration>)
{
    throw config_error("memory: this endpoint has no NIC that could write into it");
}

std::unique_ptr<endpoint> make_endpoint(const endpoint_config& config)
{
    if (config.endpoint == "softroce")
        return std::make_unique<softroce::softroce_endpoint>(config);
    if (config.endpoint == "verbs")
        return std::make_unique<verbs::verbs_endpoint>(config);
    if (config.endpoint == "inproc")
        return std::make_unique<inproc::inproc_endpoint>(config);
    if (config.endpoint != "auto")
        throw config_error("endpoint='" + config.endpoint +
                           "' is unknown; use auto, softroce, verbs or inproc");
    const verbs::choice choice = verbs::choose(verbs::current_verbs(), config);
    const std::string asked = softroce::verbs_only(config);
    if (!choice.verbs && !asked.empty())
        throw config_error(asked +
                           " asks for an RDMA device, and endpoint='auto' finds none "
                           "that fits: " +
                           choice.why);
    std::unique_ptr<endpoint> made;
    if (choice.verbs)
        made = std::make_unique<verbs::verbs_endpoint>(config);
    else
        made = std::make_unique<softroce::softroce_endpoint>(config);
    if (config.log)
        config.log(core::log_level::info,
                   std::string("endpoint='auto' takes ") +
                       (choice.verbs ? "verbs: " : "softroce: ") + choice.why);
    return made;
}

} // namespace io
} // namespace rdma
} // namespace gr
