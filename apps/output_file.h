/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_OUTPUT_FILE_H
#define INCLUDED_RDMA_APPS_OUTPUT_FILE_H

#include <cstdio>
#include <string>
#include <sys/stat.h>

namespace gr {
namespace rdma {
namespace apps {

/*!
 * \brief A file to be written, or stdout ("-"), which a command that cannot run leaves
 * alone.
 *
 * The object opens it, so that what forbids writing is known at once; stream() empties
 * it. Where that is never called, what was there stays, and a file that was not is
 * removed again. Not thread-safe.
 */
class output_file
{
public:
    //! \param path "-": stdout, by a descriptor of its own \throws run_error it cannot be
    //! made
    explicit output_file(const std::string& path);
    ~output_file();
    output_file(const output_file&) = delete;
    output_file& operator=(const output_file&) = delete;

    const std::string& path() const noexcept { return d_path; }
    //! To write to; empty at the first call. \throws run_error out of memory
    std::FILE* stream();
    //! Flush and close, once; a file that nothing was written to is empty then. \return
    //! 0, or the errno
    int close();
    //! \throws run_error that this file cannot be written, with the errno in words
    [[noreturn]] void refuse(int error) const;

private:
    const std::string d_path;
    bool d_made = false; // by this object
    int d_fd = -1;       // until stream()
    struct ::stat d_opened = {};
    std::FILE* d_stream = nullptr;
};

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_OUTPUT_FILE_H */
