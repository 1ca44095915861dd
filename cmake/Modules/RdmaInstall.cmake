# SPDX-License-Identifier: GPL-3.0-or-later
include(CMakePackageConfigHelpers)

# rdma_install_rpath(FOLDER): targets made from here on are installed into FOLDER (below the
# prefix) and find our library from there, wherever the prefix is moved by --prefix.
# Nothing is set for folders that the loader searches anyway.
macro(rdma_install_rpath folder)
    if(CMAKE_INSTALL_FULL_LIBDIR IN_LIST CMAKE_PLATFORM_IMPLICIT_LINK_DIRECTORIES)
        set(CMAKE_INSTALL_RPATH "")
    else()
        file(RELATIVE_PATH rdma_relative "${CMAKE_INSTALL_PREFIX}/${folder}"
             "${CMAKE_INSTALL_FULL_LIBDIR}")
        set(CMAKE_INSTALL_RPATH "$ORIGIN/${rdma_relative}")
    endif()
endmacro()

# The library, its headers and the CMake package, so that find_package(gnuradio-rdma) works.
function(rdma_install_package)
    set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/gnuradio-rdma)
    target_compile_features(gnuradio-rdma PUBLIC cxx_std_17)
    install(
        TARGETS gnuradio-rdma
        EXPORT gnuradio-rdmaTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
                COMPONENT rdma_runtime
                NAMELINK_COMPONENT rdma_devel)
    install(
        EXPORT gnuradio-rdmaTargets
        NAMESPACE gnuradio::
        DESTINATION ${package_dir}
        COMPONENT rdma_devel)
    configure_package_config_file(
        ${PROJECT_SOURCE_DIR}/cmake/Modules/gnuradio-rdmaConfig.cmake.in
        ${PROJECT_BINARY_DIR}/gnuradio-rdmaConfig.cmake
        INSTALL_DESTINATION ${package_dir}
        NO_SET_AND_CHECK_MACRO)
    write_basic_package_version_file(${PROJECT_BINARY_DIR}/gnuradio-rdmaConfigVersion.cmake
                                     COMPATIBILITY SameMinorVersion)
    install(
        FILES ${PROJECT_BINARY_DIR}/gnuradio-rdmaConfig.cmake
              ${PROJECT_BINARY_DIR}/gnuradio-rdmaConfigVersion.cmake
        DESTINATION ${package_dir}
        COMPONENT rdma_devel)
endfunction()
