#!/bin/bash
# child_symbols.sh OBJECT | --self-test: the code between clone() and execve() runs in the memory of a
# parent that may hold locks. It may need the system calls below and nothing else: no allocation, no
# stdio, no exceptions, no initialisers.
set -euo pipefail

allowed="__errno_location _exit chdir mkdir mount prctl rmdir sethostname setrlimit symlink
  syscall umask umount2 unlink unshare _GLOBAL_OFFSET_TABLE_"

check() {
  local symbol problems=0
  for symbol in $(nm --undefined-only --format=just-symbols "$1"); do
    if [[ " ${allowed//$'\n'/ } " != *" $symbol "* ]]; then
      echo "$1 needs $symbol" >&2
      problems=1
    fi
  done
  if readelf --sections --wide "$1" | grep -qE '\.init_array|\.ctors|\.tbss|\.tdata'; then
    echo "$1 has initialisers or thread-local variables" >&2
    problems=1
  fi
  return $problems
}

self_test() {
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  expect() { # good|bad, a program
    echo "$2" | "${CXX:-c++}" -x c++ -std=c++20 -O1 -c - -o "$folder/object.o"
    local result=good
    check "$folder/object.o" 2>/dev/null || result=bad
    [[ $result == "$1" ]] || { echo "it is $result, not $1: $2" >&2; exit 1; }
  }
  expect good '#include <unistd.h>
    int f() { return ::chdir("/") == 0 ? 0 : 1; }'
  expect bad '#include <cstdlib>
    void* f() { return std::malloc(10); }'
  expect bad 'int* f() { return new int; }'
  expect bad '#include <cstdio>
    void f() { std::puts("x"); }'
  expect bad 'struct A { A(); }; A a;'
  expect bad '#include <string>
    std::string f() { return std::string(100, 1); }'
  expect bad 'int g(); thread_local int a = g(); int f() { return a; }'
}

case ${1-} in
  --self-test) self_test ;;
  '') echo 'usage: child_symbols.sh OBJECT | --self-test' >&2 && exit 2 ;;
  *) check "$1" ;;
esac
