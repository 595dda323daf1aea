#!/usr/bin/env bats
# hermetic task batch: what is stopped, killed or out of room loses nothing and leaves nothing.

# shellcheck disable=SC2016,SC2030,SC2031,SC2119,SC2120,SC2154 # what is quoted is for inside; each test is a shell of its own

bats_require_minimum_version 1.5.0

load batches

# Line 1 takes long, the others do not.
begin_slow_batch() {
  { line slow "sleep 984.$$"; for i in 2 3 4 5 6 7 8 9; do line "t$i" "echo $i"; done; } >tasks.jsonl
  begin_batch --jobs 2
  for _ in $(seq 400); do
    if [ "$(wc -l <out/results.jsonl)" = 8 ] 2>/dev/null; then return; fi
    sleep 0.05
  done
  return 1
}
# It goes on with line 1, which has become faster, and nothing else.
goes_on_with_the_slow_one() {
  [ "$(values task_id | sort | tr '\n' ' ')" = 't2 t3 t4 t5 t6 t7 t8 t9 ' ]
  values run_id | sort >before
  sed -i "1s/sleep 984.$$/echo 1/" tasks.jsonl
  batch
  [ "$(values number | tr '\n' ' ')" = '1 2 3 4 5 6 7 8 9 ' ]
  [ "$(values run_id | tail -n 8 | sort)" = "$(cat before)" ]
  [ "$(cat out/00000?-*/stdout.txt | tr '\n' ' ')" = '1 2 3 4 5 6 7 8 9 ' ]
  [ "$(find out -mindepth 1 -maxdepth 1 | wc -l)" = 10 ]
}

interrupted_late() {
  for signal in INT TERM; do
    begin_slow_batch
    kill "-$signal" "$pid"
    code=0
    wait "$pid" || code=$?
    [ "$code" = 125 ]
    nothing_left
    [ "$(values number | tr '\n' ' ')" = '2 3 4 5 6 7 8 9 ' ]
    goes_on_with_the_slow_one
    rm -r out
  done
  nothing_left
}
@test "who interrupts a batch loses nothing that was done" { as_both interrupted_late; }

killed_late() {
  begin_slow_batch
  if [ ${#prefix[@]} -gt 0 ]; then
    # setpriv and env have become the program.
    [[ $(readlink "/proc/$pid/exe") == *hermetic ]]
  fi
  kill -KILL "$pid"
  wait "$pid" || true
  goes_on_with_the_slow_one
  for _ in $(seq 100); do
    if ! pgrep -f "^sleep 984.$$" >/dev/null; then break; fi
    sleep 0.05
  done
  run ! pgrep -f "^sleep 984.$$"
  nothing_left
}
@test "who kills a batch loses nothing that was done" { as_both killed_late; }

@test "on a full disk nothing is lost that was done, and the file is named" {
  ((EUID == 0)) || skip 'needs root, for a small disk'
  for i in $(seq 40); do line "t$i" "head -c 10000 /dev/zero"; done >tasks.jsonl
  mkdir out
  unshare --mount bash -euc '
    mount -t tmpfs -o size=300k none out
    code=0
    timeout 60 "$1" task batch tasks.jsonl --repo repo --out out --quiet --jobs 2 --retries 3 >said 2>&1 || code=$?
    echo "$code" >code
    cp -r out seen
    mount -o remount,size=10M out
    timeout 60 "$1" task batch tasks.jsonl --repo repo --out out --quiet --jobs 2
    cp -r out whole' bash "$HERMETIC_PROGRAM"
  [ "$(cat code)" = 125 ]
  python3 - <<'PYTHON'
import json
import os
seen = [json.loads(line) for line in open("seen/results.jsonl")]
whole = {line["number"]: line for line in map(json.loads, open("whole/results.jsonl"))}
done = [line for line in seen if line["failure"] == "none"]
assert 2 < len(done) < 40, len(done)
for line in seen:
    if line["failure"] == "infra":
        assert line["attempts"] == 1, "a command is run once"
        assert "No space left" in line["error"] and "/out/" in line["error"], line
said = open("said").read()
assert "cannot write '" in said and "/out/results.jsonl'" in said if "No space" in said else len(seen) == 40, said
for line in done:
    assert whole[line["number"]]["run_id"] == line["run_id"]
    assert os.path.getsize(f"seen/{line['folder']}/stdout.txt") == 10000
assert list(whole) == list(range(1, 41)) and {line["failure"] for line in whole.values()} == {"none"}
PYTHON
}

# An index that takes every connection and never answers.
@test "who interrupts a batch need not wait for an environment that is being made" {
  begin_server <<'SERVER'
import socket
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1])
kept = []
while True:
    kept.append(server.accept())
    open("asked", "w").close()
SERVER
  never_answers() {
    rm -f asked
    echo "nothing-$RANDOM==1.0" >lock
    { line a true; line b true; line c true; } >tasks.jsonl
    for signal in INT TERM; do
      rm -f "$BATS_TEST_TMPDIR/asked"
      begin_batch --jobs 2 --lockfile lock --index "http://127.0.0.1:$port/simple"
      for _ in $(seq 400); do
        if [ -e "$BATS_TEST_TMPDIR/asked" ]; then break; fi
        sleep 0.05
      done
      [ -e "$BATS_TEST_TMPDIR/asked" ]
      SECONDS=0
      kill "-$signal" "$pid"
      code=0
      wait "$pid" || code=$?
      [ "$code" = 125 ]
      ((SECONDS <= 5))
      [ ! -s out/results.jsonl ]
      [ -z "$(find "$HERMETIC_CACHE" -maxdepth 1 -name '*.making')" ]
      nothing_left
    done
  }
  as_both never_answers
  kill "$server"
}

locked_by_another() {
  line a true >tasks.jsonl
  batch
  rm -r out
  local lock
  lock=$(find "$HERMETIC_CACHE" -maxdepth 1 -name 'venv-*.lock' -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2) # just used
  "${prefix[@]}" flock --exclusive --no-fork "$lock" sleep 60 3>&- &
  local other=$!
  for _ in $(seq 100); do
    if ! flock --exclusive --nonblock "$lock" true; then break; fi
    sleep 0.05
  done
  begin_batch
  sleep 0.5
  SECONDS=0
  end_batch 125
  ((SECONDS <= 5))
  begin_batch # the control: it waits, and goes on
  sleep 0.5
  kill -0 "$pid"
  kill "$other"
  wait "$pid"
  wait "$other" || true
  [ "$(values failure)" = none ]
  nothing_left
}
@test "who interrupts a batch need not wait for another that makes the same environment" { as_both locked_by_another; }
