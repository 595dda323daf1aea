#!/bin/bash
# symbols.sh LIBRARY HEADER: the shared object shows the functions of the header, each with its version, and
# nothing else. With --self-test: two libraries that do not are found out.
set -euo pipefail

check() {
  local library=$1 header=$2 shown wanted
  shown=$(nm --dynamic --defined-only --with-symbol-versions "$library" | awk '$2 != "A" { print $3 }' | sort)
  wanted=$(grep -oE '\bhermetic_[a-z_]+\(' "$header" | tr -d '(' | grep -v -x 'hermetic_event_callback' |
    sort -u | sed 's/$/@@HERMETIC_0/')
  diff -u --label "functions of the header" --label "symbols of the library" \
    <(printf '%s\n' "$wanted") <(printf '%s\n' "$shown") || return 1
  readelf --dynamic "$library" | grep -q 'SONAME.*\[libhermetic\.so\.0\]' || { echo 'another SONAME' && return 1; }
  readelf --dynamic "$library" | grep -qE 'BIND_NOW|FLAGS.*NOW' || { echo 'not bound at once' && return 1; }
}

if [[ $1 != --self-test ]]; then
  # Comments name functions, too.
  scratch=$(mktemp)
  trap 'rm -f "$scratch"' EXIT
  sed 's|//.*||' "$2" >"$scratch"
  check "$1" "$scratch"
  exit
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
echo 'int hermetic_a(void);' >good.h
echo 'HERMETIC_0 { global: hermetic_*; local: *; };' >good.map
echo 'HERMETIC_0 { global: *; };' >open.map
build() {
  printf '%s\n' "$1" >a.c
  "${CC:-cc}" -shared -fPIC -nostdlib -Wl,-soname,libhermetic.so.0 -Wl,-z,now "-Wl,--version-script=$2" a.c -o "$3"
}
build 'int hermetic_a(void) { return 0; }' good.map good.so
build 'int hermetic_a(void) { return 0; } int other(void) { return 0; }' open.map leaking.so
build 'int hermetic_a(void) { return 0; } int hermetic_b(void) { return 0; }' good.map more.so
check good.so good.h
for bad in leaking.so more.so; do
  if check "$bad" good.h >/dev/null; then
    echo "$bad was not found out" >&2
    exit 1
  fi
done
