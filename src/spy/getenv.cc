// A getenv() that says which variables a program reads, for 'hermetic learn --variables'. It is
// loaded before the C library and needs nothing but its `environ`. It tells by asking for a file
// whose name nobody has: whoever observes hears that anyway.
#include <asm/unistd.h>

#include <cstddef>

#include "init/system_calls.h"

extern "C" char** environ;  // the C library's

namespace {

constexpr long kHere = -100;  // AT_FDCWD
constexpr std::size_t kLongest = 200;

// Told once by each process, as far as the table goes. Two threads may both tell: no harm.
bool is_known(unsigned long hash) {
  static unsigned long told[64];
  unsigned long* const place = &told[hash % 64];
  if (__atomic_exchange_n(place, hash, __ATOMIC_RELAXED) == hash) return true;
  return false;
}

void tell(const char* name) {
  constexpr char kPrefix[] = "/.hermetic-variable/";
  char path[sizeof kPrefix + kLongest];
  std::size_t size = 0;
  for (; kPrefix[size] != '\0'; ++size) path[size] = kPrefix[size];
  unsigned long hash = 5381;
  for (std::size_t i = 0; name[i] != '\0'; ++i) {
    if (i >= kLongest || name[i] == '/') return;
    hash = hash * 33 + static_cast<unsigned char>(name[i]);
    path[size++] = name[i];
  }
  path[size] = '\0';
  if (!is_known(hash))
    hermetic::init::call(__NR_faccessat, kHere, hermetic::init::address(path), 0);
}

char* find(const char* name) {
  if (environ == nullptr) return nullptr;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::size_t i = 0;
    while (name[i] != '\0' && (*entry)[i] == name[i]) ++i;
    if (name[i] == '\0' && (*entry)[i] == '=') return *entry + i + 1;
  }
  return nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) char* getenv(const char* name) {
  char* const value = find(name);
  if (value != nullptr) tell(name);  // one that is not set does not matter
  return value;
}

// A program with more rights than its caller has loaded no spy.
extern "C" __attribute__((visibility("default"))) char* secure_getenv(const char* name) {
  return getenv(name);
}
