#include "tests/faults/scene.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "hermetic/base/file_tree.h"
#include "hermetic/base/layered_copy.h"

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
  // Whoever cannot find out that there is an overlay file system copies the layers to there.
  const auto is_copied = [](const std::string& path) {
    return path.find("/changes/upper/") != std::string::npos;
  };
  for (const auto& [path, content] : found)
    if (!expected.contains(path) && !is_copied(path)) text += " new " + path;
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
  // Outputs that cannot be prepared beside their destination are prepared in /var/tmp, and journals
  // are kept there.
  for (const std::string& place :
       {dir_.directory("mounted"), dir_.directory("around"), std::string("/var/tmp")}) {
    if (::mount("tmpfs", place.c_str(), "tmpfs", 0, "mode=1777,size=16m") == 0) continue;
    problem_ = "no file system at " + place + ": " + std::strerror(errno);
    return;
  }
  problem_ = first_run();
}

Scene::~Scene() {
  ::umount2("/var/tmp", MNT_DETACH);
  ::umount2((folder_ + "/mounted").c_str(), MNT_DETACH);
  ::umount2((folder_ + "/around").c_str(), MNT_DETACH);
  ::umount2(folder_.c_str(), MNT_DETACH);
}

bool Scene::has(Outputs outputs) const {
  if (kind_.outputs == Outputs::KeptFailed) return outputs == Outputs::Whole;
  return kind_.outputs == outputs || kind_.outputs == Outputs::EveryWay;
}

void Scene::fill() const {
  dir_.file("in/file", "input\n");
  dir_.file("in/secret/file", "secret\n");
  dir_.file("in/layer/file", "input\n");
  dir_.directory("changes/upper");
  (void)::chmod((folder_ + "/changes").c_str(), 0700);  // a run closes it in any case
  if (has(Outputs::Whole)) {
    dir_.file("box/out/old", "old\n");
    dir_.file("box/out/sub/old", "old\n");
    dir_.file("box/file", "old\n");
  }
  if (has(Outputs::One)) dir_.file("one/old", "old\n");
  if (has(Outputs::Merged)) {
    dir_.file("merged/kept", "old\n");
    dir_.file("merged/both", "old\n");
    dir_.file("merged/sub/both", "old\n");
    dir_.file("merged/sub/kept", "old\n");
    dir_.directory("merged/turned");
  }
  if (has(Outputs::Carved)) {
    dir_.file("carved/old", "old\n");
    dir_.file("carved/cache/old", "old\n");
    dir_.file("carved/deep/cache/old", "old\n");
    dir_.file("carved/deep/old", "old\n");
  }
  if (has(Outputs::Mounted)) {
    dir_.file("mounted/old", "old\n");
    dir_.file("mounted/sub/old", "old\n");
  }
  if (has(Outputs::Copied)) {
    dir_.file("around/there/old", "old\n");
    dir_.file("around/file", "old\n");
  }
}

// Everything is on file systems that nobody else sees. The inputs stay, and the place for
// changes, empty: the spec was checked against them.
void Scene::empty() const {
  const std::string changes = folder_ + "/changes";
  EXPECT_TRUE(remove_tree(AT_FDCWD, changes + "/upper"));
  (void)::removexattr(changes.c_str(), kCopiedMark);
  const auto is_kept = [&](const std::string& path) {
    return path == folder_ + "/mounted" || path == folder_ + "/around" || path == folder_ + "/in" ||
           path == folder_ + "/changes";
  };
  for (const std::string& folder :
       {std::string("/var/tmp"), folder_ + "/mounted", folder_ + "/around", folder_}) {
    for (const std::string& name : names_of(folder)) {
      std::error_code ignored;
      if (!is_kept(folder + "/" + name)) std::filesystem::remove_all(folder + "/" + name, ignored);
    }
  }
}

void Scene::restore() {
  if (snapshot_of(folder_) == before_ && names_of("/var/tmp").empty()) return;
  empty();
  fill();
}

