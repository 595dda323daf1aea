// The first process of the virtual machine that tests/vm/vm.py boots. It loads the modules that it
// was packed with, mounts the root disk, runs the jobs one after the other, and tells the host how
// each of them ended.
//
// Whatever it says goes through one virtio port, in frames: a letter, the length as four bytes
// (little end first), the text. H hello, with the release of the kernel; O output of the present
// job; F a file that was asked for, its path and a null byte first; E the end of the present job; D
// all jobs are done; X why there can be no result. A host that sees the port close without D knows
// that something went wrong.
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Words = std::vector<std::string>;

constexpr uid_t kUserId = 1000;
constexpr const char* kGroups = "/sys/fs/cgroup";
constexpr std::chrono::seconds kDrain{2};

struct Job {
  std::string user;  // root; plain: the user; delegated: the user, who owns the job's control group
  std::chrono::seconds limit{0};
  Words files;  // to send to the host afterwards
  Words environment;
  Words command;
};

int channel = -1;

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(descriptor, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
}

void send(char kind, std::string_view text) {
  std::string frame(1, kind);
  const auto size = static_cast<std::uint32_t>(text.size());
  for (unsigned shift = 0; shift < 32; shift += 8)
    frame.push_back(static_cast<char>((size >> shift) & 0xFFU));
  write_all(channel, frame.append(text));
}

// No result can be had: say why and end the machine.
[[noreturn]] void fail(const std::string& what) {
  const std::string text = what + ": " + std::strerror(errno);
  if (channel >= 0) send('X', text);
  write_all(2, "vm agent: " + text + "\n");
  ::sync();
  ::reboot(RB_AUTOBOOT);
  for (;;) ::pause();
}

void must(bool condition, const std::string& what) {
  if (!condition) fail(what);
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  must(file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()),
       "write " + std::string(text) + " to " + path);
  ::close(file);
}

Words names_in(const std::string& directory) {
  Words names;
  DIR* stream = ::opendir(directory.c_str());
  if (stream == nullptr) return names;
  while (const dirent* entry = ::readdir(stream))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  ::closedir(stream);
  std::sort(names.begin(), names.end());
  return names;
}

void make_mount(const char* kind, const char* place, unsigned long flags, const char* options) {
  ::mkdir(place, 0755);
  must(::mount(kind, place, kind, flags, options) == 0, std::string("mount ") + place);
}

// The names of the modules begin with their place in the order.
void load_modules() {
  for (const std::string& name : names_in("/modules")) {
    const int file = ::open(("/modules/" + name).c_str(), O_RDONLY | O_CLOEXEC);
    must(file >= 0 && (::syscall(SYS_finit_module, file, "", 0) == 0 || errno == EEXIST),
         "load " + name);
    ::close(file);
  }
}

// What a driver finds appears a moment after it was loaded.
int open_when_there(const std::string& path) {
  for (int i = 0; i < 1000; ++i) {
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file >= 0) return file;
    ::usleep(10'000);
  }
  return -1;
}

