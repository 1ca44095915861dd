/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output_file.h"
#include "usage_error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace apps {

output_file::output_file(const std::string& path) : d_path(path)
{
    constexpr int flags = O_WRONLY | O_CREAT | O_CLOEXEC;
    if (path == "-") {
        // An own descriptor, so that closing it leaves stdout alone.
        d_fd = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    } else {
        d_fd = ::open(path.c_str(), flags | O_EXCL, 0666);
        d_made = d_fd >= 0;
        if (!d_made && errno == EEXIST)
            d_fd = ::open(path.c_str(), flags, 0666);
    }
    if (d_fd < 0 || ::fstat(d_fd, &d_opened) != 0)
        refuse(errno);
}

output_file::~output_file()
{
    if (d_stream)
        std::fclose(d_stream);
    if (d_fd < 0)
        return;
    ::close(d_fd);
    struct ::stat now;
    if (d_made && ::lstat(d_path.c_str(), &now) == 0 && now.st_ino == d_opened.st_ino &&
        now.st_dev == d_opened.st_dev)
        ::unlink(d_path.c_str());
}

void output_file::refuse(int error) const
{
    throw run_error("cannot write '" + d_path + "': " + std::strerror(error));
}

std::FILE* output_file::stream()
{
    if (d_stream)
        return d_stream;
    // Pipes and devices have nothing to empty; stdout may be appended to.
    if (S_ISREG(d_opened.st_mode) && d_path != "-" && ::ftruncate(d_fd, 0) != 0)
        refuse(errno);
    d_stream = ::fdopen(d_fd, "wb");
    if (!d_stream)
        refuse(errno);
    d_fd = -1;
    return d_stream;
}

int output_file::close()
{
    const int failed = std::fclose(stream()) != 0 ? errno : 0;
    d_stream = nullptr;
    return failed;
}

} // namespace apps
} // namespace rdma
} // namespace gr
