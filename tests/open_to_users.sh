#!/bin/bash
# open_to_users.sh PROGRAM [ARGUMENT]...: runs a test, which may do things as a plain user. Where root's tree lies below a
# directory that other users may not enter, as /root is, the test gets a mount namespace in which that directory holds
# the tree and nothing else, at the same path, and may be entered. Nothing is left when the test ends.
set -euo pipefail
tree=${HERMETIC_SOURCE_DIR:-$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/..")}

# The first directory on the way to the tree that is closed to nobody.
closed_directory() {
  # shellcheck disable=SC2016 # for the inner shell
  setpriv --reuid=65534 --regid=65534 --clear-groups bash -c '
    IFS=/ place=
    for part in ${1#/}; do
      place+=/$part
      [[ -x $place ]] || { printf "%s" "$place"; break; }
    done' bash "$tree"
}

if ((EUID == 0)); then closed=$(closed_directory); else closed=; fi
# Where the tree itself is closed its files are too; and without namespaces the tests say what they could not do.
if [[ -z $closed || $closed == "$tree" ]] || ! unshare --mount true 2>/dev/null; then exec "$@"; fi
# shellcheck disable=SC2016 # for the inner shell
exec unshare --mount bash -euo pipefail -c '
  closed=$1 tree=$2 work=$PWD
  shift 2
  cd "$tree"
  mount -t tmpfs -o mode=755 none "$closed"
  (umask 022 && mkdir -p "$tree")
  mount --no-canonicalize --bind . "$tree" # what is covered now is still the current directory
  cd "$work"
  exec "$@"
' bash "$closed" "$tree" "$@"
