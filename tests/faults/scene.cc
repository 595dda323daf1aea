#include "tests/faults/scene.h"

#include <sys/mount.h>
#include <sys/stat.h>

namespace hermetic {
namespace {

std::map<std::string, std::string> open_descriptors() {
  std::map<std::string, std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the one that lists
    const std::string target = std::filesystem::read_symlink(entry.path(), gone);
    if (!gone) found[entry.path().filename()] = target;
  }
  return found;
}

std::set<std::string> lines_of(const std::string& file) {
  std::set<std::string> lines;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  return lines;
}

bool is_below(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder + "/");
}

Snapshot part_of(const Snapshot& whole, const std::string& folder) {
  Snapshot part;
  for (const auto& [path, text] : whole)
    if (is_below(path, folder)) part.emplace(path, text);
  return part;
}

std::string difference(const Snapshot& expected, const Snapshot& found) {
  std::string text;
  for (const auto& [path, content] : expected) {
    const auto other = found.find(path);
    if (other == found.end())
      text += " missing " + path;
    else if (other->second != content)
      text += " changed " + path + " to " + other->second;
  }
  for (const auto& [path, content] : found)
    if (!expected.contains(path)) text += " new " + path;
  return text;
}

std::string in_words(const Result<Finished>& finished) {
  if (!finished) return "error " + to_string(finished.error());
  std::ostringstream text;
  PrintTo(finished->outcome.ending, &text);
  return "ended " + text.str() + finished->outcome.standard_error.text;
}

}  // namespace

Snapshot snapshot_of(const std::string& folder) {
  Snapshot found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    struct stat status = {};
    if (::lstat(entry.path().c_str(), &status) != 0) continue;
    std::ostringstream text;
    text << std::oct << (status.st_mode & 07777U) << " ";
    if (S_ISREG(status.st_mode)) text << content_of(entry.path());
    if (S_ISLNK(status.st_mode)) text << std::filesystem::read_symlink(entry.path());
    found.emplace(entry.path(), text.str());
  }
  return found;
}

Scene::Scene(const Kind& kind)
    : kind_(kind),
      folder_(dir_.path()),
      printed_(::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600)) {
  if (::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "mode=0755,size=16m") != 0) {
    problem_ = std::string("no file system of its own: ") + std::strerror(errno);
    return;
  }
  const std::string other = dir_.directory("mounted");
  if (kind_.outputs == Outputs::EveryWay &&
      ::mount("tmpfs", other.c_str(), "tmpfs", 0, "mode=0755,size=16m") != 0) {
    problem_ = std::string("no second file system: ") + std::strerror(errno);
    return;
  }
  problem_ = first_run();
}

Scene::~Scene() {
  ::umount2((folder_ + "/mounted").c_str(), MNT_DETACH);
  ::umount2(folder_.c_str(), MNT_DETACH);
}

void Scene::fill() const {
  dir_.file("in/file", "input\n");
  dir_.file("in/secret/file", "secret\n");
  dir_.file("box/out/old", "old\n");
  dir_.file("box/out/sub/old", "old\n");
  dir_.file("box/file", "old\n");
  if (kind_.outputs != Outputs::EveryWay) return;
  dir_.file("merged/kept", "old\n");
  dir_.file("merged/both", "old\n");
  dir_.file("carved/old", "old\n");
  dir_.file("carved/cache/old", "old\n");
  dir_.file("mounted/old", "old\n");
  dir_.file("mounted/sub/old", "old\n");
}

// Everything is on file systems that nobody else sees. The inputs stay: the spec was checked
// against them.
void Scene::empty() const {
  for (const std::string& folder : {folder_ + "/mounted", folder_}) {
    for (const std::string& name : names_of(folder)) {
      if (folder == folder_ && (name == "mounted" || name == "in")) continue;
      std::error_code ignored;
      std::filesystem::remove_all(folder + "/" + name, ignored);
    }
  }
}

void Scene::restore() {
  if (snapshot_of(folder_) == before_) return;
  empty();
  fill();
}

