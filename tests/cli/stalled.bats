#!/usr/bin/env bats
# Readers that take nothing: a run with a limit ends all the same. Each of these would hang without end.
# shellcheck disable=SC2016 # the inner shells expand it

bats_require_minimum_version 1.5.0

setup() {
  # The command does not see the pipe: it could write to it, and would be refused.
  mkdir "$BATS_TEST_TMPDIR/w"
  cd "$BATS_TEST_TMPDIR/w" || return
  mkfifo ../unread
  exec 9<>../unread
}

teardown() { exec 9>&-; }

# Ends with the exit code, and not because it hung.
ends_with() {
  local code=$1
  shift
  run -"$code" timeout -s KILL 60 "$@"
}

@test "evidence of a command whose output is not read" {
  ends_with 124 bash -c '"$HERMETIC_PROGRAM" run --quiet --timeout 300ms --evidence evidence -- yes >&9 2>&9'
  [[ -e evidence/manifest.json ]]
}

@test "standard error that is not read" {
  ends_with 124 bash -c 'head -c 65536 /dev/zero >&9; "$HERMETIC_PROGRAM" run --timeout 300ms -- sleep 60 2>&9'
}

@test "an outcome for standard output that is not read" {
  ends_with 125 bash -c 'head -c 65536 /dev/zero >&9; "$HERMETIC_PROGRAM" run --quiet --timeout 300ms --json - -- sleep 60 >&9'
}

@test "the same, of a run that was over before its limit" {
  ends_with 125 bash -c 'head -c 65536 /dev/zero >&9; "$HERMETIC_PROGRAM" run --quiet --timeout 1s --json - -- true >&9'
}

@test "events and samples for pipes that are not read" {
  head -c 65536 /dev/zero >&9
  for option in --events --samples; do
    ends_with 125 "$HERMETIC_PROGRAM" run --quiet --timeout 300ms $option ../unread --sample-every 1ms -- sleep 60
  done
}

@test "a terminal that is not read, of run and of shell" {
  for words in 'run --timeout 300ms' 'shell --timeout 300ms'; do
    ends_with 124 python3 -c 'import os,pty,subprocess,sys
controller,terminal=pty.openpty()
sys.exit(subprocess.run([os.environ["HERMETIC_PROGRAM"],*sys.argv[1].split(),"--","yes"],stdin=terminal,stdout=terminal,stderr=terminal).returncode)' "$words"
  done
}
