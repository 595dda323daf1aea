#!/bin/bash
# can_fail.sh PROGRAM: makes the attempts of the escape tests without any sandbox and fails if a test
# passes all the same. In namespaces of their own, because some of the attempts then succeed.
set -euo pipefail

if ((EUID != 0)); then
  echo 'a plain user may not do outside what most of the attempts do'
  exit 77
fi

# Tests that show that a run goes well whatever the command does: there is nothing that the sandbox
# keeps from happening.
only_robust='Escape\.(DescriptorBomb|PidReuse)|Published.*\.(NonUtf8AndNewlineNames|.*(Many|Sparse|Deeper).*)'
only_robust+='|FileWayOut\.NonUtf8NameOfAnInput'
# What the kernel at hand may lack, so that it says no by itself; capabilities that a container's root may lack, and
# devices that its /dev may.
only_here='SystemCallWayOut\.IsClosed/(init_module|kexec_load|ioperm|AF_ALG|.*vsock|l2tp|smc|smc_by_protocol|x32)'
only_here+='|MountWayOut\.RaiseOfMaxUserNamespaces|Escape\.DevicesOfTheHost'

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2016 # the inner shell expands it
HERMETIC_ESCAPE=open timeout -s KILL 120 unshare --mount --pid --fork --kill-child --mount-proc --net --ipc --uts \
  sh -c 'ip link set lo up && exec "$0"' "$1" >"$log" 2>&1 || true

grep -q '^\[==========\].* ran\.' "$log" || { tail -n 20 "$log" >&2; exit 1; }
passed=$(grep -E '^\[       OK \]' "$log" | grep -vE "($only_robust|$only_here)" || true)
failed=$(grep -cE '^\[  FAILED  \].* ms\)$' "$log" || true)
echo "$failed attempts succeed without a sandbox, as they should"
if [[ -n $passed ]]; then
  echo "these tests pass without a sandbox: $passed" >&2
  exit 1
fi
