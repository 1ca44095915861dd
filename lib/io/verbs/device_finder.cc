/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/verbs/device_finder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <gnuradio/rdma/error.h>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

namespace {

constexpr std::size_t most_ports = 255;
constexpr std::size_t most_rows = 4096; // of one device

// The list, for as long as it is looked at.
class device_list
{
public:
    explicit device_list(const verbs_api& api) : d_api(api)
    {
        d_list = api.get_device_list(&d_count);
        if (!d_list)
            d_count = 0;
    }
    ~device_list()
    {
        if (d_list)
            d_api.free_device_list(d_list);
    }
    device_list(const device_list&) = delete;
    ibv_device** begin() const { return d_list; }
    ibv_device** end() const { return d_list + d_count; }
    int size() const { return d_count; }

private:
    const verbs_api& d_api;
    ibv_device** d_list = nullptr;
    int d_count = 0;
};

std::size_t table_room(const verbs_api& api, ibv_context* context)
{
    ibv_device_attr_ex attributes{};
    if (api.query_device_ex(context, &attributes) != 0)
        return most_rows;
    std::size_t room = 0;
    const std::size_t ports =
        std::min<std::size_t>(attributes.orig_attr.phys_port_cnt, most_ports);
    for (std::size_t port = 1; port <= ports; ++port) {
        ibv_port_attr p{};
        if (api.query_port(context, static_cast<std::uint8_t>(port), &p) == 0)
            room += static_cast<std::size_t>(std::max(p.gid_tbl_len, 0));
    }
    return std::min(room, most_rows);
}

} // namespace

std::vector<gid_row> read_gid_tables(const verbs_api& api, std::string* unusable)
{
    std::vector<gid_row> rows;
    const device_list list(api);
    for (ibv_device* device : list) {
        const std::string name = api.get_device_name(device);
        errno = 0;
        const context_handle context(api, api.open_device(device));
        if (!context) {
            if (unusable)
                *unusable += (unusable->empty() ? "" : ", ") + name + " (" +
                             std::strerror(last_error()) + ")";
            continue;
        }
        std::vector<ibv_gid_entry> entries(table_room(api, context.get()));
        const ssize_t n =
            entries.empty()
                ? 0
                : api.query_gid_table(context.get(), entries.data(), entries.size());
        for (ssize_t i = 0; i < n; ++i)
            rows.push_back({ name, entries[static_cast<std::size_t>(i)] });
    }
    return rows;
}

int count_devices(const verbs_api& api) noexcept { return device_list(api).size(); }

gid_row
find_device(const verbs_api& api, const address& own, const endpoint_config& config)
{
    std::string unusable;
    const std::vector<gid_row> rows = read_gid_tables(api, &unusable);
    if (rows.empty() && count_devices(api) == 0)
        throw os_error(ENODEV,
                       "endpoint='verbs': no RDMA device: rdma link lists none; load its "
                       "driver (modprobe rdma_rxe; rdma link add NAME type rxe netdev "
                       "INTERFACE makes a "
                       "software one), or use endpoint='softroce', which needs none");
    if (rows.empty() && !unusable.empty())
        throw os_error(EACCES,
                       "endpoint='verbs': no RDMA device can be opened: " + unusable +
                           advice(EACCES));
    gid_wish wish;
    wish.own = own.gid();
    wish.text = own.text();
    wish.ifindex = own.scope();
    wish.device = config.device;
    wish.port = config.ib_port;
    wish.index = config.gid_index;
    return choose_gid(rows, wish);
}

context_handle open_device(const verbs_api& api, const std::string& name)
{
    const device_list list(api);
    for (ibv_device* device : list)
        if (name == api.get_device_name(device)) {
            errno = 0;
            return { api, checked(api.open_device(device), "ibv_open_device", name) };
        }
    fail(ENODEV, "ibv_open_device", name);
}

device_facts facts_of(const verbs_api& api, ibv_context* context, unsigned port)
{
    device_facts facts;
    facts.name = api.get_device_name(context->device);
    facts.port = static_cast<std::uint8_t>(port);
    check_code(
        api.query_device_ex(context, &facts.device), "ibv_query_device_ex", facts.name);
    check_code(api.query_port(context, facts.port, &facts.port_attributes),
               "ibv_query_port",
               std::to_string(port) + " of " + facts.name);
    return facts;
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
