// Script: the tiny program that the child runs between clone() and execve().
//
// The parent writes it (lower.cc), the child only interprets it (child.cc). It borrows all its
// memory and owns none, because the child shares the parent's memory and may not allocate. No step
// may wait for the parent, which sleeps until execve().
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <span>
#include <type_traits>

namespace hermetic::linux_backend {

// A directory may be there already, and no file need be.
inline constexpr std::uint64_t kIfNeeded = 1;

struct Step {
  enum class Kind : std::uint8_t {
    JoinGroup,            // the control group whose door is the descriptor `number`
    EnterGroupNamespace,  // one whose root is the group that was joined
    WriteFile,            // text -> the existing file at target
    TryWriteFile,         // the same, and no matter if it cannot be had
    SetHostname,          // text
    MakePrivate,          // no mount event comes in from outside or goes out
    Mount,                // type `source` at target, with flags and options in text
    MakeDirectory,        // target, with mode `number`; second: see kIfNeeded
    MakeFile,             // target, with text as its content and mode `number`
    RemoveFile,           // target; what is bound elsewhere stays; second: see kIfNeeded
    MakeLink,             // target, leading to text
    Bind,             // the object at source to target, with everything below; it must be (device,
                      // inode), unless both are 0, which stands for an object that the script made
    BindClassic,      // the same by mount(2), for kernels without open_tree()
    Unmount,          // target, which no longer has a name then; what uses it keeps it
    Remount,          // target, with flags: what BindClassic cannot do at once
    Mask,             // target, by another mount of `source`, with the attributes that it has
    Attributes,       // target: adds `number` (kMount…) to it and everything below
    Unseal,           // the mount at target, and it alone, becomes writable
    ChangeDirectory,  // target
    PivotRoot,        // the working directory becomes /, the old root is gone
    KeepProc,  // a writable copy of the /proc at target, for WriteProc; it has no name anywhere
    KeepProcClassic,     // the same by mount(2)
    EnterTimeNamespace,  // one whose clocks can still be set; execve() moves there
    EnterUserNamespace,  // a second one, which has no power over the mounts
    PassProc,            // the kept /proc goes to the parent, which reads there what is used
    WriteProc,           // text -> the file target, relative to the kept /proc
    Landlock,  // number is the handled rights, second the scope; the following LandlockRules belong
               // to it
    LandlockRule,  // target and everything below it: number is the allowed rights
    LandlockEnforce,
    SetLimit,          // resource `number`: limit
    SetNice,           // number
    SetCpus,           // text is the mask of sched_setaffinity(2)
    DropCapabilities,  // all, for good
    SetUmask,          // number
    LimitPersonality,  // to what the filter lets the command set
    OpenTerminal,   // of the sandbox's own, for the streams whose bits `number` has, with modes in
                    // text and a size in `second`; its other side goes to the parent
    OpenDevice,     // target, with flags, for the stream `number`
    PlaceOpened,    // what was opened for the stream `number` becomes it
    RaiseLoopback,  // 127.0.0.1 and ::1 of the own network namespace
    MakeLocal,      // every address of the family `number` is one of the loopback's
    PassSockets,  // `number` for TCP and `second` for UDP, unbound, through the descriptor `flags`
    MoveDescriptor,    // number becomes second
    CloseDescriptors,  // from number on
  };

  Kind kind = Kind::MakePrivate;
  const char* source = nullptr;
  const char* target = nullptr;
  const char* text = nullptr;
  std::uint32_t text_size = 0;
  std::uint64_t number = 0;
  std::uint64_t second = 0;
  unsigned long flags = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  rlimit limit = {};
};

struct Script {
  std::span<const Step> steps;
  int init = -1;           // the program that becomes pid 1
  int report_socket = -1;  // for InitReport
  char* const* argv = nullptr;
  char* const* envp = nullptr;
};

static_assert(std::is_trivially_copyable_v<Script> && std::is_trivially_destructible_v<Script>);

// Runs the script in the new process and never returns: it becomes init, or sends an InitReport
// that says which step failed and why (steps.size() stands for execve()).
[[noreturn]] void run_child(const Script& script) noexcept;

}  // namespace hermetic::linux_backend
