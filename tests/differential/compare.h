// Asks decide() and the kernel the same questions about a case.
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hermetic/backends/linux/facts.h"
#include "hermetic/backends/linux/init_image.h"
#include "hermetic/backends/linux/linux_backend.h"
#include "hermetic/backends/linux/linux_run.h"
#include "tests/differential/questions.h"
#include "tests/differential/stage.h"
#include "tests/differential/world.h"
#include "tests/sandbox/sandbox.h"

namespace hermetic::differential {

// What came of one case.
struct Comparison {
  bool refused = false;  // by build() or by the plan: there is nothing to compare
  std::size_t questions = 0;
  std::vector<std::string> disagreements;
  std::vector<std::string> paths;         // about which there is disagreement
  std::map<std::string, int> agreements;  // "read input yes": how often
};

// What is asked of every case.
struct Asking {
  // Only what Landlock alone can tell, and with it: what opens a file, and nothing inside what can
  // be written, because its rules add up on the way down.
  bool second_line_only = false;
};

class Comparer {
 public:
  static Result<Comparer> make(linux_backend::Lowering lowering, const Asking& asking) {
    LinuxBackend backend = TRY(LinuxBackend::make());
    UniqueFd init = TRY(linux_backend::make_init_image());
    return Comparer(std::move(backend), std::move(init), lowering, asking);
  }

  Comparison compare(const Case& asked) {
    const World world(asked);
    Comparison comparison;
    const Result<Spec> spec = builder_of(asked, kProber).build();
    if (!spec) {
      comparison.refused = true;
      return comparison;
    }
    Questions questions;
    for (const std::string& path : asked.paths) ask_about(*spec, path, questions);
    if (asking_.second_line_only)
      std::erase_if(questions.all, [&](const Question& question) {
        const bool opens = question.verb == "read" || question.verb == "write";
        return !opens || is_in_writable(*spec, question.leads_to);
      });
    comparison.disagreements = questions.contradictions;
    add_shown_exceptions(asked, *spec, comparison.disagreements);
    comparison.questions = questions.all.size();
    const Result<std::vector<std::string>> answers = ask_kernel(asked, *spec, questions.all);
    if (!answers) {
      comparison.refused = answers.error().kind == Error::Kind::Unsupported;
      if (!comparison.refused)
        comparison.disagreements.push_back("cannot be started: " + to_string(answers.error()));
      return comparison;
    }
    for (std::size_t i = 0; i < answers->size(); ++i)
      judge(questions.all[i], (*answers)[i], comparison);
    return comparison;
  }

 private:
  Comparer(LinuxBackend backend, UniqueFd init, linux_backend::Lowering lowering,
           const Asking& asking)
      : backend_(std::move(backend)),
        init_(std::move(init)),
        lowering_(lowering),
        asking_(asking) {}

  // No file that an exception takes away may have another name under which it is shown: a hard
  // link, a place below a bind mount, a tree around. What is declared in the exception is meant.
  // Told by what the host's kernel says of each name.
  static void add_shown_exceptions(const Case& asked, const Spec& spec,
                                   std::vector<std::string>& disagreements) {
    struct Excepted {
      std::string path;
      std::string exception;
    };
    std::multimap<std::pair<dev_t, ino_t>, Excepted> excepted;
    std::vector<std::pair<std::string, std::pair<dev_t, ino_t>>> shown;
    for (const std::string& inside : paths_of(asked)) {
      struct stat status = {};
      std::error_code error;
      const Decision decision = spec.decide(inside, Operation::Read);
      if (decision.path != inside || decision.tree == nullptr) continue;
      if (decision.tree->declaration.kind == TreeKind::Temp) continue;  // nothing of the host
      const std::string path = host_name(*decision.tree, inside);
      if (std::filesystem::canonical(path, error) != path) continue;
      if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
      const std::pair file(status.st_dev, status.st_ino);
      if (decision.because == Decision::Because::Excepted)
        for (const std::string& exception : decision.tree->real_exceptions)
          if (is_within(path, exception) && !is_declared_in(spec, path, exception))
            excepted.emplace(file, Excepted{path, exception});
      if (decision.because != Decision::Because::Declared) continue;
      const Declaration& declaration = decision.tree->declaration;
      if (declaration.kind == TreeKind::Input || declaration.publish == Publish::InPlace)
        shown.emplace_back(path, file);
    }
    for (const auto& [path, file] : shown)
      for (auto [hit, end] = excepted.equal_range(file); hit != end; ++hit)
        if (!is_within(path, hit->second.exception))
          disagreements.push_back(
              fmt::format("{} is excepted, and {} is the same file", hit->second.path, path));
  }

