/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_MAPPED_FILE_H
#define INCLUDED_RDMA_APPS_MAPPED_FILE_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace gr {
namespace rdma {
namespace apps {

/*!
 * \brief A whole file mapped for reading; owns the mapping. Movable, not copyable.
 *
 * The file must not be cut short while it is mapped: the kernel then raises SIGBUS at the
 * first touch of the missing part; see end_if_cut().
 */
class mapped_file
{
public:
    mapped_file() = default;
    //! \throws run_error not there, not readable, not a regular file, empty: each with
    //! the path
    explicit mapped_file(const std::string& path);
    ~mapped_file();
    mapped_file(mapped_file&& other) noexcept;
    mapped_file& operator=(mapped_file&& other) noexcept;
    mapped_file(const mapped_file&) = delete;
    mapped_file& operator=(const mapped_file&) = delete;

    /*!
     * From now on, whoever touches a part of the file that is gone ends the program with
     * code 1 and \p last_words on stderr. One file of the process at a time: the last
     * call holds.
     */
    void end_if_cut(const std::string& last_words) const;

    const std::byte* data() const noexcept { return d_data; }
    std::uint64_t bytes() const noexcept { return d_bytes; }

private:
    const std::byte* d_data = nullptr;
    std::uint64_t d_bytes = 0;
};

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_MAPPED_FILE_H */
