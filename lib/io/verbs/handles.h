/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_IO_VERBS_HANDLES_H
#define INCLUDED_RDMA_IO_VERBS_HANDLES_H

#include "io/verbs/verbs_api.h"

#include <string>
#include <utility>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

/*!
 * \brief Owns one object of the libraries and gives it back by the table's call.
 *
 * Movable. Empty after a move. Giving back cannot fail in a way that anybody could act
 * on: a device that is gone takes its objects along.
 */
template <typename T, int (*verbs_api::*Release)(T*)>
class handle
{
public:
    handle() = default;
    handle(const verbs_api& api, T* object) noexcept : d_api(&api), d_object(object) {}
    handle(handle&& other) noexcept { swap(other); }
    handle& operator=(handle&& other) noexcept
    {
        handle(std::move(other)).swap(*this);
        return *this;
    }
    ~handle() { reset(); }

    void reset() noexcept
    {
        if (d_object)
            (d_api->*Release)(std::exchange(d_object, nullptr));
    }
    T* get() const noexcept { return d_object; }
    T* operator->() const noexcept { return d_object; }
    explicit operator bool() const noexcept { return d_object != nullptr; }

private:
    void swap(handle& other) noexcept
    {
        std::swap(d_api, other.d_api);
        std::swap(d_object, other.d_object);
    }
    const verbs_api* d_api = nullptr;
    T* d_object = nullptr;
};

using context_handle = handle<ibv_context, &verbs_api::close_device>;
using pd_handle = handle<ibv_pd, &verbs_api::dealloc_pd>;
using mr_handle = handle<ibv_mr, &verbs_api::dereg_mr>;
using comp_channel_handle = handle<ibv_comp_channel, &verbs_api::destroy_comp_channel>;
using cq_handle = handle<ibv_cq, &verbs_api::destroy_cq>;
using qp_handle = handle<ibv_qp, &verbs_api::destroy_qp>;
using ah_handle = handle<ibv_ah, &verbs_api::destroy_ah>;
using event_channel_handle =
    handle<rdma_event_channel, &verbs_api::destroy_event_channel>;
using id_handle = handle<rdma_cm_id, &verbs_api::destroy_id>;

//! errno, or EIO where a provider failed and did not set it (clear it before the call).
int last_error() noexcept;

/*!
 * \brief Throw for a call that failed. \param code errno of it \param call its name
 * \param what "of 64 MiB on rxe0"; ends with what helps, where that is known
 * \throws os_error always
 */
[[noreturn]] void fail(int code, const char* call, const std::string& what);

//! What to do about \p code, in words: memory locks, permissions, missing modules; may be
//! empty.
std::string advice(int code);

//! \throws os_error if \p object is null, with errno and \p call
template <typename T>
T* checked(T* object, const char* call, const std::string& what)
{
    if (!object)
        fail(last_error(), call, what);
    return object;
}

//! For calls that return an errno. \throws os_error if \p rc is not 0
void check_code(int rc, const char* call, const std::string& what);
//! For calls that return -1 and set errno. \throws os_error if \p rc is not 0
void check_errno(int rc, const char* call, const std::string& what);

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_IO_VERBS_HANDLES_H */
