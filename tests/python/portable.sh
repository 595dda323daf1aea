#!/bin/bash
# portable.sh: what works on older systems is told from what does not, with what stands in its way.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
portable=$HERMETIC_SOURCE_DIR/bindings/python/portable
fail() {
  echo "$*" >&2
  exit 1
}
refused() { # FILE REASON
  if "$portable" "$1" >tag 2>said; then fail "$1 is taken"; fi
  grep -qF -- "$2" said || fail "it said $(cat said)"
  [[ $(cat tag) == linux_$(uname -m) ]] || fail "tagged $(cat tag)"
}
echo '#include <stdio.h>
int say(void) { return puts("said"); }' >good.c
cc -shared -fPIC -o good.so good.c
[[ $("$portable" good.so) == manylinux_2_34_$(uname -m) ]] || fail 'a plain library is refused'
# A version that no C library has had yet: newer ones are told by their number.
echo 'int newer(void); int say(void) { return newer(); }' >late.c
echo 'int newer(void) { return 0; }' >newer.c
echo 'GLIBC_2.35 { newer; };' >newer.map
cc -shared -fPIC -Wl,-soname,libm.so.6 -Wl,--version-script,newer.map -o newer.so newer.c
cc -shared -fPIC -o late.so late.c newer.so
refused late.so 'late.so: newer has the version GLIBC_2.35, later than 2.34 has'
sed -i s/2.35/2.34/ newer.map
cc -shared -fPIC -Wl,-soname,libm.so.6 -Wl,--version-script,newer.map -o newer.so newer.c
cc -shared -fPIC -o late.so late.c newer.so
"$portable" late.so >/dev/null || fail 'the control is refused'
echo 'GLIBC_PRIVATE { newer; };' >newer.map
cc -shared -fPIC -Wl,-soname,libm.so.6 -Wl,--version-script,newer.map -o newer.so newer.c
cc -shared -fPIC -o late.so late.c newer.so
refused late.so 'newer has the version GLIBC_PRIVATE'
cc -shared -fPIC -Wl,--no-as-needed -o other.so good.c -lcrypto
refused other.so 'other.so: needs libcrypto.so.3, which not every system has'
cc -static -o static -x c - <<<'int main(void) { return 0; }'
"$portable" good.so static >/dev/null || fail 'a static program is refused'
refused other.so 'needs' # and of several files each counts
if "$portable" good.so other.so >/dev/null 2>&1; then fail 'the second is not looked at'; fi
