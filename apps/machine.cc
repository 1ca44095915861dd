/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine.h"

#include <fstream>
#include <sched.h>
#include <sys/utsname.h>

namespace gr {
namespace rdma {
namespace apps {

namespace {

std::string first_word(const char* path)
{
    std::ifstream in(path);
    std::string word;
    return in >> word ? word : "unknown";
}

// "model name" on x86, "Model" or nothing elsewhere.
std::string cpu_model()
{
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);) {
        const bool named =
            line.rfind("model name", 0) == 0 || line.rfind("Model", 0) == 0;
        const auto colon = line.find(": ");
        if (named && colon != line.npos)
            return line.substr(colon + 2);
    }
    return "unknown";
}

} // namespace

machine_description describe_machine()
{
    machine_description m;
    m.cpu = cpu_model();
    cpu_set_t allowed;
    m.cpus = sched_getaffinity(0, sizeof allowed, &allowed) == 0
                 ? static_cast<unsigned>(CPU_COUNT(&allowed))
                 : 0;
    utsname name;
    m.kernel = uname(&name) == 0 ? std::string(name.release) : "unknown";
    m.rmem_max = first_word("/proc/sys/net/core/rmem_max");
    m.load = first_word("/proc/loadavg");
    return m;
}

} // namespace apps
} // namespace rdma
} // namespace gr