  static bool is_declared_in(const Spec& spec, const std::string& path,
                             const std::string& exception) {
    return std::any_of(spec.trees().begin(), spec.trees().end(), [&](const Tree& tree) {
      const std::string& root = tree.found.real_path;
      return tree.declaration.kind != TreeKind::Temp && is_within(path, root) &&
             is_within(root, exception);
    });
  }

  // One sandbox for all questions.
  Result<std::vector<std::string>> ask_kernel(const Case& asked, const Spec& spec,
                                              const std::vector<Question>& questions) {
    std::string text;
    for (const Question& question : questions)
      text += fmt::format("{} {}\n", question.verb, question.path);
    const UniqueFd input(::memfd_create("questions", MFD_CLOEXEC));
    if (!input.is_open() ||
        ::write(input.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
        ::lseek(input.get(), 0, SEEK_SET) != 0)
      return system_error("cannot write the questions", errno);

    const Plan plan = TRY(make_plan(spec, backend_.probe()));
    using namespace linux_backend;
    Facts facts = TRY(
        gather_facts(asked.landlock || asking_.second_line_only ? landlock_abi_of_this_kernel() : 0,
                     asked.classic_mounts));
    RunOptions options = captured();
    options.standard_input = input.get();
    Audience events;
    const std::unique_ptr<Run> run =
        TRY(start_run(plan, std::move(facts), {.init = init_.get()}, options, events, lowering_));
    const Outcome outcome = TRY(run->wait());
    std::vector<std::string> answers = lines_of(outcome.standard_output.text);
    if (outcome.ending != Ending(Exited{42}) || answers.size() != questions.size())
      return system_error(
          fmt::format("the prober gave {} answers to {} questions: {}", answers.size(),
                      questions.size(), outcome.standard_error.text),
          EPROTO);
    return answers;
  }

  static bool is_in_writable(const Spec& spec, const std::string& path) {
    return is_within(path, "/dev") ||
           std::any_of(spec.trees().begin(), spec.trees().end(), [&](const Tree& tree) {
             return tree.declaration.kind != TreeKind::Input && is_within(path, tree.place);
           });
  }

  static std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }

  static void judge(const Question& question, const std::string& answer, Comparison& comparison) {
    const bool yes = answer == "yes";
    const bool absent = answer.starts_with("absent");
    const bool agree = question.allowed ? yes || (absent && question.may_be_absent) : !yes;
    if (agree) {
      const std::string_view word = yes ? "yes" : question.allowed ? "absent" : "no";
      ++comparison.agreements[fmt::format("{} {} {}", question.verb, question.reason, word)];
      return;
    }
    std::string said = answer;
    if (const std::size_t space = answer.find(' '); space != std::string::npos)
      if (const char* name = ::strerrorname_np(std::atoi(answer.c_str() + space)); name != nullptr)
        said = fmt::format("{} ({})", answer.substr(0, space), name);
    const bool straight = question.path == question.leads_to;
    comparison.paths.push_back(question.path);
    comparison.disagreements.push_back(fmt::format(
        "{} {}{}: decide() says {} ({}), the kernel says {}", question.verb, question.path,
        straight ? "" : fmt::format(", which leads to {}", question.leads_to),
        question.allowed ? "yes" : "no", question.reason, said));
  }

  LinuxBackend backend_;
  UniqueFd init_;
  linux_backend::Lowering lowering_;
  Asking asking_;
};

}  // namespace hermetic::differential
