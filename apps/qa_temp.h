/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_QA_TEMP_H
#define INCLUDED_RDMA_APPS_QA_TEMP_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

//! A folder of a test's own, gone with its object.
class temp_folder
{
public:
    temp_folder()
    {
        std::string name =
            (std::filesystem::temp_directory_path() / "qa_rdma_XXXXXX").string();
        if (!mkdtemp(name.data()))
            std::abort();
        d_path = name;
    }
    ~temp_folder() { std::filesystem::remove_all(d_path); }
    std::string file(const std::string& name) const { return d_path + "/" + name; }

private:
    std::string d_path;
};

inline void write_text(const std::string& path, const std::string& text)
{
    std::ofstream(path, std::ios::binary) << text;
}

inline std::string read_text(const std::string& path)
{
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
}

#endif /* INCLUDED_RDMA_APPS_QA_TEMP_H */
