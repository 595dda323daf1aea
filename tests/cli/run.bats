#!/usr/bin/env bats
# hermetic run as its users see it: exit codes, streams, messages, outputs. What a command can and
# cannot do inside is tested by tests/sandbox.

bats_require_minimum_version 1.5.0

setup() {
  mkdir "$BATS_TEST_TMPDIR/w"
  cd "$BATS_TEST_TMPDIR/w" || return
}

hermetic() { "$HERMETIC_PROGRAM" "$@"; }

# The folders in which outputs were prepared and that no living run holds.
staged() {
  local folder
  for folder in "/var/tmp/.hermetic-$UID-"* "/tmp/.hermetic-$UID-"*; do
    if [ -d "$folder" ] && flock --shared --nonblock "$folder" true; then echo "$folder"; fi
  done
}
# Other runs come and go meanwhile, and make theirs before they lock them.
nothing_is_left_since() { # what staged said before
  for ((i = 0; i < 100; ++i)); do
    [ -n "$(comm -13 <(echo "$1") <(staged))" ] || return 0
    sleep 0.05
  done
  return 1
}

is_ready() { # the command has said so
  for ((i = 0; i < 200; ++i)); do
    [ ! -s ready ] || return 0
    sleep 0.05
  done
  return 1
}

@test "the exit code is that of the command" {
  hermetic run -- true
  run -42 hermetic run -- sh -c 'exit 42'
  [ "$output" = "" ]
}

@test "a signal is 128 and its number, and is told" {
  run -139 hermetic run -- sh -c 'kill -SEGV $$'
  [[ $output == *"signal 11"* ]]
  run -143 hermetic run --quiet -- sh -c 'kill -TERM $$'
  [ "$output" = "" ]
}

@test "a command that is not there is 127, one that cannot be executed 126" {
  run -127 hermetic run -- no-such-command
  [[ $output == *"'no-such-command' is not there inside the sandbox"* ]]
  run -127 hermetic run -- /no/such/command
  echo 'not a program' >file
  run -126 hermetic run -- ./file
  [[ $output == *"'./file' cannot be executed"* ]]
  run -126 hermetic run -- /usr
}

@test "a run that takes too long is 124" {
  run -124 hermetic run --timeout 300ms -- sleep 1000
  [[ $output == *"after 300ms, its limit of wall time"* ]]
  run -124 hermetic run --timeout 300ms -- sh -c 'trap "" TERM; while :; do sleep 1; done'
  run -124 hermetic run --timeout 300ms -- sh -c 'kill -STOP $$'
}

@test "a violation is 123 and publishes nothing if the spec says so, and the command's own code goes first" {
  # shellcheck disable=SC2016 # expanded inside
  local script='echo text >out/file; (exec 3<>/dev/tcp/127.0.0.1/9) 2>/dev/null; exit $1'
  mkdir out
  run -123 hermetic run --on-violation fail --output out -- bash -c "$script" bash 0
  [[ $output == *'connect 127.0.0.1:9/tcp'* ]]
  [ ! -e out/file ]
  run -7 hermetic run --quiet --on-violation fail --output out -- bash -c "$script" bash 7
  run -123 hermetic run --quiet --on-violation kill --output out -- bash -c "$script; sleep 1000" bash 0
  run -0 hermetic run --quiet --on-violation report --output out -- bash -c "$script" bash 0
  [ "$(cat out/file)" = text ]
}

@test "a spec that cannot be meant is refused before anything runs" {
  run hermetic run --input "$PWD/nothing" -- touch ran
  [ "$status" -eq 125 ] || [ "$status" -eq 2 ]
  [[ $output == *"$PWD/nothing"* ]]
  run hermetic run --no-such-option -- true
  [ "$status" -ne 0 ]
  [[ $output == *--no-such-option* ]]
}

@test "standard streams pass through" {
  [ "$(echo in | hermetic run -- cat)" = in ]
  [ "$(hermetic run -- sh -c 'echo out; echo err >&2' 2>/dev/null)" = out ]
  [ "$(hermetic run -- sh -c 'echo out; echo err >&2' 2>&1 >/dev/null)" = err ]
  [ "$(hermetic run -- wc -c </dev/null)" = 0 ]
}

@test "closed streams are no obstacle" {
  hermetic run -- true <&-
  hermetic run -- true >&-
  hermetic run -- true 2>&-
  hermetic run -- true <&- >&- 2>&-
}

# What hermetic opens while they are closed gets their numbers.
@test "instead of a closed stream the command has /dev/null" {
  [ "$(hermetic run -- readlink /proc/self/fd/0 <&-)" = /dev/null ]
  # shellcheck disable=SC2016  # for the shell inside
  hermetic run --output out -- sh -c 'list=$(for i in 0 1 2; do readlink /proc/$$/fd/$i; done); echo "$list" >out/streams' <&- >&- 2>&-
  [ "$(cat out/streams)" = "$(printf '/dev/null\n/dev/null\n/dev/null')" ]
}

