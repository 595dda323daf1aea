#!/bin/bash
# wheel.sh LIBRARY: the wheel is made without network, has the right name, is the same when made again, and works when
# installed into a fresh environment that knows nothing of this tree.
set -euo pipefail
library=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "$*" >&2
  exit 1
}
unset PYTHONPATH "${!HERMETIC_LIBRARY@}"
source_dir=$HERMETIC_SOURCE_DIR
mkdir "$scratch/one" "$scratch/two" "$scratch/elsewhere"
wheel=$("$source_dir/bindings/python/build_wheel" "$library" "$scratch/one")
[[ ${wheel##*/} == hermetic-*-py3-none-linux_"$(uname -m)".whl ]] || fail "another name: $wheel"
again=$("$source_dir/bindings/python/build_wheel" "$library" "$scratch/two")
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
