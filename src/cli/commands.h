// The subcommands: each has its table of options and its main function, in a file of its own.
#pragma once

#include <span>

#include "cli/options.h"

namespace hermetic::cli {

struct Command {
  const Subcommand& (*description)();
  int (*main)(std::span<char* const> words);
};

const Subcommand& check_description();
int check_main(std::span<char* const> words);
const Subcommand& diff_description();
int diff_main(std::span<char* const> words);
const Subcommand& doctor_description();
int doctor_main(std::span<char* const> words);
const Subcommand& gate_description();
int gate_main(std::span<char* const> words);
const Subcommand& gc_description();
int gc_main(std::span<char* const> words);
const Subcommand& key_description();
int key_main(std::span<char* const> words);
const Subcommand& learn_description();
int learn_main(std::span<char* const> words);
const Subcommand& plan_description();
int plan_main(std::span<char* const> words);
const Subcommand& run_description();
int run_main(std::span<char* const> words);
const Subcommand& shell_description();
int shell_main(std::span<char* const> words);
const Subcommand& task_description();
int task_main(std::span<char* const> words);
const Subcommand& verify_evidence_description();
int verify_evidence_main(std::span<char* const> words);

}  // namespace hermetic::cli
