#!/bin/bash
# as_plain_user.sh PROGRAM [ARGUMENT]...: runs a test program as nobody, from a directory that nobody
# may use. Skips if we are a plain user already: then the program was run as one anyway.
set -euo pipefail

if ((EUID != 0)); then
  echo 'already a plain user'
  exit 77
fi
cd /var/tmp
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if ! "${nobody[@]}" test -x "$1"; then
  echo "nobody may not execute $1: the directories above it are closed" >&2
  [[ ${HERMETIC_MUST_WORK-} != 1 ]] && exit 77
  exit 1
fi
# What the program writes down goes where only we may make a file.
for argument in "$@"; do
  if [[ $argument == --gtest_output=xml:* ]]; then
    install -m 644 -o 65534 -g 65534 /dev/null "${argument#*xml:}"
  fi
done
exec "${nobody[@]}" env HOME=/nonexistent "$@"
