# SPDX-License-Identifier: GPL-3.0-or-later
# What GNU Radio's buffer API offers here, found by compiling: releases and branches with
# different APIs carry the same version number.
include(CheckCXXSourceCompiles)
include(CMakePushCheckState)

cmake_push_check_state(RESET)
set(CMAKE_REQUIRED_LIBRARIES gnuradio::gnuradio-runtime)
set(CMAKE_REQUIRED_FLAGS "-std=c++17")

# gr::buffer::get_buffer_type(): pure virtual after 3.10.12.
check_cxx_source_compiles(
    "#include <gnuradio/buffer.h>
     #include <gnuradio/buffer_type.h>
     auto f = &gr::buffer::get_buffer_type;
     int main() { return f == nullptr; }"
    RDMA_HAVE_GET_BUFFER_TYPE)

# gr::buffer::create_reader(): main only.
check_cxx_source_compiles(
    "#include <gnuradio/buffer.h>
     struct b : gr::buffer { void f() { (void)&b::create_reader; } };
     int main() {}"
    RDMA_HAVE_CREATE_READER)
cmake_pop_check_state()
