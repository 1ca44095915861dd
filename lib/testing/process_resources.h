/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_TESTING_PROCESS_RESOURCES_H
#define INCLUDED_RDMA_TESTING_PROCESS_RESOURCES_H

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <unistd.h>

namespace gr {
namespace rdma {
namespace testing {

//! Mappings of this process whose line in /proc/self/maps holds \p name ("": all).
inline long count_mappings(const std::string& name = "")
{
    std::ifstream maps("/proc/self/maps");
    std::string line;
    long n = 0;
    while (std::getline(maps, line))
        n += line.find(name) != std::string::npos;
    return n;
}

//! Open descriptors of this process.
inline long count_descriptors()
{
    long n = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        (void)entry;
        ++n;
    }
    return n;
}

//! Memory of this process that is in RAM.
inline long resident_bytes()
{
    std::ifstream statm("/proc/self/statm");
    long all = 0, resident = 0;
    statm >> all >> resident;
    return resident * ::sysconf(_SC_PAGESIZE);
}

//! The number behind \p name in /proc/self/status, such as "VmPin": KiB there.
inline long status_number(const std::string& name)
{
    std::ifstream status("/proc/self/status");
    std::string word;
    long n = 0;
    while (status >> word)
        if (word == name + ":") {
            status >> n;
            break;
        }
    return n;
}

/*!
 * \brief Pages that drivers hold in RAM by pinning, of every process on the machine; 0
 * where the kernel does not count them (before 5.7).
 *
 * A driver's pins are in none of the process's own numbers: VmPin has those of InfiniBand
 * and io_uring, VmLck those of mlock(). Source:
 * Documentation/core-api/pin_user_pages.rst.
 */
inline long pinned_pages()
{
    std::string word;
    std::ifstream refreshed("/proc/sys/vm/stat_refresh"); // root: adds up the processors
    refreshed >> word;
    std::ifstream vmstat("/proc/vmstat");
    long n = 0, acquired = 0, released = 0;
    while (vmstat >> word >> n) {
        if (word == "nr_foll_pin_acquired")
            acquired = n;
        if (word == "nr_foll_pin_released")
            released = n;
    }
    return acquired - released;
}

//! Threads of this process.
inline long count_threads()
{
    long n = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
        (void)entry;
        ++n;
    }
    return n;
}

//! \return count_threads() once it is at most \p expected, or after a second: the kernel
//! lists a joined thread for a moment longer.
inline long count_threads_down_to(long expected)
{
    long n = count_threads();
    for (int i = 0; i < 500 && n > expected; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        n = count_threads();
    }
    return n;
}

} // namespace testing
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_TESTING_PROCESS_RESOURCES_H */
