#!/usr/bin/env bats
# The audit trail as its users see it: hermetic run --events and --syslog. What a line holds is tested by
# events_schema_test.py, what is struck out by unit/record.

bats_require_minimum_version 1.5.0

setup() {
  mkdir "$BATS_TEST_TMPDIR/w"
  cd "$BATS_TEST_TMPDIR/w" || return
}

hermetic() { "$HERMETIC_PROGRAM" "$@"; }

kinds() { sed 's/.*"kind":"\([a-z]*\)".*/\1/' "$1"; }

without_volatile() { sed 's/"volatile":.*//' "$1"; }

@test "a run starts and ends, and the exit code is the command's" {
  run -3 hermetic run --events events.jsonl -- sh -c 'echo out; exit 3'
  [ "$output" = out ]
  [ "$(kinds events.jsonl | head -n 1)" = started ] || [ "$(kinds events.jsonl | head -n 1)" = coverage ]
  kinds events.jsonl | grep -qx started
  [ "$(kinds events.jsonl | tail -n 1)" = ended ]
  [[ $(head -n 1 events.jsonl) == '{"version":1,"seq":1,'* ]]
}

@test "a shell writes events, too" {
  run -3 hermetic shell --events events.jsonl -- sh -c 'exit 3'
  kinds events.jsonl | grep -qx started
  kinds events.jsonl | grep -qx process
  [ "$(kinds events.jsonl | tail -n 1)" = ended ]
}

@test "a run that is ended by a limit says so" {
  run -124 hermetic run --quiet --events events.jsonl --timeout 300ms -- sleep 1000
  kinds events.jsonl | grep -qx stopping
  [ "$(kinds events.jsonl | tail -n 1)" = ended ]
}

@test "the same run writes the same but for what is volatile" {
  hermetic run --events first.jsonl -- true
  hermetic run --events second.jsonl -- true
  run ! cmp -s first.jsonl second.jsonl
  diff <(without_volatile first.jsonl) <(without_volatile second.jsonl)
}

@test "the file is for its owner, and is emptied first" {
  hermetic run --events events.jsonl -- true
  [ "$(stat -c %a events.jsonl)" = 600 ]
  before=$(wc -l <events.jsonl)
  hermetic run --events events.jsonl -- true
  [ "$(wc -l <events.jsonl)" -eq "$before" ]
}

@test "a place where it could be led astray is refused before anything runs" {
  run -2 hermetic run --output out --events out/events.jsonl -- touch ran
  [[ $output == *'--events'*'lies inside the output'* ]]
  echo precious >file
  ln -s file link
  run -125 hermetic run --output-file ran --events link -- touch ran
  [[ $output == *"cannot write the events to 'link'"*'symbolic link'* ]]
  [ "$(cat file)" = precious ]
  run -125 hermetic run --output-file ran --events /no/such/directory/x -- touch ran
  [ ! -e ran ]
  hermetic run --output-file ran --events events.jsonl -- touch ran
  [ -e ran ]
}

@test "- is standard output, which --json does not share" {
  run -0 --separate-stderr hermetic run --events - -- true
  [[ ${lines[0]} == '{"version":1,'* ]]
  # shellcheck disable=SC2154  # run sets it
  [ "$stderr" = "" ]
  run -2 hermetic run --events - --json - -- true
  [[ $output == *'--events and --json'* ]]
}

@test "events that are lost are told, with the code that the run had" {
  run -125 hermetic run --output-file out --events /dev/full --json outcome.json -- sh -c 'echo 1 >out; exit 0'
  [[ $output == *"cannot write all events to '/dev/full'"*'are lost: No space left on device'* ]]
  [[ $output == *'ended with exit code 0'* ]]
  [ "$(cat out)" = 1 ]
  grep -q '"exit_code": 0' outcome.json
  run -125 hermetic run --events /dev/full -- sh -c 'exit 7'
  [[ $output == *'ended with exit code 7'* ]]
}

@test "a pipe is written to, and one without a reader holds nobody up" {
  mkfifo fifo
  run -125 timeout 30 "$HERMETIC_PROGRAM" run --events fifo -- true
  [[ $output == *"cannot write the events to 'fifo'"* ]]
  # Open for both sides, it has a reader at once.
  exec 9<>fifo
  timeout 30 "$HERMETIC_PROGRAM" run --events fifo -- true
  while read -r -t 10 line <&9; do
    echo "$line" >>received
    [[ $line != *'"kind":"ended"'* ]] || break
  done
  exec 9>&-
  [ "$(kinds received | tail -n 1)" = ended ]
}

@test "a run whose system has no log is refused if it is to be written" {
  [ ! -e /dev/log ] && [ ! -e /run/systemd/journal/socket ] || skip "there is a log, which is not for tests"
  run -125 hermetic run --output-file ran --syslog -- touch ran
  [[ $output == *"cannot reach the system's log"* ]]
  [ ! -e ran ]
}

@test "secrets of the caller and of the command are struck out" {
  # A word that an event is sure to hold.
  run -124 hermetic run --quiet --events events.jsonl --timeout 300ms -- sleep 1000
  grep -q '"detail":"wall_time"' events.jsonl
  DEMO_SECRET=wall_time HERMETIC_DEBUG=1 run -124 hermetic run --quiet --events events.jsonl --timeout 300ms -- sleep 1000
  [[ $output == *'stopping'*'[redacted:DEMO_SECRET]'* ]]
  [[ $output != *wall_time* ]]
  grep -q '"detail":"\[redacted:DEMO_SECRET\]"' events.jsonl
  run -124 hermetic run --quiet --events events.jsonl --env DEMO_KEY=wall_time --timeout 300ms -- sleep 1000
  grep -q '"detail":"\[redacted:DEMO_KEY\]"' events.jsonl
}

@test "a secret that is sent as a name is struck out of what people are told, too" {
  run hermetic run --env DEMO_KEY=verysecretword -- python3 -c 'import socket
try: socket.getaddrinfo("verysecretword.example.org", 80)
except OSError: pass'
  [[ $output == *'resolve [redacted:DEMO_KEY].example.org'* ]]
  [[ $output != *verysecretword.* ]]
}
