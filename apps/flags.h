/* -*- c++ -*- */
/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef INCLUDED_RDMA_APPS_FLAGS_H
#define INCLUDED_RDMA_APPS_FLAGS_H

#include <boost/program_options/options_description.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace gr {
namespace rdma {
namespace apps {

/*!
 * \brief The flags of one subcommand, in groups, bound to the variables they set.
 *
 * A flag's default is what its variable holds when the flag is declared; help() shows it.
 * The variables must outlive parse(). Not thread-safe.
 */
class flags
{
public:
    //! \param command such as "gr-rdma send" \param about what stands above the flags in
    //! help() \param examples what stands below
    flags(std::string command, std::string about, std::string examples);

    //! Flags declared from here on stand under \p title.
    void group(const std::string& title);

    void text(const char* name, std::string& value, const char* unit, const char* help);
    void choice(const char* name,
                std::string& value,
                std::vector<std::string> words,
                const char* help,
                const char* hint = ""); //!< stands behind the words when one is refused
    void count(const char* name,
               std::uint64_t& value,
               std::uint64_t min,
               std::uint64_t max,
               const char* help);
    void bytes(const char* name, std::uint64_t& value, const char* help);
    void hertz(const char* name, double& value, double min, const char* help);
    void number(const char* name,
                double& value,
                double min,
                double max,
                const char* unit,
                const char* help);
    void on_off(const char* name, bool& value, const char* help);
    //! May be given several times.
    void list(const char* name,
              std::vector<std::string>& value,
              const char* unit,
              const char* help);
    //! A text whose value may be left out: "--scene" sets \p implicit.
    void optional_text(const char* name,
                       std::string& value,
                       const char* implicit,
                       const char* unit,
                       const char* help);

    //! A flag of other commands alone: help() has it not, parse() refuses it with
    //! \p instead, what to do here, such as "give it to the receiver".
    void elsewhere(const char* name, const char* instead);

    /*!
     * \brief Set the variables from \p words (without the program and subcommand).
     * \return false if help was asked for: then nothing was set
     * \throws usage_error an unknown flag (with the nearest known one, or what to do
     * instead), a missing or bad
     * value, a flag given twice, a word that belongs to no flag
     */
    bool parse(const std::vector<std::string>& words);

    //! Was the flag on the command line?
    bool given(const std::string& name) const { return d_given.count(name) > 0; }

    std::string help() const;

private:
    using setter = std::function<void(const std::string& flag, const std::string& text)>;
    void add(const char* name,
             const char* unit,
             std::string shown,
             const char* help,
             setter set);
    [[noreturn]] void refuse_unknown(const std::string& word) const;
    std::vector<std::string>
    with_implicit_values(const std::vector<std::string>& args) const;

    std::string d_command;
    std::string d_about;
    std::string d_examples;
    std::vector<std::unique_ptr<boost::program_options::options_description>> d_groups;
    std::vector<std::string> d_names;
    std::set<std::string> d_given;
    std::map<std::string, std::string> d_elsewhere; // name to what to do instead
    std::map<std::string, std::string> d_implicit;  // flag to the value it may leave out
};

//! The word of \p known nearest to \p word by edit distance, or "" if none is near.
std::string nearest_word(const std::string& word, const std::vector<std::string>& known);

} // namespace apps
} // namespace rdma
} // namespace gr

#endif /* INCLUDED_RDMA_APPS_FLAGS_H */
