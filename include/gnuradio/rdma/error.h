/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_ERROR_H
#define INCLUDED_RDMA_ERROR_H

#include <gnuradio/rdma/api.h>
#include <stdexcept>
#include <string>
#include <system_error>

namespace gr {
namespace rdma {

/*!
 * \brief A parameter is wrong, or two do not go together. The caller can mend it.
 *
 * what() names the parameter, the value given and what would be right. Python sees
 * ValueError.
 */
class RDMA_API config_error : public std::invalid_argument
{
public:
    explicit config_error(const std::string& what) : std::invalid_argument(what) {}
    ~config_error() override;
};

/*!
 * \brief A system call failed for a reason outside the parameters. Python sees OSError
 * with errno.
 *
 * what() names the call, the object it was made on, and the errno in words.
 */
class RDMA_API os_error : public std::system_error
{
public:
    //! \param code errno of the call
    os_error(int code, const std::string& what)
        : std::system_error(code, std::generic_category(), what)
    {
    }
    ~os_error() override;
};

/*!
 * \brief An allocation was refused; what() says how many bytes of which memory were
 * asked.
 *
 * Thrown only when that is certain. Python sees MemoryError.
 */
class RDMA_API out_of_memory : public std::runtime_error
{
public:
    explicit out_of_memory(const std::string& what) : std::runtime_error(what) {}
    ~out_of_memory() override;
};

/*!
 * \brief A CUDA call failed, or the driver cannot do what this build needs. Python sees
 * rdma.CudaError, a RuntimeError with the attribute `code`.
 *
 * what() names the call, the error in CUDA's own words with its number, and what to do
 * where that is known.
 */
class RDMA_API cuda_error : public std::runtime_error
{
public:
    //! \param code cudaError_t or CUresult of the call (the numbers agree where both have
    //! one); a library's own status as a negative number; 0: no call was made
    cuda_error(int code, const std::string& what) : std::runtime_error(what), d_code(code)
    {
    }
    ~cuda_error() override;
    int code() const noexcept { return d_code; }

private:
    int d_code;
};

} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_ERROR_H */