@test "256 MB go through a pipe unchanged" {
  sum=$(hermetic run -- sh -c 'yes hermetic | head -c 268435456' | sha256sum)
  [ "$sum" = "$(yes hermetic | head -c 268435456 | sha256sum)" ]
}

@test "a reader that goes away ends the command" {
  [ "$(timeout 20 "$HERMETIC_PROGRAM" run --quiet -- yes | head -n 1)" = y ]
}

@test "words after -- are the command's, whatever they look like" {
  mkdir bin
  printf '#!/bin/sh\necho "$@"\n' >bin/--network
  chmod +x bin/--network
  run -0 hermetic run --input "$PWD/bin" --env PATH="$PWD/bin:/usr/bin:/bin" -- --network --json -- host
  [ "$output" = '--json -- host' ]
  run -127 hermetic run -- --dir / true
  [[ $output == *"--dir"* ]]
}

@test "without a spec the current directory can be read and nothing else be seen" {
  echo content >file
  echo secret >../secret
  [ "$(hermetic run -- cat file)" = content ]
  run hermetic run -- cat ../secret
  [[ $output == *"No such file"* ]]
  run hermetic run -- sh -c 'echo x >file'
  [ "$status" -ne 0 ]
  [ "$(cat file)" = content ]
}

@test "the environment is exact" {
  export HERMETIC_TEST_SECRET=secret PASSED=1
  run -0 hermetic run --env A=1 --pass-env PASSED -- env
  [[ $output == *A=1* ]]
  [[ $output == *PASSED=1* ]]
  [[ $output != *secret* ]]
}

@test "inherited descriptors stay outside" {
  exec 9</etc/passwd
  run -0 hermetic run -- sh -c 'ls /proc/self/fd | tr "\n" " "'
  exec 9<&-
  [ "$output" = "0 1 2 3 " ]
}

@test "an output is published when the run succeeds, and only then" {
  before=$(staged)
  mkdir out
  echo old >out/old
  run -1 hermetic run --output out -- sh -c 'echo new >out/new; exit 1'
  [ "$(ls out)" = old ]
  hermetic run --output out -- sh -c 'ls out; echo new >out/new'
  [ "$(ls out)" = new ]
  hermetic run --output-file made/deep/file -- sh -c 'echo x >made/deep/file'
  [ "$(cat made/deep/file)" = x ]
  nothing_is_left_since "$before"
}

@test "the outputs of a failed run can be kept" {
  run -3 hermetic run --output out --keep-failed kept -- sh -c 'echo x >out/x; exit 3'
  [ ! -e out ]
  [ "$(find kept -name x -exec cat {} +)" = x ]
}

@test "what must not leave is refused and named" {
  run hermetic run --output out -- mkfifo out/fifo
  [ "$status" -ne 0 ]
  [[ $output == *"out/fifo' is a device, fifo or socket"* ]]
  [ ! -e out ]
}

@test "an exception is hidden" {
  mkdir secret
  echo secret >secret/key
  run hermetic run --input "$PWD" --except "$PWD/secret" -- cat secret/key
  [ "$status" -ne 0 ]
  [[ $output != *$'\n'secret* ]]
  [[ $output == *denied* || $output == *"No such file"* ]]
}

@test "the outcome is written as JSON" {
  run -0 hermetic run --output out --json outcome.json -- sh -c 'echo x >out/x'
  run -0 python3 - <<'EOF'
import json
outcome = json.load(open("outcome.json"))
assert outcome["hermetic"] is True, outcome
assert outcome["ending"] == "exited" and outcome["exit_code"] == 0, outcome
(published,) = outcome["outputs"]
assert published["path"].endswith("/out") and published["digest"].startswith("sha256:"), published
EOF
  run -124 hermetic run --timeout 200ms --json outcome.json -- sleep 1000
  run -0 python3 -c 'import json; assert json.load(open("outcome.json"))["ending"] == "timed_out"'
  run -137 hermetic run --json outcome.json -- sh -c 'kill -KILL $$'
  run -0 python3 -c 'import json; o = json.load(open("outcome.json")); assert (o["ending"], o["signal"]) == ("signaled", 9), o'
}

@test "a dry run runs nothing" {
  hermetic run --dry-run --output out -- touch out/ran
  [ ! -e out ]
}

# The program itself in the background, not the function: $! must be hermetic. bats waits for whoever
# holds its descriptor 3.
@test "signals are forwarded to the command" {
  "$HERMETIC_PROGRAM" run --quiet -- \
    sh -c 'trap "exit 77" TERM; echo ready; while :; do sleep 0.1; done' >ready 3>&- &
  pid=$!
  is_ready
  kill -TERM "$pid"
  status=0
  wait "$pid" || status=$?
  [ "$status" -eq 77 ]
}

