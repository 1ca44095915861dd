/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "argument.h"

#include <algorithm>
#include <cctype>
#include <gnuradio/rdma/error.h>

namespace py = pybind11;

namespace gr {
namespace rdma {
namespace python {

namespace {

using window_type = fft::window::win_type;

struct window_row {
    const char* name;
    window_type type;
};

// GNU Radio's names; of two for one window, the usual one first.
constexpr window_row windows[] = {
    { "rectangular", fft::window::WIN_RECTANGULAR },
    { "hann", fft::window::WIN_HANN },
    { "hanning", fft::window::WIN_HANNING },
    { "hamming", fft::window::WIN_HAMMING },
    { "blackman", fft::window::WIN_BLACKMAN },
    { "blackman_harris", fft::window::WIN_BLACKMAN_HARRIS },
    { "kaiser", fft::window::WIN_KAISER },
    { "bartlett", fft::window::WIN_BARTLETT },
    { "flattop", fft::window::WIN_FLATTOP },
    { "nuttall", fft::window::WIN_NUTTALL },
    { "blackman_nuttall", fft::window::WIN_BLACKMAN_NUTTALL },
    { "nuttall_cfd", fft::window::WIN_NUTTALL_CFD },
    { "welch", fft::window::WIN_WELCH },
    { "parzen", fft::window::WIN_PARZEN },
    { "exponential", fft::window::WIN_EXPONENTIAL },
    { "riemann", fft::window::WIN_RIEMANN },
    { "gaussian", fft::window::WIN_GAUSSIAN },
    { "tukey", fft::window::WIN_TUKEY },
};

//! name=value, as Python would print the value.
std::string shown(const py::object& value, const char* name)
{
    constexpr int most = 80; // of an array, say
    const py::object all = py::repr(value);
    if (py::isinstance<py::str>(value) || py::len(all) <= most)
        return std::string(name) + "=" + all.cast<std::string>();
    return std::string(name) + "=" + all[py::slice(0, most, 1)].cast<std::string>() +
           " ...";
}

[[noreturn]] void
wrong_type(const py::object& value, const char* name, const char* needed)
{
    const auto type = py::type::of(value).attr("__name__").cast<std::string>();
    throw py::type_error(shown(value, name) + " is of type " + type + "; give " + needed);
}

[[noreturn]] void wrong_window(const py::object& value, const char* name)
{
    std::string known;
    for (const auto& row : windows)
        known += (known.empty() ? "" : ", ") + std::string(row.name);
    throw config_error(
        shown(value, name) +
        " is no window; use a member of gnuradio.fft.window.win_type or one "
        "of " +
        known);
}

//! The text in UTF-8. \throws config_error a str that has none, or that C would cut at a
//! NUL
std::string utf8_of(const py::object& value, const char* name)
{
    Py_ssize_t bytes = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(value.ptr(), &bytes);
    if (!text) {
        PyErr_Clear();
        throw config_error(
            shown(value, name) +
            " has lone surrogates, which are no characters; give text that "
            "can be encoded as UTF-8");
    }
    std::string out(text, static_cast<std::size_t>(bytes));
    if (out.find('\0') != out.npos)
        throw config_error(shown(value, name) + " has a NUL character; give it without");
    return out;
}

//! value.__index__(), or a null object. bool has one too; callers say what they make of
//! it.
py::object index_of(const py::object& value)
{
    auto number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
    if (!number)
        PyErr_Clear();
    return number;
}

} // namespace

std::uint64_t unsigned_of(const int_argument& given, const char* name, std::uint64_t most)
{
    const auto number = index_of(given.value);
    if (!number || py::isinstance<py::bool_>(given.value))
        wrong_type(given.value, name, "an integer");
    if (number < py::int_(0))
        throw config_error(shown(given.value, name) +
                           " is negative; use a positive number");
    if (number > py::int_(most))
        throw config_error(shown(given.value, name) + " is too large; use at most " +
                           std::to_string(most));
    return number.cast<std::uint64_t>();
}

int number_or_minus_one(const int_argument& given, const char* name, int most)
{
    const auto number = index_of(given.value);
    if (number && !py::isinstance<py::bool_>(given.value) && number < py::int_(0)) {
        if (number.equal(py::int_(-1)))
            return -1;
        throw config_error(std::string(name) + "=" + py::str(number).cast<std::string>() +
                           " is below 0; use a number up to " + std::to_string(most) +
                           ", or -1 for none");
    }
    return static_cast<int>(unsigned_of(given, name, static_cast<std::uint64_t>(most)));
}

double real_of(const float_argument& given, const char* name)
{
    const double value = PyFloat_AsDouble(given.value.ptr());
    if (PyErr_Occurred()) {
        PyErr_Clear();
        wrong_type(given.value, name, "a number");
    }
    return value;
}

std::string text_of(const str_argument& given, const char* name)
{
    if (!py::isinstance<py::str>(given.value))
        wrong_type(given.value, name, "a str");
    return utf8_of(given.value, name);
}

bool flag_of(const bool_argument& given, const char* name)
{
    if (py::isinstance<py::bool_>(given.value))
        return given.value.cast<bool>();
    const auto type = py::type::of(given.value).attr("__name__").cast<std::string>();
    const auto number = index_of(given.value);
    if (number && (number.equal(py::int_(0)) || number.equal(py::int_(1))))
        return number.equal(py::int_(1));
    if (type == "bool_" || type == "bool") // NumPy's
        return py::bool_(given.value);
    wrong_type(given.value, name, "True or False");
}

fft::window::win_type window_of(const py::object& given, const char* name)
{
    if (py::isinstance<py::str>(given)) {
        auto text = utf8_of(given, name);
        std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
            // As gr-rdma spells it, blackman-harris.
            return c == '-' ? '_' : static_cast<char>(std::tolower(c));
        });
        if (text.rfind("win_", 0) == 0)
            text.erase(0, 4);
        for (const auto& row : windows)
            if (text == row.name)
                return row.type;
        wrong_window(given, name);
    }
    const auto number = index_of(given);
    if (!number || py::isinstance<py::bool_>(given))
        wrong_type(given, name, "a member of gnuradio.fft.window.win_type or its name");
    for (const auto& row : windows)
        if (number.equal(py::int_(static_cast<int>(row.type))))
            return row.type;
    wrong_window(given, name);
}

const char* window_name(fft::window::win_type window)
{
    for (const auto& row : windows)
        if (row.type == window)
            return row.name;
    return "none";
}

} // namespace python
} // namespace rdma
} // namespace gr
