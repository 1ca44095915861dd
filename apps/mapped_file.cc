/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mapped_file.h"
#include "usage_error.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace gr {
namespace rdma {
namespace apps {

namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why)
{
    throw run_error("cannot read '" + path + "': " + why);
}

// Closes on each way out; the mapping outlives its descriptor.
struct descriptor {
    int fd;
    ~descriptor()
    {
        if (fd >= 0)
            close(fd);
    }
};

// What the handler of SIGBUS may touch.
struct {
    const std::byte* begin = nullptr;
    const std::byte* end = nullptr;
    std::string last_words;
} watched;

extern "C" void on_bus_error(int, siginfo_t* about, void*)
{
    const auto* const at = static_cast<const std::byte*>(about->si_addr);
    if (at < watched.begin || at >= watched.end) {
        std::signal(SIGBUS, SIG_DFL); // somebody else's: it comes again, and kills
        return;
    }
    [[maybe_unused]] const ssize_t n =
        write(STDERR_FILENO, watched.last_words.data(), watched.last_words.size());
    _exit(1);
}

} // namespace

void mapped_file::end_if_cut(const std::string& last_words) const
{
    watched.begin = d_data;
    watched.end = d_data + d_bytes;
    watched.last_words = last_words;
    struct sigaction action = {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, nullptr);
}

mapped_file::mapped_file(const std::string& path)
{
    // Not to wait for a writer, should it be a pipe.
    const descriptor file{ open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
    struct stat about;
    if (file.fd < 0 || fstat(file.fd, &about) != 0)
        refuse(path, std::strerror(errno));
    if (!S_ISREG(about.st_mode))
        refuse(path, "it is not a regular file");
    if (about.st_size == 0)
        refuse(path, "the file is empty (0 bytes)");
    const auto bytes = static_cast<std::size_t>(about.st_size);
    void* const at = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (at == MAP_FAILED)
        refuse(path,
               "mapping " + std::to_string(bytes) + " bytes: " + std::strerror(errno));
    madvise(at, bytes, MADV_SEQUENTIAL);
    d_data = static_cast<const std::byte*>(at);
    d_bytes = bytes;
}

mapped_file::~mapped_file()
{
    if (d_data)
        munmap(const_cast<std::byte*>(d_data), d_bytes);
}

mapped_file::mapped_file(mapped_file&& other) noexcept
    : d_data(std::exchange(other.d_data, nullptr)),
      d_bytes(std::exchange(other.d_bytes, 0))
{
}

mapped_file& mapped_file::operator=(mapped_file&& other) noexcept
{
    std::swap(d_data, other.d_data);
    std::swap(d_bytes, other.d_bytes);
    return *this;
}

} // namespace apps
} // namespace rdma
} // namespace gr
