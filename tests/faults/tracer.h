// Runs something in a process of its own and makes one chosen system call of it, or of the sandbox
// that it starts, fail; or kills the process that makes the call.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hermetic {

// The processes of a run, by what they execute at the moment.
enum class Role {
  Supervisor,  // hermetic itself
  Child,       // between clone() and the execution of init: the script
  Init,
  Starter,  // init's child, until it executes the command
  Command,
  Other,  // whatever the command starts
};
std::string_view to_string(Role role);

struct Fault {
  Role role = Role::Supervisor;
  std::size_t number = 0;         // of the system call, counted from 0 for each role
  int error = 0;                  // what it fails with; 0: whoever makes it is killed instead
  std::optional<long> only = {};  // count no other system call than this
  bool kills_supervisor = false;  // with error 0: the supervisor is killed then, whoever calls
};

// False for those that nothing can make fail: they are let be.
bool can_fail(long system_call);

struct Traced {
  std::map<Role, std::vector<long>> calls;  // with no fault: the system calls of each role
  bool reached = false;                     // the fault was made
  long system_call = -1;                    // of the fault
  bool hung = false;                        // had to be ended
  int status = 0;                           // of the first process, as waitpid() says it
  std::string said;                         // what `act` returned
};

// Returns when all processes are gone, which are ended by force if they stay too long.
enum class Record { Calls, Nothing };
Traced run_traced(const std::function<std::string()>& act, const Fault& fault, Record record);

// What `act` says around the part in which the supervisor's calls are counted. A program that it
// executes cannot say so: it is counted from the moment when it puts init into memory.
void begin_counting();
void end_counting();

}  // namespace hermetic