// As an ordinary distribution has it: a shared root on a disk, control groups of version 2 alone.
void mount_root() {
  const int disk = open_when_there("/dev/vda");
  must(disk >= 0, "open /dev/vda");
  ::close(disk);
  ::mkdir("/root", 0755);
  must(::mount("/dev/vda", "/root", "ext4", 0, nullptr) == 0, "mount /dev/vda");
  for (const char* place : {"/dev", "/proc", "/sys"})
    must(::mount(place, (std::string("/root") + place).c_str(), nullptr, MS_MOVE, nullptr) == 0,
         std::string("move ") + place);
  must(::chdir("/root") == 0 && ::mount(".", "/", nullptr, MS_MOVE, nullptr) == 0 &&
           ::chroot(".") == 0 && ::chdir("/") == 0,
       "enter the root disk");
  must(::mount(nullptr, "/", nullptr, MS_REC | MS_SHARED, nullptr) == 0, "share the root");
  make_mount("devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC, "gid=5,mode=620,ptmxmode=666");
  make_mount("tmpfs", "/dev/shm", MS_NOSUID | MS_NODEV, "mode=1777");
  make_mount("tmpfs", "/run", MS_NOSUID | MS_NODEV, "mode=755");
  make_mount("cgroup2", kGroups, MS_NOSUID | MS_NODEV | MS_NOEXEC,
             "nsdelegate,memory_recursiveprot");
  write_file(std::string(kGroups) + "/cgroup.subtree_control", "+cpu +io +memory +pids");
  ::symlink("/proc/self/fd", "/dev/fd");
  ::symlink("/proc/self/fd/0", "/dev/stdin");
  ::symlink("/proc/self/fd/1", "/dev/stdout");
  ::symlink("/proc/self/fd/2", "/dev/stderr");
}

// A disk that a plain user has packed belongs to that user all over.
void give_to_root() {
  struct stat status {};
  if (::stat("/usr", &status) != 0 || status.st_uid == 0) return;
  ::nftw(
      "/",
      [](const char* path, const struct stat* entry, int /*type*/, FTW* /*place*/) {
        if (::lchown(path, 0, 0) != 0) return 0;
        if (!S_ISLNK(entry->st_mode)) ::chmod(path, entry->st_mode & 07777U);
        return 0;
      },
      32, FTW_PHYS | FTW_MOUNT);
}

void raise_loopback() {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP;
  must(::ioctl(socket, SIOCSIFFLAGS, &request) == 0, "raise lo");
  ::close(socket);
}

// The words of /jobs, each ended by a null byte; lists come after their length.
std::vector<Job> read_jobs() {
  const std::string text = content_of("/jobs");
  std::size_t at = 0;
  const auto word = [&] {
    const std::size_t end = text.find('\0', at);
    must(end != std::string::npos, "/jobs ends too soon");
    std::string found = text.substr(at, end - at);
    at = end + 1;
    return found;
  };
  const auto list = [&] {
    Words words(std::strtoul(word().c_str(), nullptr, 10));
    for (std::string& each : words) each = word();
    return words;
  };
  std::vector<Job> jobs;
  while (at < text.size()) {
    Job& job = jobs.emplace_back();
    job.user = word();
    job.limit = std::chrono::seconds(std::strtol(word().c_str(), nullptr, 10));
    job.files = list();
    job.environment = list();
    job.command = list();
  }
  must(!jobs.empty(), "/jobs is empty");
  return jobs;
}

// The job's own control group, in which it may make others, and the leaf that it starts in. What is
// given to the user is what systemd gives away with Delegate=yes: not the limits of the group
// itself.
std::string make_group(const Job& job) {
  const std::string group = std::string(kGroups) + "/job";
  std::string leaf = group + "/start";
  must(::mkdir(group.c_str(), 0755) == 0 && ::mkdir(leaf.c_str(), 0755) == 0, "make " + leaf);
  if (job.user != "delegated") return leaf;
  for (const std::string& each : {group, leaf})
    for (const char* file : {"", "/cgroup.procs", "/cgroup.subtree_control", "/cgroup.threads"})
      must(::chown((each + file).c_str(), kUserId, kUserId) == 0, "chown " + each + file);
  return leaf;
}

// Removes all groups below this one, and counts them.
int remove_groups(const std::string& group) {
  int count = 0;
  for (const std::string& name : names_in(group)) {
    const std::string path = group + "/" + name;
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) continue;
    count += remove_groups(path);
    for (int i = 0; ::rmdir(path.c_str()) != 0 && errno == EBUSY && i < 500; ++i) ::usleep(10'000);
    ++count;
  }
  return count;
}

[[noreturn]] void become(const Job& job, const std::string& leaf, int output) {
  write_file(leaf + "/cgroup.procs", "0");
  ::setsid();
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
  ::dup2(output, 1);
  ::dup2(output, 2);
  ::clearenv();
  const bool is_root = job.user == "root";
  ::setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
  ::setenv("HOME", is_root ? "/root" : "/home/user", 1);
  ::setenv("USER", is_root ? "root" : "user", 1);
  ::setenv("LC_ALL", "C.UTF-8", 1);
  for (const std::string& variable : job.environment) ::putenv(::strdup(variable.c_str()));
  if (!is_root &&
      (::setgroups(0, nullptr) != 0 || ::setgid(kUserId) != 0 || ::setuid(kUserId) != 0))
    ::_exit(125);
  std::vector<char*> words;
  for (const std::string& word : job.command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  ::dprintf(2, "cannot execute %s: %s\n", words[0], std::strerror(errno));
  ::_exit(errno == ENOENT ? 127 : 126);
}

// Passes on what there is to read; false at the end.
bool pass_on(int pipe) {
  std::array<char, 16384> block;
  const ssize_t size = ::read(pipe, block.data(), block.size());
  if (size > 0) send('O', {block.data(), static_cast<std::size_t>(size)});
  return size > 0 || (size < 0 && errno == EINTR);
}

// Waits for all who have ended; the status of the command if it is among them.
std::optional<int> reap(pid_t command, int signals) {
  std::optional<int> result;
  signalfd_siginfo ignored{};
  if (::read(signals, &ignored, sizeof ignored) < 0) return result;
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;)
    if (pid == command) result = status;
  return result;
}

// How the command ended, as waitpid() says it, or nothing if it did not within its time. Then
// everybody else is killed too, and what is written already is read for a while.
std::optional<int> watch(pid_t command, int pipe, int signals, Clock::time_point deadline) {
  std::optional<int> result;
  bool is_open = true;
  bool is_over = false;
  while (is_open || !is_over) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) {
      if (is_over) break;
      ::kill(-1, SIGKILL);  // all but ourselves
      is_over = true;
      deadline = Clock::now() + kDrain;
      continue;
    }
    std::array<pollfd, 2> waits = {pollfd{signals, POLLIN, 0},
                                   pollfd{is_open ? pipe : -1, POLLIN, 0}};
    ::poll(waits.data(), waits.size(), static_cast<int>(left.count()));
    if (waits[1].revents != 0) is_open = pass_on(pipe);
    if (waits[0].revents == 0) continue;
    const std::optional<int> status = reap(command, signals);
    if (is_over || !status) continue;
    result = status;
    deadline = Clock::now();
  }
  return result;
}

