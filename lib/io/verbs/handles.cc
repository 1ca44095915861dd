/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/verbs/handles.h"

#include <cerrno>
#include <gnuradio/rdma/error.h>

namespace gr {
namespace rdma {
namespace io {
namespace verbs {

int last_error() noexcept { return errno != 0 ? errno : EIO; }

std::string advice(int code)
{
    switch (code) {
    case ENOMEM:
        return "; the device or the limit of locked memory is exhausted: see ulimit -l, "
               "and rdma resource show for who holds what";
    case EACCES:
    case EPERM:
        return "; the device nodes under /dev/infiniband must be readable and writable "
               "for this user";
    case ENODEV:
    case ENOENT:
        return "; there is no RDMA device, or the kernel module rdma_ucm is not loaded: "
               "see rdma link, modprobe rdma_ucm";
    case EADDRINUSE:
        return "; another program listens there: see rdma resource show cm_id, or choose "
               "another port";
    default:
        return "";
    }
}

void fail(int code, const char* call, const std::string& what)
{
    throw os_error(code,
                   std::string(call) + (what.empty() ? "" : " ") + what + advice(code));
}

void check_code(int rc, const char* call, const std::string& what)
{
    if (rc != 0)
        fail(rc > 0 ? rc : last_error(), call, what);
}

void check_errno(int rc, const char* call, const std::string& what)
{
    if (rc != 0)
        fail(last_error(), call, what);
}

} // namespace verbs
} // namespace io
} // namespace rdma
} // namespace gr
