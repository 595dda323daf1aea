#!/bin/bash
# wheel.sh LIBRARY PROGRAM SYSTEM: the wheel is made without network, has the right name, is the same when made again, and
# works when installed into a fresh environment that knows nothing of this tree. SYSTEM is what it is for: linux, or a tag
# of manylinux, whose list of symbols holds then.
set -euo pipefail
library=$1 program=$2 system=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "$*" >&2
  exit 1
}
unset PYTHONPATH "${!HERMETIC_LIBRARY@}" "${!HERMETIC_PROGRAM@}"
source_dir=$HERMETIC_SOURCE_DIR
mkdir "$scratch/one" "$scratch/two" "$scratch/elsewhere"
wheel=$("$source_dir/bindings/python/build_wheel" "$library" "$program" "$scratch/one" 2>"$scratch/why")
[[ ${wheel##*/} == hermetic-*-py3-none-"$system"_"$(uname -m)".whl ]] || fail "another name: $wheel; $(cat "$scratch/why")"
again=$("$source_dir/bindings/python/build_wheel" "$library" "$program" "$scratch/two" 2>/dev/null)
cmp "$wheel" "$again"

/usr/bin/python3 -m venv --without-pip "$scratch/venv"
/usr/bin/python3 -m pip --python "$scratch/venv/bin/python" install --quiet --no-index --no-deps --no-cache-dir \
  --disable-pip-version-check "$wheel"
cd "$scratch/elsewhere"
said=$(WHERE=$scratch/venv PATH=/usr/bin:/bin "$scratch/venv/bin/python" -c '
import hermetic, os
assert hermetic.__file__.startswith(os.environ["WHERE"]), hermetic.__file__
maps = open("/proc/self/maps").read()
assert "libhermetic" not in maps
print(hermetic.library_version() == hermetic.__version__, hermetic.run(["echo", "hello"], capture_output=True).stdout)
assert os.environ["WHERE"] + "/lib" in open("/proc/self/maps").read()
' ) || fail 'the installed package does not work'
[[ $said == "True b'hello\\n'" ]] || fail "it said $said"

# The command of the wheel, and the module, are the program that it carries.
for start in "$scratch/venv/bin/hermetic" "$scratch/venv/bin/python -m hermetic"; do
  # shellcheck disable=SC2086  # words
  [[ $(PATH=/nowhere $start version) == "$("$program" version)" ]] || fail "$start is another program"
  code=0
  # shellcheck disable=SC2086
  $start run -- sh -c 'exit 3' || code=$?
  ((code == 3)) || fail "$start ended with $code"
done
git init -q repository
git -C repository -c user.name=a -c user.email=a@localhost commit -q --allow-empty -m one
(cd repository && HERMETIC_CACHE=$scratch/cache "$scratch/venv/bin/hermetic" selftest --emit m.json >/dev/null && [[ -s m.json ]]) ||
  fail 'the selftest fails'
rm "$scratch"/venv/lib/python3*/site-packages/hermetic/bin/hermetic
code=0
"$scratch/venv/bin/hermetic" version 2>said || code=$?
[[ $code == 125 && $(cat said) == *'installed without the program'* ]] || fail 'it started something else'

if [[ $system == linux ]]; then
  grep -q 'for this system only' "$scratch/why" || fail 'nothing says why it is for this system only'
else
  # Every version that a symbol of the library asks for, against the list of the tag: the program is static.
  [[ $system =~ ^manylinux_([0-9]+)_([0-9]+)$ ]] || fail "no such tag: $system"
  declare -A latest=([GLIBC]=${BASH_REMATCH[1]}.${BASH_REMATCH[2]} [GLIBCXX]=3.4.29 [CXXABI]=1.3.13 [GCC]=7.0.0)
  python3 -m zipfile -e "$wheel" "$scratch/content"
  readelf -d "$scratch/content/hermetic/bin/hermetic" | grep -q 'no dynamic section' || fail 'the program is not static'
  carried=$scratch/content/hermetic/libhermetic.so.0
  versions=$(readelf --version-info "$carried" | sed -n 's/.*Name: \([A-Z]*_[0-9.]*\) .*Flags.*/\1/p' | sort -u)
  [[ $versions == *GLIBC_2.* ]] || fail 'no versions are found'
  for version in $versions; do
    most=${latest[${version%%_*}]:-} wanted=${version#*_}
    [[ -n $most && $(printf '%s\n' "$most" "$wanted" | sort -V | tail -n 1) == "$most" ]] || fail "$version is not in $system"
  done
fi
