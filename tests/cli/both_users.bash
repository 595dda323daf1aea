# What is done as whoever calls and, if that is root, as nobody once more. For files of tests that say, in setup_file(),
# `begin_both COMMAND...` with what fills a cache.

nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent)
nobody_can() { ((EUID == 0)) && "${nobody[@]}" test -x "$HERMETIC_PROGRAM"; }
load sanitizers
# Comes before every command that is the user's.
# shellcheck disable=SC2034 # for those who load this
prefix=()

# Each user has a cache. Making an environment takes seconds: both at once.
begin_both() {
  export HERMETIC_CACHE=$BATS_FILE_TMPDIR/cache
  chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" 2>/dev/null || true
  "$@" --scratch "$BATS_FILE_TMPDIR/scratch" -- true &
  local first=$!
  if nobody_can; then
    mkdir "$BATS_FILE_TMPDIR/nobody"
    chown 65534:65534 "$BATS_FILE_TMPDIR/nobody"
    "${nobody[@]}" HERMETIC_CACHE="$BATS_FILE_TMPDIR/nobody/cache" "$@" --scratch "$BATS_FILE_TMPDIR/nobody/scratch" -- true
  fi
  wait "$first"
}

# Does it in the present folder, and as nobody in one of its own, in which make_place makes what is needed there.
as_both() {
  "$1"
  ((EUID == 0)) || return 0
  if ! nobody_can; then
    [ "${HERMETIC_MUST_WORK-}" != 1 ] || return 1
    skip "nobody may not execute $HERMETIC_PROGRAM; as the caller it has passed"
  fi
  # shellcheck disable=SC2034 # as above
  prefix=("${nobody[@]}")
  mkdir "$BATS_TEST_TMPDIR/nobody"
  cd "$BATS_TEST_TMPDIR/nobody" || return
  chown 65534:65534 .
  export HERMETIC_CACHE=$BATS_FILE_TMPDIR/nobody/cache
  make_place
  "$1"
}