std::string run(const Job& job, int signals) {
  const std::string leaf = make_group(job);
  std::array<int, 2> pipe = {-1, -1};
  must(::pipe2(pipe.data(), O_CLOEXEC) == 0, "make a pipe");
  const Clock::time_point deadline = Clock::now() + job.limit;
  const pid_t command = ::fork();
  must(command >= 0, "fork");
  if (command == 0) become(job, leaf, pipe[1]);
  ::close(pipe[1]);
  const std::optional<int> status = watch(command, pipe[0], signals, deadline);
  ::close(pipe[0]);
  for (const std::string& path : job.files)
    if (::access(path.c_str(), R_OK) == 0) send('F', path + '\0' + content_of(path));
  const std::string left = " " + std::to_string(remove_groups(kGroups) - 2);
  if (!status) return "timeout 0" + left;
  if (WIFSIGNALED(*status)) return "signal " + std::to_string(WTERMSIG(*status)) + left;
  return "exit " + std::to_string(WEXITSTATUS(*status)) + left;
}

void open_channel() {
  load_modules();
  std::string port;
  for (int i = 0; i < 1000 && port.empty(); ++i) {
    for (const std::string& name : names_in("/sys/class/virtio-ports"))
      if (content_of("/sys/class/virtio-ports/" + name + "/name").starts_with("jobs")) port = name;
    if (port.empty()) ::usleep(10'000);
  }
  channel = open_when_there("/dev/" + port);
  must(channel >= 0, "open the port " + port);
}

}  // namespace

int main() {
  make_mount("devtmpfs", "/dev", MS_NOSUID, "mode=755");
  make_mount("proc", "/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
  make_mount("sysfs", "/sys", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
  open_channel();
  utsname names{};
  ::uname(&names);
  send('H', names.release);
  const std::vector<Job> jobs = read_jobs();
  mount_root();
  give_to_root();
  raise_loopback();
  ::sethostname("vm", 2);
  ::chown("/home/user", kUserId, kUserId);

  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, nullptr);
  const int signals = ::signalfd(-1, &child, SFD_CLOEXEC);
  must(signals >= 0, "signalfd");
  for (const Job& job : jobs) send('E', run(job, signals));
  send('D', "");
  for (;;) ::pause();  // the host ends the machine
}