SpecBuilder Scene::builder() const {
  std::string script = "set -e; cd " + folder_ +
                       "; read line <in/file; echo $line >box/out/line; echo new >box/out/old; "
                       "echo new >box/file; echo temp >temp/file";
  if (kind_.outputs == Outputs::EveryWay)
    script +=
        "; echo new >merged/both; echo new >merged/new; echo new >carved/new; "
        "echo new >mounted/new; echo new >mounted/old";
  if (kind_.outputs == Outputs::KeptFailed) script += "; exit 3";
  SpecBuilder builder = shell(script);
  builder.input(folder_ + "/in", {folder_ + "/in/secret"})
      .output(folder_ + "/box/out")
      .output(folder_ + "/box/file", Publish::Replace, FileType::File)
      .temp(folder_ + "/temp")
      .network({.mode = NetworkPolicy::Mode::Loopback});
  if (kind_.outputs == Outputs::EveryWay) {
    builder.output(folder_ + "/merged", Publish::Merge);
    builder.declare({.kind = TreeKind::Output,
                     .path = folder_ + "/carved",
                     .exceptions = {folder_ + "/carved/cache"}});
    builder.output(folder_ + "/mounted");
  }
  return builder;
}

RunOptions Scene::options() const {
  RunOptions options = captured();
  if (kind_.outputs == Outputs::KeptFailed) options.keep_failed = folder_ + "/kept";
  if (kind_.terminal) {
    options.interactive = true;
    options.observe_files = true;
    options.capture_bytes.reset();
    options.standard_output = -1;
    options.standard_error = -1;
  }
  return options;
}

// The first run shows what is to be expected of the others.
std::string Scene::first_run() {
  fill();
  before_ = snapshot_of(folder_);
  const Result<Spec> spec = builder().build();
  if (!spec) return "no spec: " + to_string(spec.error());
  spec_ = *spec;
  mounts_before_ = lines_of("/proc/self/mountinfo");
  const Traced traced = run({}, Record::Calls);
  usual_answer_ = traced.said;
  const std::string expected =
      kind_.outputs == Outputs::KeptFailed ? "ended Exited 3" : "ended Exited 0";
  if (usual_answer_ != expected) return "the run without a fault: " + usual_answer_;
  calls_ = traced.calls;
  after_success_ = snapshot_of(folder_);
  if (after_success_ == before_) return "the run without a fault publishes nothing";
  restore();
  return "";
}

std::string Scene::act() const {
  const std::map<std::string, std::string> descriptors = open_descriptors();
  std::string said;
  begin_counting();
  {
    Silence events;
    Result<LinuxBackend> backend = LinuxBackend::make(kind_.mounts);
    said = backend ? in_words(execute(*spec_, *backend, options(), events))
                   : "error " + to_string(backend.error());
  }
  end_counting();
  for (const auto& [number, target] : open_descriptors())
    if (!descriptors.contains(number)) said += "\nleft open: " + number + " " + target;
  if (::waitpid(-1, nullptr, WNOHANG | __WALL) != -1) said += "\nleft a process";
  return said;
}

