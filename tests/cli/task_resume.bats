#!/usr/bin/env bats
# hermetic task batch: what was done is never lost, however it ends.

# shellcheck disable=SC2016,SC2030,SC2031,SC2119,SC2120,SC2154 # what is quoted is for inside; each test is a shell of its own

bats_require_minimum_version 1.5.0

load batches

only_what_differs() {
  for i in 1 2 3 4 5 6; do line "t$i" "echo $i"; done >tasks.jsonl
  cp tasks.jsonl whole
  batch
  values run_id >first
  sed -i '2s/echo 2/echo two/' tasks.jsonl
  batch
  values run_id >second
  [ "$(diff first second | grep -c '^>')" = 1 ]
  [ "$(cat "out/$(values folder | sed -n 2p)/stdout.txt")" = two ]
  # One more before them: each result goes with its task, and has its folder still.
  { line new 'echo new'; cat whole; } >tasks.jsonl
  batch
  [ "$(values number | tr '\n' ' ')" = '1 2 3 4 5 6 7 ' ]
  [ "$(values task_id | head -n 1)" = new ]
  values run_id | tail -n 6 | cmp - first
  [ "$(values folder | while read -r folder; do cat "out/$folder/stdout.txt"; done | tr '\n' ' ')" = 'new 1 2 3 4 5 6 ' ]
  # Two that are equal are two.
  cat whole whole >tasks.jsonl
  batch
  values run_id | head -n 6 | cmp - first
  [ "$(values run_id | sort -u | wc -l)" = 12 ]
  nothing_left
}
@test "of a changed file of tasks only what differs is done" { as_both only_what_differs; }

never_lost() {
  for i in 1 2 3 4 5 6; do line "t$i" "echo $i"; done >tasks.jsonl
  cp tasks.jsonl whole
  batch
  cp out/results.jsonl first
  head -n 3 whole >tasks.jsonl
  run -0 --separate-stderr batch
  [[ $stderr == *"earlier results that belong to no task of 'tasks.jsonl' as it is now are kept in '"*"/out/former.jsonl': 3"* ]]
  cmp out/results.jsonl <(head -n 3 first)
  cmp out/former.jsonl <(tail -n 3 first)
  for i in 4 5 6; do [ "$(cat "out/00000$i-t$i/stdout.txt")" = "$i" ]; done
  for i in 1 2; do line "other$i" "echo $i"; done >tasks.jsonl
  batch
  [ "$(wc -l <out/results.jsonl)" = 2 ]
  [ "$(wc -l <out/former.jsonl)" = 6 ]
  cp whole tasks.jsonl
  batch
  cmp out/results.jsonl first
  [ "$(wc -l <out/former.jsonl)" = 2 ]
}
@test "results of tasks that are not in the file any more are kept aside" { as_both never_lost; }

infra_alone() {
  { line a true; line b true '"sha": "later"'; line c true; line d true; } >tasks.jsonl
  run -125 batch
  values run_id >first
  run -125 batch
  values run_id | cmp - first
  git -C repo tag later
  batch
  [ "$(values failure | sort -u)" = none ]
  values run_id | sed 2d | cmp - <(sed 2d first)
  [ ! -e out/former.jsonl ]
}
@test "of what was done only that is tried again which could not be set up" { as_both infra_alone; }

not_ours() {
  { line a 'echo a'; line b true; } >tasks.jsonl
  batch
  cp out/results.jsonl good
  while read -r bad; do
    { head -n 1 good; echo "$bad"; } >out/results.jsonl
    cp out/results.jsonl before
    run -2 batch
    [[ $output == *"/out/results.jsonl:2:1: the line is no result of a batch"*'hint: name another folder with --out'* ]]
    cmp out/results.jsonl before
  done <<LINES
my own notes
{"digest": 5, "number": 2}
{}
[]
$(tail -n 1 good | sed 's/"digest":"[0-9a-f]*"/"digest":5/')
$(tail -n 1 good | sed 's/"number":2/"number":"2"/')
$(tail -n 1 good | sed 's/"number":2/"number":-2/')
$(tail -n 1 good | sed 's/"failure":"none"/"failure":"nothing"/')
$(tail -n 1 good | sed 's/"folder":"[^"]*"/"folder":"..\/x"/')
$(tail -n 1 good | sed 's/"task_id":"b"/"task_id":null/')
LINES
  printf 'no end' >out/results.jsonl
  run -2 batch
  [ "$(cat out/results.jsonl)" = 'no end' ]
  cp good out/results.jsonl
  echo mine >out/former.jsonl
  run -2 batch
  [[ $output == */out/former.jsonl:1:1:* ]]
  rm out/former.jsonl
  # Nor does it take away a folder that it did not make.
  rm -r out/results.jsonl out/000001-a
  mkdir out/000001-a
  echo mine >out/000001-a/notes
  batch
  [ "$(cat out/000001-a/notes)" = mine ]
  [ "$(cat out/000001-a-2/stdout.txt)" = a ]
}
@test "what is not of a batch stays as it is, and is named" { as_both not_ours; }

removed_folder() {
  { line a true; line b true; line c true; } >tasks.jsonl
  batch
  values run_id >first
  rm -r out/000001-a
  rm out/000002-b/manifest.json
  batch
  [ "$(values task_id | tr '\n' ' ')" = 'a b c ' ]
  [ "$(values run_id | grep -cxFf first)" = 1 ]
  values folder | while read -r folder; do [ -e "out/$folder/manifest.json" ]; done
  [ ! -e out/former.jsonl ]
  # Nor is what is kept aside, once it is gone.
  line a true >tasks.jsonl
  batch
  [ "$(wc -l <out/former.jsonl)" = 2 ]
  rm -r out/000003-c
  { line a true; line b true; line c true; } >tasks.jsonl
  batch
  [ "$(values run_id | grep -cxFf first)" = 0 ]
  [ -e "out/$(values folder | tail -n 1)/manifest.json" ]
}
@test "what somebody has removed is done again" { as_both removed_folder; }

no_last_newline() {
  { line a true; line b true; } >tasks.jsonl
  batch
  cp out/results.jsonl good
  truncate --size=-1 out/results.jsonl
  batch
  cmp out/results.jsonl good
  truncate --size=-2 out/results.jsonl # the control: half a line is no result
  batch
  [ "$(values run_id | head -n 1)" = "$(python3 -c 'import json; print(json.loads(open("good").readline())["run_id"])')" ]
  [ "$(wc -l <out/results.jsonl)" = 2 ]
  run ! cmp out/results.jsonl good
}
@test "a last result that is whole but for the end of its line is kept" { as_both no_last_newline; }

linked_results() {
  line a true >tasks.jsonl
  for name in results former; do
    mkdir out
    touch elsewhere
    ln -s ../elsewhere "out/$name.jsonl"
    run -2 batch
    [[ $output == *"/out/$name.jsonl' is a link"*'hint: name another folder with --out'* ]]
    [ ! -s elsewhere ]
    rm -r out
  done
}
@test "results that are a link are refused, and named" { as_both linked_results; }

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
    [ "$code" = $((128 + $(kill -l "$signal"))) ]
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
      [ "$code" = $((128 + $(kill -l "$signal"))) ]
      ((SECONDS <= 30))
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
  end_batch 143
  ((SECONDS <= 30))
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
