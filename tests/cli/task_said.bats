#!/usr/bin/env bats
# What hermetic task says besides its manifest, and what its folders say to others.

# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # what is quoted is for inside; each test is a shell of its own

bats_require_minimum_version 1.5.0

load batches

task() { hermetic task run --repo repo --task-id t "$@"; }
value() { /usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"; }

outcome_of_a_task() {
  local file
  for file in outcome.json -; do
    run -3 --separate-stderr task --json "$file" -- sh -c 'echo >new; exit 3'
    if [ "$file" = - ]; then printf '%s\n' "$output" >outcome.json; fi
    [ "$(value outcome.json ending)/$(value outcome.json exit_code)/$(value outcome.json hermetic)" = exited/3/True ]
  done
  "$BATS_TEST_DIRNAME/outcome_schema_test.py" outcome.json
  run -2 hermetic task selftest --repo repo --json x
  [[ $output == *"'hermetic task selftest' takes no --json"*"it is for 'hermetic task run'"* ]]
}
@test "the outcome of a task is written as that of a run is" { as_both outcome_of_a_task; }

# An interpreter that takes its time when an environment is made of it.
slow_python() { # SECONDS
  printf '#!/bin/sh\ncase $* in *venv*) sleep %s ;; esac\nexec /usr/bin/python3 "$@"\n' "$1" >slow
  chmod 755 slow
}

@test "what is made for later tasks is told every ten seconds" {
  slow_python "11.$RANDOM"
  task --python "$PWD/slow" -- true 2>said
  grep -qxE 'hermetic: making the Python environment, which is kept for later tasks: 1[0-9] s' said
  task --python "$PWD/slow" -- true 2>said # it is there
  [ ! -s said ]
  slow_python "11.$RANDOM"
  task --quiet --python "$PWD/slow" -- true 2>said
  [ ! -s said ]
}

making_on_a_terminal() {
  slow_python "3.$RANDOM"
  local command="${prefix[*]} '$HERMETIC_PROGRAM' task run --repo repo --task-id t --python '$PWD/slow' -- echo done"
  script --quiet --return --command "$command" said </dev/null >/dev/null
  grep -q $'\r\e\\[Khermetic: making the Python environment, which is kept for later tasks: [0-9]* s' said
  tr -d '\r' <said | grep -qx $'.*\e\\[Kdone' # nothing of it stays
}
@test "on a terminal what is made is told on one line, which is gone then" { as_both making_on_a_terminal; }

no_way_to_the_source() {
  local run place pid i
  mkfifo go
  chmod 777 repo # of a user who is not root, too
  hermetic task run --repo repo --task-id t --scratch repo/scratch -- \
    sh -c 'echo >"$HERMETIC_SCRATCH/ready"; exec cat' <go 3>&- &
  pid=$!
  exec 8>go
  for ((i = 0; i < 200; ++i)); do
    if compgen -G 'repo/scratch/t/*/scratch/upper/ready' >/dev/null; then break; fi
    sleep 0.05
  done
  run=$(echo repo/scratch/t/run_*)
  for place in "$run" "$run"/*/; do
    if git -C "$place" commit --quiet --allow-empty -m mine 2>said; then return 1; fi
    grep -q 'not a git repository' said
  done
  git -C repo status --porcelain --untracked-files=all >/dev/null # whoever works there is not in trouble
  exec 8>&-
  wait "$pid"
  [ "$(git -C repo log --format=%s)" = one ]
  git -C repo commit --quiet --allow-empty -m control
}
@test "no folder of a task leads git to the source" { as_both no_way_to_the_source; }
