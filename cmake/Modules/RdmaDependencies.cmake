# SPDX-License-Identifier: GPL-3.0-or-later
# Everything found outside this tree. A missing piece is named with its Debian package.

# GNU Radio's own CMake files insist on these Boost parts.
find_package(Gnuradio "3.10.5" REQUIRED COMPONENTS runtime blocks fft network)
find_package(Volk REQUIRED)
find_package(Threads REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS program_options unit_test_framework)
find_package(PkgConfig REQUIRED)
pkg_check_modules(FFTW3F REQUIRED IMPORTED_TARGET fftw3f)
pkg_check_modules(LIBDEFLATE REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(LIBIBVERBS REQUIRED IMPORTED_TARGET libibverbs)
pkg_check_modules(LIBRDMACM REQUIRED IMPORTED_TARGET librdmacm)
pkg_check_modules(LIBPNG REQUIRED IMPORTED_TARGET libpng)
pkg_check_modules(CAIRO IMPORTED_TARGET cairo)
if(NOT CAIRO_FOUND)
    message(FATAL_ERROR "cairo, which draws the waterfall, was not found: "
                        "apt-get install libcairo2-dev")
endif()
find_package(nlohmann_json 3.11 REQUIRED)
