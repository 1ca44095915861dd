/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "commands.h"
#include "console.h"
#include "flags.h"
#include "mem/gpu.h"
#include "options.h"
#include "usage_error.h"

#include <gnuradio/rdma/error.h>

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <new>

using namespace gr::rdma;
using namespace gr::rdma::apps;

namespace {

struct command {
    const char* name;
    const char* about;
    int (*run)(const words&, stop_signals&);
};

constexpr command commands[] = {
    { "send", "send a recording, or a synthetic scene", send_command },
    { "receive", "receive into a file, raw or SigMF", receive_command },
    { "spectrum",
      "receive, and write spectra as CSV or a PNG waterfall",
      spectrum_command },
    { "bench", "measure this path beside the ordinary ones", bench_command },
};

void print_usage(std::FILE* to)
{
    std::fprintf(to,
                 "Usage: gr-rdma COMMAND [flags]\n\n"
                 "Samples over RDMA (RoCEv2), in and out of files.\n\nCommands:\n");
    for (const auto& c : commands)
        std::fprintf(to, "  %-10s %s\n", c.name, c.about);
    std::fprintf(to,
                 "\n  gr-rdma COMMAND --help   the flags of a command\n"
                 "  gr-rdma --version        the version\n\n"
                 "Exit code: 0 done, 1 something went wrong, 2 wrong command line.\n");
}

const command& find_command(const std::string& word)
{
    words known;
    for (const auto& c : commands) {
        if (word == c.name)
            return c;
        known.push_back(c.name);
    }
    const std::string near = nearest_word(word, known);
    throw usage_error("'" + word + "' is no command" +
                      (near.empty() ? "" : "; did you mean " + near + "?") +
                      " (gr-rdma --help lists them)");
}

std::string cuda_of_build()
{
    const int build = mem::state_of_gpus().build; // 13000: 13.0
    return build == 0 ? "built without CUDA"
                      : "built with CUDA " + std::to_string(build / 1000) + "." +
                            std::to_string(build % 1000 / 10);
}

int run(const words& args)
{
    if (args.empty()) {
        print_usage(stderr);
        return 2;
    }
    if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
        print_usage(stdout);
        return 0;
    }
    if (args[0] == "--version") {
        std::printf("gr-rdma %s, %s\n", version(), cuda_of_build().c_str());
        return 0;
    }
    const command& chosen = find_command(args[0]);
    stop_signals signals;
    return chosen.run(words(args.begin() + 1, args.end()), signals);
}

// A standard descriptor that whoever started us has closed would be the next file's or
// socket's, and what is meant for stdout or stderr would end up in there.
void keep_standard_descriptors()
{
    for (int fd = 0; fd < 3; ++fd)
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF)
            open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY); // so that its use fails
}

int complain(const words& args, const std::string& what, int code)
{
    const bool named = !args.empty() && args[0][0] != '-';
    std::fprintf(
        stderr, "gr-rdma%s: %s\n", named ? (" " + args[0]).c_str() : "", what.c_str());
    return code;
}

} // namespace

int main(int argc, char** argv)
{
    keep_standard_descriptors();
    const words args(argv + 1, argv + argc);
    try {
        const int code = run(args);
        if (std::fflush(stdout) != 0 || std::ferror(stdout))
            return complain(args, "cannot write to stdout", 1);
        return code;
    } catch (const usage_error& e) {
        return complain(args, e.what(), 2);
    } catch (const config_error& e) {
        return complain(args, as_flag(e.what()), 2);
    } catch (const std::bad_alloc&) {
        return complain(
            args, "out of memory: give smaller --message-bytes or --buffers", 1);
    } catch (const std::exception& e) {
        return complain(args, as_flag(e.what()), 1);
    }
}