SpecBuilder Scene::builder() const {
  std::string script = "set -e; cd " + folder_ + "; read line <in/file; echo temp >temp/file";
  SpecBuilder builder = shell("");
  builder.input(folder_ + "/in", {folder_ + "/in/secret"})
      .temp(folder_ + "/temp")
      .temp_over("/layered", {folder_ + "/in/layer"}, kind_.hosts ? "" : folder_ + "/changes")
      .network(kind_.hosts ? NetworkPolicy::allow_hosts({"127.0.0.1:9"}).value()
                           : NetworkPolicy{.mode = NetworkPolicy::Mode::Loopback});
  if (has(Outputs::Whole)) {
    script += "; echo $line >box/out/line; echo new >box/out/old; echo new >box/file";
    builder.output(folder_ + "/box/out")
        .output(folder_ + "/box/file", Publish::Replace, FileType::File);
  }
  if (has(Outputs::One)) {
    script += "; echo new >one/new";
    builder.output(folder_ + "/one");
  }
  if (has(Outputs::Merged)) {
    script +=
        "; cd merged; echo new >both; echo new >new; mkdir sub; echo new >sub/both; "
        "echo new >sub/new; echo new >turned; cd ..";
    builder.output(folder_ + "/merged", Publish::Merge);
  }
  if (has(Outputs::Carved)) {
    script += "; echo new >carved/new; echo new >carved/deep/new";
    builder.declare({.kind = TreeKind::Output,
                     .path = folder_ + "/carved",
                     .exceptions = {folder_ + "/carved/cache", folder_ + "/carved/deep/cache"}});
  }
  if (has(Outputs::Mounted)) {
    script +=
        "; echo new >mounted/new; echo new >mounted/old; mkdir mounted/d; echo x >mounted/d/x";
    builder.output(folder_ + "/mounted");
  }
  if (has(Outputs::Copied)) {
    script += "; echo new >around/there/new; echo new >around/file";
    builder.input(folder_ + "/around", {folder_ + "/around/there", folder_ + "/around/file"})
        .output(folder_ + "/around/there")
        .output(folder_ + "/around/file", Publish::Replace, FileType::File);
  }
  if (has(Outputs::Made)) {
    script += "; echo new >missing/a/out/new";
    builder.output(folder_ + "/missing/a/out");
  }
  if (kind_.outputs == Outputs::KeptFailed) script += "; exit 3";
  return builder.command({"sh", "-c", script});
}

Result<RunOptions> Scene::options() const {
  RunOptions options = captured();
  if (kind_.outputs == Outputs::KeptFailed)
    options.keep_failed = TRY(OwnPlace::find(folder_ + "/kept"));
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
  failing_spec_ = builder().command({"false"}).build().value();
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
    Audience events;
    const auto execute_it = [&]() -> Result<Finished> {
      LinuxBackend backend = TRY(LinuxBackend::make(kind_.mounts));
      const RunOptions wanted = TRY(options());
      return execute(*spec_, backend, wanted, events);
    };
    said = in_words(execute_it());
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

Traced Scene::interrupt(const Fault& fault) {
  restore();
  return run(fault, Record::Nothing);
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
  for (const std::string& name : names_of("/var/tmp")) found.push_back("left in /var/tmp: " + name);
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

// Nobody was left to clean up: an output that is replaced as a whole is the old or the new one at
// once, and everything is when a later run has begun.
std::vector<std::string> Scene::complaints_after_kill(const Snapshot& now) const {
  std::vector<std::string> found;
  for (const char* output : {"/box/out", "/box/file", "/one", "/around/there", "/around/file"}) {
    const Snapshot part = part_of(now, folder_ + output);
    if (part != part_of(before_, folder_ + output) &&
        part != part_of(after_success_, folder_ + output))
      found.push_back(std::string("half of ") + output +
                      difference(part_of(before_, folder_ + output), part));
  }
  for (std::string& complaint : complaints_after_recovery()) found.push_back(std::move(complaint));
  return found;
}

std::vector<std::string> Scene::complaints_after_recovery() const {
  Audience events;
  LinuxBackend backend = LinuxBackend::make(kind_.mounts).value();
  const Result<Finished> later = execute(*failing_spec_, backend, captured(), events);
  if (!later) return {"a later run: " + to_string(later.error())};
  std::vector<std::string> found;
  const Snapshot now = snapshot_of(folder_);
  if (now != before_ && now != after_success_)
    found.push_back("neither old, for" + difference(before_, now) + "; nor new, for" +
                    difference(after_success_, now));
  for (const std::string& name : names_of("/var/tmp")) found.push_back("left in /var/tmp: " + name);
  return found;
}

}  // namespace hermetic
