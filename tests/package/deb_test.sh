#!/bin/bash
# The .deb files of the release build: made, complete, with the dependencies they need and no others.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cpack --config "$HERMETIC_SOURCE_DIR/build/release/CPackConfig.cmake" -B "$scratch" >"$scratch/log" 2>&1 || {
  cat "$scratch/log" >&2
  exit 1
}
fail() {
  echo "$*" >&2
  exit 1
}
for package in hermetic libhermetic0 libhermetic-dev hermetic-dbgsym; do
  file=$(find "$scratch" -maxdepth 1 -name "${package}_*.deb")
  [[ -f $file ]] || fail "no $package was made"
  dpkg-deb -x "$file" "$scratch/root"
  depends=$(dpkg-deb -f "$file" Depends)
  case $package in
    hermetic | hermetic-dbgsym) [[ -z $depends ]] || fail "$package depends on $depends" ;;
    libhermetic0) [[ $depends == *libc6* && $depends != *-dev* ]] || fail "$package depends on $depends" ;;
    *) [[ $depends == *libssl-dev* && $depends == *libyaml-dev* && $depends == *libsodium-dev* && $depends == *'libhermetic0 (='* ]] || fail "$package depends on $depends" ;;
  esac
done
[[ -x $scratch/root/usr/bin/hermetic ]] || fail 'the program is missing'
file "$scratch/root/usr/bin/hermetic" | grep -q 'statically linked' || fail 'the program is not static'
for program in bin/hermetic lib/*/libhermetic.so.0; do
  # shellcheck disable=SC2206  # a pattern
  found=("$scratch/root/usr"/$program)
  file "${found[0]}" | grep -q ', stripped' || fail "$program is not stripped"
  id=$(readelf -n "${found[0]}" | sed -n 's/^ *Build ID: //p')
  [[ -s $scratch/root/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug ]] || fail "$program has no debugging symbols"
done
[[ -n $(find "$scratch/root/usr" -name libhermetic.a) ]] || fail 'the library is missing'
[[ -n $(find "$scratch/root/usr" -name libhermetic.so.0) ]] || fail 'the shared object is missing'
[[ -f $scratch/root/usr/include/hermetic.h ]] || fail 'the header in C is missing'