// Returns only if it cannot be executed.
std::string Scene::execute_program() const {
  Words words = {HERMETIC_PROGRAM, "run", "--dir", "/"};
  const auto declare = [&](const std::string& option, const std::string& value) {
    words.push_back("--" + option);
    words.push_back(value);
  };
  for (const std::string& directory : toolchain_directories()) declare("input", directory);
  declare("input", folder_ + "/in");
  declare("except", folder_ + "/in/secret");
  declare("output", folder_ + "/box/out");
  declare("output-file", folder_ + "/box/file");
  declare("temp", folder_ + "/temp");
  declare("network", "loopback");
  words.emplace_back("--");
  words.insert(words.end(), spec_->command.begin(), spec_->command.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  ::dup2(null.get(), 0);
  ::dup2(printed_.get(), 1);
  ::dup2(printed_.get(), 2);
  ::setenv("ASAN_OPTIONS", "detect_leaks=0",
           1);  // it would trace, and there can be one tracer only
  ::execv(HERMETIC_PROGRAM, pointers.data());
  return std::string("cannot execute the program: ") + std::strerror(errno);
}

Traced Scene::run(const Fault& fault, Record record) const {
  if (!kind_.program) return run_traced([this] { return act(); }, fault, record);
  if (::ftruncate(printed_.get(), 0) != 0) return {.said = "cannot clear what was printed"};
  Traced traced = run_traced([this] { return execute_program(); }, fault, record);
  if (!traced.said.empty()) return traced;
  const std::string printed = content_of("/proc/self/fd/" + std::to_string(printed_.get()));
  const int code = WIFEXITED(traced.status) ? WEXITSTATUS(traced.status) : -1;
  if (code == 0) traced.said = "ended Exited 0" + printed;
  if (code > 0 && printed.starts_with("hermetic: ")) traced.said = "error " + printed;
  return traced;
}

Scene::Trial Scene::attempt(const Fault& fault) {
  Trial trial{.traced = run(fault, Record::Nothing)};
  trial.complaints = complaints_about(fault, trial.traced);
  restore();
  return trial;
}

std::vector<std::string> Scene::complaints_about(const Fault& fault, const Traced& traced) const {
  std::vector<std::string> found;
  if (traced.hung) found.emplace_back("it does not end");
  for (const std::string& line : lines_of("/proc/self/mountinfo"))
    if (!mounts_before_.contains(line)) found.push_back("left mounted: " + line);
  const Snapshot now = snapshot_of(folder_);
  if (fault.role == Role::Supervisor && fault.error == 0 && traced.reached) {
    for (std::string& complaint : complaints_after_kill(now)) found.push_back(std::move(complaint));
    return found;
  }
  const bool as_usual = traced.said == usual_answer_;
  const bool failed = traced.said.starts_with("error ") ||
                      traced.said.starts_with("ended Signaled") ||
                      traced.said.starts_with("ended NotStarted") ||
                      (fault.role == Role::Command && traced.said.starts_with("ended "));
  if (!as_usual && !failed) found.push_back("neither success nor failure: " + traced.said);
  if (traced.said.find("\nleft ") != std::string::npos) found.push_back(traced.said);
  std::string changes = difference(as_usual ? after_success_ : before_, now);
  if (kind_.outputs == Outputs::KeptFailed && !as_usual)  // what could be kept may stay
    changes = difference(part_of(before_, folder_ + "/box"), part_of(now, folder_ + "/box"));
  if (!changes.empty()) found.push_back(traced.said + ", and" + changes);
  return found;
}

// Entry by entry there is a moment when some are old and some are new: then all the old ones are
// still there, if under other names. After it all the new ones are.
bool Scene::is_all_there(const Snapshot& now, const std::string& output) const {
  const auto old_files = [](const Snapshot& snapshot) {
    return std::count_if(snapshot.begin(), snapshot.end(),
                         [](const auto& entry) { return entry.second.ends_with(" old\n"); });
  };
  const Snapshot after = part_of(after_success_, output);
  const bool all_new = std::all_of(after.begin(), after.end(), [&](const auto& entry) {
    const auto found = now.find(entry.first);
    return found != now.end() && found->second == entry.second;
  });
  return all_new || old_files(now) == old_files(part_of(before_, output));
}

// Nobody was left to clean up: each output is the old or the new one, and what else is there is
// known by its name, so that the next run removes it.
std::vector<std::string> Scene::complaints_after_kill(const Snapshot& now) const {
  std::vector<std::string> found;
  for (const char* output : {"/box/out", "/box/file"}) {
    const Snapshot part = part_of(now, folder_ + output);
    if (part != part_of(before_, folder_ + output) &&
        part != part_of(after_success_, folder_ + output))
      found.push_back(std::string("half of ") + output +
                      difference(part_of(before_, folder_ + output), part));
  }
  if (kind_.outputs == Outputs::EveryWay) {
    for (const char* output : {"/merged", "/carved", "/mounted"})
      if (!is_all_there(part_of(now, folder_ + output), folder_ + output))
        found.push_back(std::string("lost from ") + output +
                        difference(part_of(before_, folder_ + output), now));
    return found;
  }
  const std::string staging = ".hermetic-" + std::to_string(::geteuid()) + "-";
  for (const auto& [path, text] : now)
    if (!before_.contains(path) && !after_success_.contains(path) &&
        path.find("/" + staging) == std::string::npos)
      found.push_back("left for good: " + path);
  return found;
}

}  // namespace hermetic
