/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_PYTHON_ARGUMENT_H
#define INCLUDED_RDMA_PYTHON_ARGUMENT_H

#include <cstdint>
#include <gnuradio/fft/window.h>
#include <limits>
#include <pybind11/pybind11.h>
#include <string>
#include <type_traits>

namespace gr {
namespace rdma {
namespace python {

/*!
 * \brief A keyword argument as the caller gave it, looked at only when its name is known.
 *
 * pybind11 would answer a wrong one with the list of all signatures; the functions below
 * answer with the parameter, the value and what would be right. T is what help() shows:
 * int, float, str or bool.
 */
template <typename T>
struct argument {
    pybind11::object value;
};

using int_argument = argument<pybind11::int_>;
using float_argument = argument<pybind11::float_>;
using str_argument = argument<pybind11::str>;
using bool_argument = argument<pybind11::bool_>;

/*!
 * The number given for \p name, which may be anything with __index__ (NumPy integers,
 * enumerations). \throws type_error no integer; config_error below 0 or above \p most
 */
std::uint64_t
unsigned_of(const int_argument& given, const char* name, std::uint64_t most);

//! The same, but -1 is allowed and means "none". \throws as unsigned_of()
int number_or_minus_one(const int_argument& given, const char* name, int most);

//! unsigned_of() within the range of an unsigned type.
template <typename T>
T number_of(const int_argument& given, const char* name)
{
    static_assert(std::is_unsigned<T>::value, "sizes and counts are unsigned");
    return static_cast<T>(unsigned_of(given, name, std::numeric_limits<T>::max()));
}

//! Anything with __float__ or __index__. \throws type_error otherwise
double real_of(const float_argument& given, const char* name);
//! In UTF-8. \throws type_error no str; config_error lone surrogates, or a NUL
std::string text_of(const str_argument& given, const char* name);
//! A bool, 0 or 1, NumPy's too. \throws type_error otherwise
bool flag_of(const bool_argument& given, const char* name);

/*!
 * A member of gnuradio.fft.window.win_type, its number, or its name in either case, with
 * or without "WIN_". \throws config_error no such window, with the list of all names;
 * type_error neither str nor integer
 */
fft::window::win_type window_of(const pybind11::object& given, const char* name);
//! The name in lower case, such as "hann".
const char* window_name(fft::window::win_type window);

} // namespace python
} // namespace rdma
} // namespace gr

namespace pybind11 {
namespace detail {

//! Takes any object, so that the binding can judge it by name.
template <typename T>
struct type_caster<gr::rdma::python::argument<T>> {
    PYBIND11_TYPE_CASTER(gr::rdma::python::argument<T>, handle_type_name<T>::name);

    bool load(handle given, bool)
    {
        value.value = reinterpret_borrow<object>(given);
        return true;
    }
    static handle
    cast(const gr::rdma::python::argument<T>& given, return_value_policy, handle)
    {
        return object(given.value).release();
    }
};

} // namespace detail
} // namespace pybind11

#endif /* INCLUDED_RDMA_PYTHON_ARGUMENT_H */
