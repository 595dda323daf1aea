#include "hermetic/backends/linux/init_report.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>

#include "hermetic/backends/linux/descriptor_message.h"

namespace hermetic::linux_backend {
namespace {

// In a container, files of /proc are covered. The kernel lets nobody mount a fresh one where that
// would uncover them.
bool lacks_whole_proc(const LoweredScript& script, const InitReport& report) {
  if (report.os_error != EPERM || report.step >= script.steps.size()) return false;
  const Step& step = script.steps[report.step];
  return step.kind == Step::Kind::KeepProcClassic ||
         (step.kind == Step::Kind::Mount && std::string_view(step.source) == "proc");
}

}  // namespace

Result<std::optional<ReceivedReport>> receive_report(int socket) {
  ReceivedReport received;
  DescriptorMessage message(&received.report, sizeof received.report);
  const ssize_t size =
      ::recvmsg(socket, message.get(), MSG_CMSG_CLOEXEC | MSG_TRUNC);  // the size that was sent
  // A child that fails leaves its instructions unread, which the kernel reports before the child's
  // own report.
  if (size < 0 && (errno == EINTR || errno == ECONNRESET)) return std::optional<ReceivedReport>();
  if (size < 0) return system_error("cannot hear from init", errno);
  received.size = static_cast<std::size_t>(size);
  received.passed = message.take();
  return std::optional(std::move(received));
}

Ending ending_of(const InitReport& report) {
  if (report.kind == InitReport::Kind::NotStarted) return NotStarted{report.os_error};
  const int status = report.wait_status;
  if (WIFSIGNALED(status)) return Signaled{WTERMSIG(status)};
  return Exited{WEXITSTATUS(status)};
}

Usage usage_of(const InitReport& report) {
  return {.user_time = std::chrono::microseconds(report.user_microseconds),
          .system_time = std::chrono::microseconds(report.system_microseconds),
          .peak_memory_bytes = report.peak_kilobytes * 1024,
          .started_processes = report.started_processes,
          .transfers = {.read_bytes = report.transfers[0],
                        .written_bytes = report.transfers[1],
                        .read_calls = report.transfers[2],
                        .write_calls = report.transfers[3],
                        .disk_read_bytes = report.transfers[4],
                        .disk_written_bytes = report.transfers[5]},
          .minor_faults = report.minor_faults,
          .major_faults = report.major_faults,
          .voluntary_switches = report.voluntary_switches,
          .involuntary_switches = report.involuntary_switches};
}

Usage usage_of(const rusage& used) {
  const auto time = [](const timeval& value) {
    return std::chrono::seconds(value.tv_sec) + std::chrono::microseconds(value.tv_usec);
  };
  // Without ru_maxrss: init began in the memory of its caller, and the kernel remembers that.
  return {.user_time = time(used.ru_utime),
          .system_time = time(used.ru_stime),
          .minor_faults = static_cast<std::uint64_t>(used.ru_minflt),
          .major_faults = static_cast<std::uint64_t>(used.ru_majflt),
          .voluntary_switches = static_cast<std::uint64_t>(used.ru_nvcsw),
          .involuntary_switches = static_cast<std::uint64_t>(used.ru_nivcsw)};
}

Error step_failed(const LoweredScript& script, const InitReport& report) {
  std::string hint;
  if (report.os_error == ESTALE)
    hint = "it was replaced by something else since the spec was checked; run again";
  if (report.os_error == EROFS)
    hint =
        "a sandbox around this one does not let others nest: its spec must say "
        "allow_nested_namespaces, and a plain "
        "user must run it";
  if (report.os_error == EPERM || report.os_error == EACCES)
    hint = "this host restricts sandboxes; hermetic doctor shows what works here";
  if (lacks_whole_proc(script, report))
    hint =
        "own-process-tree cannot be had here: parts of this /proc are covered, as in a container, "
        "and the kernel then refuses the sandbox one of its own; start the container with a whole "
        "/proc (docker: --security-opt systempaths=unconfined, podman: --security-opt unmask=ALL), "
        "or run hermetic outside of it";
  return system_error("cannot make the sandbox: " + describe_step(script, report.step),
                      report.os_error, hint);
}

}  // namespace hermetic::linux_backend