@test "nothing survives when hermetic is killed" {
  marker=1000.${$}1
  "$HERMETIC_PROGRAM" run -- \
    sh -c "setsid sleep $marker & trap '' TERM HUP; echo ready; sleep $marker" >ready 3>&- &
  pid=$!
  is_ready
  kill -KILL "$pid"
  left=1
  for ((i = 0; i < 100 && left > 0; ++i)); do
    sleep 0.05
    left=$(pgrep -fc "sleep $marker" || true)
  done
  [ "$left" -eq 0 ]
}

@test "a tree below another directory needs no place on the host" {
  mkdir src
  echo x >src/file
  hermetic run --input "$PWD/src" --output src/build -- sh -c 'cat src/file >src/build/copy' 2>/dev/null ||
    hermetic run --input "$PWD/src" --except "$PWD/src/build" --output src/build -- \
      sh -c "cat $PWD/src/file >$PWD/src/build/copy"
  [ "$(cat src/build/copy)" = x ]
}

@test "a limit that is not there yet is refused by name" {
  run hermetic run --memory 64M -- true
  if [ "$status" -ne 0 ]; then
    [[ $output == *memory-limit* ]]
  fi
}

@test "where user namespaces are off, the remedy is named" {
  run unshare --user --map-root-user sh -c "echo 0 >/proc/sys/user/max_user_namespaces; exec '$HERMETIC_PROGRAM' run --dir / -- true"
  [ "$status" -eq 125 ]
  [[ $output == *'limit of namespaces is reached'*'user.max_user_namespaces'* ]]
}

@test "in a container, a run works or names the clause that it lacks" {
  contain() { unshare --user --map-root-user --mount --pid --fork --mount-proc sh -c "$1"; }
  contain "exec '$HERMETIC_PROGRAM' run --dir / -- true"
  run contain "mount --bind /dev/null /proc/version; exec '$HERMETIC_PROGRAM' run --dir / -- true"
  [ "$status" -eq 125 ]
  [[ $output == *'mounting proc'*'hint: own-process-tree cannot be had here'* ]]
}

@test "a sandbox in a sandbox works or names what it lacks" {
  run hermetic run --input "$HERMETIC_PROGRAM" --dir / -- "$HERMETIC_PROGRAM" run --dir / -- true
  [ "$status" -ne 0 ]
  [[ $output == *namespaces* ]]
  [[ $output == *hint* ]]
}

@test "a limit that is exceeded is named, with its value, and what to change" {
  run -122 hermetic run --cpu-time 200ms --give-up cpu-time-limit -- sh -c 'while :; do :; done'
  [[ $output == *'cpu_time came to '*', its limit is 200.0 ms'* ]]
  [[ $output == *'--cpu-time'* ]]
  run -124 hermetic run --idle-time 200ms -- sleep 60
  [[ $output == *'neither written nor computed for 200ms'* ]]
}

@test "usage is told on request, and written ten times a second" {
  run -0 hermetic run --usage -- true
  [[ $output == *'CPU time'*'peak memory'*'started'* ]]
  run -0 hermetic run --by-process --usage --sample-every 20ms -- sleep 0.3
  [[ $output == *sleep* ]]
  hermetic run --samples samples.jsonl -- sleep 0.5
  [ "$(wc -l <samples.jsonl)" -ge 2 ]
  run -3 hermetic run --usage -- sh -c 'exit 3'
  # Not where the command could lead them astray, and not lost silently.
  run -2 hermetic run --output out --samples out/x -- true
  run -125 hermetic run --samples /no/such/directory/x -- true
  [[ $output == *"cannot write '/no/such/directory/x'"*'nothing was run'* ]]
  run -125 hermetic run --samples /dev/full --sample-every 20ms -- sleep 0.3
  [[ $output == *'cannot write the samples'* ]]
  # The outcome is told all the same, and who does not read holds nobody up.
  run -125 hermetic run --samples /dev/full --sample-every 20ms --json outcome.json -- sleep 0.3
  [ -s outcome.json ]
  mkfifo ../fifo
  run -125 timeout 30 "$HERMETIC_PROGRAM" run --samples ../fifo -- true
  exec 9<>../fifo
  run -125 timeout 30 "$HERMETIC_PROGRAM" run --samples ../fifo --sample-every 1ms --timeout 2s -- sleep 60
  exec 9>&-
}

@test "a run with limits that is interrupted leaves no process and no control group" {
  for signal in INT TERM; do
    rm -f ready
    hermetic run --output out --memory 400M --give-up memory-limit -- sh -c 'echo x; exec sleep 4711.25' >ready &
    is_ready
    # Of the program, not of the function around it.
    local program
    program=$(pgrep --parent $! || echo $!)
    kill -"$signal" "$program"
    wait $! || true
    [ -z "$(find /sys/fs/cgroup -maxdepth 5 -name "hermetic-$UID-$program-*" 2>/dev/null)" ]
    [ ! -e out ]
  done
}
