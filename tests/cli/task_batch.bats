#!/usr/bin/env bats
# hermetic task batch, snapshot, and packages of npm.

# shellcheck disable=SC2016,SC2030,SC2031,SC2119,SC2120,SC2154 # what is quoted is for inside; each test is a shell of its own

bats_require_minimum_version 1.5.0

load batches

in_order() {
  { line a 'sleep 0.3'; line b 'echo b'; line c 'exit 3'; } >tasks.jsonl
  run -1 batch --jobs 3
  [ "$(values task_id | tr '\n' ' ')" = 'a b c ' ]
  [ "$(values failure | tr '\n' ' ')" = 'none none command ' ]
  [ "$(values exit_code | tr '\n' ' ')" = '0 0 3 ' ]
  [ "$(values clean | sort -u)" = True ]
  [ "$(cat out/000002-b/stdout.txt)" = b ]
  [ "$(python3 -c 'import json; print(json.load(open("out/000002-b/manifest.json"))["task_id"])')" = b ]
  nothing_left
}
@test "results stand in the order of the tasks, whatever ends first" { as_both in_order; }

results_say_what_came_out() {
  {
    line say 'echo out; echo err >&2; echo new >new; exit 3'
    line again 'echo out; echo err >&2; echo new >new; exit 3'
    line output 'echo other; echo err >&2; echo new >new; exit 3'
    line error 'echo out; echo other >&2; echo new >new; exit 3'
    line code 'echo out; echo err >&2; echo new >new; exit 4'
    line change 'echo out; echo err >&2; echo other >new; exit 3'
    line work 'sleep 0.2; exec python -c \"x = bytearray(100000000)\"'
  } >tasks.jsonl
  run -1 batch --keep-changes changes # a name beside each result
  [ ! -e changes ]
  python3 - <<'PYTHON'
import hashlib
import json
import os
results = {line["task_id"]: line for line in map(json.loads, open("out/results.jsonl"))}
say = results["say"]
for key, file, text in (("stdout_sha256", "stdout.txt", b"out\n"), ("stderr_sha256", "stderr.txt", b"err\n")):
    assert open(f"out/000001-say/{file}", "rb").read() == text
    assert say[key] == hashlib.sha256(text).hexdigest(), say
assert results["output"]["stderr_sha256"] == say["stderr_sha256"]
assert results["error"]["stdout_sha256"] == say["stdout_sha256"]
# Equal results have equal hashes, whoever had them; and each part of a result counts.
assert results["again"]["result_hash"] == say["result_hash"]
assert results["again"]["stable_hash"] != say["stable_hash"]
assert len({line["result_hash"] for line in results.values()}) == 6, results
# What it used is its own, and not a number that is always there.
work, little = results["work"]["usage"], say["usage"]
assert work["wall_time_us"] >= 200_000 and work["user_time_us"] + work["system_time_us"] > 0, work
assert work["peak_memory_bytes"] >= 100_000_000 > little["peak_memory_bytes"] > 0, (work, little)
assert work["started_processes"] >= 2, work
# What each has changed is kept, and nothing else.
assert [line["changes"] for line in results.values()] == [1, 1, 1, 1, 1, 1, 0]
for folder, text in (("000001-say", "new\n"), ("000006-change", "other\n")):
    assert os.listdir(f"out/{folder}/changes") == ["new"]
    assert open(f"out/{folder}/changes/new").read() == text
assert os.listdir("out/000007-work/changes") == []
PYTHON
  rm -r out
  run -1 batch # the control: changes are kept for who asks
  [ ! -e out/000001-say/changes ]
  nothing_left
}
@test "a line of the results says what came out, what it used, and the changes are kept" { as_both results_say_what_came_out; }

@test "on a terminal a bar shows how far it is, how fast, and how long still" {
  for i in 1 2 3 4; do line "t$i" "sleep 0.2; exit $((i == 2))"; done >tasks.jsonl
  # The terminal is that of script(1), which writes down what is shown.
  SHELL=/bin/sh timeout 60 script --quiet --return --command \
    "'$HERMETIC_PROGRAM' task batch tasks.jsonl --repo repo --out out --jobs 1" shown >/dev/null </dev/null || [ $? = 1 ]
  python3 - <<'PYTHON'
import re
lines = re.sub(r"^Script .*\n?", "", open("shown", newline="", encoding="utf-8").read(), flags=re.MULTILINE)
*bars, last = lines.split("\r\x1b[K")[1:]
for done, text in enumerate(bars, 1):
    failed = "  1 failed" if done >= 2 else ""
    wanted = rf"\[{'█' * 6 * done}{'·' * (24 - 6 * done)}\] {done}/4  (\d+\.\d)/s  \d+s left{failed}"
    found = re.fullmatch(wanted, text)
    assert found and 0 < float(found[1]) <= 5, (wanted, text)
assert len(bars) == 3, bars
wanted = rf"\[{'█' * 24}\] 4/4  (\d+\.\d)/s  1 failed\r\n4 tasks: 4 done now, 0 before, 1 failed, 0 of them not the command's\r\n"
found = re.match(wanted, last)
assert found and 0 < float(found[1]) <= 5, (wanted, last)
PYTHON
  nothing_left
}

records_of_each() {
  { line a 'echo said; echo more >>file; cat /nowhere/at/all; true'; line b 'echo other'; } >tasks.jsonl
  hermetic key new key
  batch --keep-changes kept --evidence proof --events trail.jsonl --key key --prove
  for folder in 000001-a 000002-b; do
    hermetic verify-evidence --key key.pub "out/$folder/proof"
    cmp "out/$folder/stdout.txt" "out/$folder/proof/stdout.txt"
    grep -q '"kind":"ended"' "out/$folder/trail.jsonl"
  done
  grep -q /nowhere/at/all out/000001-a/trail.jsonl
  [ "$(cat out/000001-a/kept/file)" = "$(printf 'one\nmore')" ]
  [ "$(find out -name '.*' | wc -l)" = 0 ]
  [ "$(values clean | sort -u)" = True ]
  nothing_left
}
@test "each task of a batch leaves evidence, events and changes in its folder" { as_both records_of_each; }

@test "an option that could do nothing is refused by name, before anything runs" {
  line a 'touch ran' >tasks.jsonl
  refused() { # ACT OPTION: what is said
    run -2 hermetic task "$@" --repo repo
    [ "${#lines[@]}" = 2 ]
    [[ ${lines[1]} == '  hint: '* ]]
    [ ! -e out ]
  }
  refused batch tasks.jsonl --out out --manifest m
  [[ $output == *"'hermetic task batch' takes no --manifest"*manifest.json* ]]
  refused batch tasks.jsonl --out out --key k
  [[ $output == *'--key without --evidence'* ]]
  for option in --wheels --index; do
    refused batch tasks.jsonl --out out "$option" x
    [[ $output == *"$option without --lockfile"* ]]
    refused run --task-id a "$option" x
    [[ $output == *"$option without --lockfile"* ]]
  done
  refused batch tasks.jsonl --out out --npm-cache x
  [[ $output == *'--npm-cache without --node-lockfile'* ]]
  for option in --keep-changes --evidence --events; do
    for name in /tmp/x a/b ../x .x stdout.txt ''; do
      refused batch tasks.jsonl --out out "$option=$name"
      [[ $output == *"$option $name is no name that each task can have in its folder"* ]]
    done
  done
  refused batch tasks.jsonl --out out --events x --evidence x
  run -2 hermetic task batch tasks.jsonl --out out --evidence x --key tasks.jsonl --repo repo
  [ ! -e out ]
  for option in --manifest --metrics --evidence --key --keep-changes --scratch --out --jobs --retries; do
    refused snapshot name "$option" x
    [[ $output == *"'hermetic task snapshot' takes no $option"* ]]
  done
  for option in --evidence --key --events --keep-changes --out --jobs --retries; do
    refused selftest "$option" x
    [[ $output == *"'hermetic task selftest' takes no $option"* ]]
  done
  for option in --out --jobs --retries; do
    refused run --task-id a "$option" x
    [[ $output == *"'hermetic task run' takes no $option"* ]]
  done
}

@test "a snapshot tells its events, and proves what it is asked to" {
  hermetic task snapshot ready --repo repo --events trail.jsonl --prove -- sh -c 'cat /nowhere/at/all; true'
  grep -q /nowhere/at/all trail.jsonl
  nothing_left
}

why_it_failed() {
  {
    line time 'sleep 600' '"spec": {"limits": {"wall_time": "200ms"}}'
    line files 'exec yes >f' '"spec": {"limits": {"file_size": "1M"}}'
    line reach 'python -c \"import socket; socket.socket().connect_ex((socket.inet_ntoa(bytes([127, 0, 0, 1])), 9))\"' '"spec": {"on_violation": "fail"}'
    line signal 'kill -9 $$'
    line commit true '"sha": "none"'
  } >tasks.jsonl
  run -125 batch
  [ "$(values failure | tr '\n' ' ')" = 'timeout limit violation signal infra ' ]
  [ "$(values attempts | tail -n 1)" = 1 ] # what cannot be meant is not tried again
  [[ $(values error) == *'names no commit'* ]]
  # Whoever reads them need not ask which keys there are.
  [ "$(python3 -c 'import json
print(len({tuple(sorted(json.loads(line))) for line in open("out/results.jsonl")}))')" = 1 ]
  [ "$(values stable_hash | tail -n 1)/$(values folder | tail -n 1)/$(values error | head -n 1)" = None/None/None ]
  nothing_left
}
@test "why a task failed is told from what happened to it" { as_both why_it_failed; }

too_much_memory() {
  line memory 'python -c \"x = bytearray(400000000)\"' '"spec": {"limits": {"memory": "64M"}, "give_up": ["memory-limit"]}' >tasks.jsonl
  run -1 batch
  [ "$(values failure)" = oom ]
}
@test "a task that takes too much memory is told from one that is killed" { as_both too_much_memory; }

goes_on() {
  for i in 1 2 3 4 5 6; do line "t$i" "echo $i"; done >tasks.jsonl
  batch
  values run_id >before
  head -c -40 out/results.jsonl >shorter # in the middle of a line
  cat shorter >out/results.jsonl
  rm -r out/000006-t6
  batch
  [ "$(values number | tr '\n' ' ')" = '1 2 3 4 5 6 ' ]
  [ "$(values run_id | head -n 5)" = "$(head -n 5 before)" ]
  [ "$(values run_id | tail -n 1)" != "$(tail -n 1 before)" ]
  [ "$(cat out/000006-t6/stdout.txt)" = 6 ]
  line changed true >>tasks.jsonl # more work, the rest stays done
  batch
  [ "$(values run_id | head -n 5)" = "$(head -n 5 before)" ]
  [ "$(values task_id | tail -n 1)" = changed ]
}
@test "a batch goes on where it was stopped" { as_both goes_on; }

interrupted() {
  for i in 1 2 3 4; do line "t$i" "sleep 987.$$"; done >tasks.jsonl
  begin_batch
  for _ in $(seq 200); do
    if pgrep -f "^sleep 987.$$" >/dev/null; then break; fi
    sleep 0.05
  done
  end_batch 143
  [ ! -s out/results.jsonl ]
  run ! pgrep -f "^sleep 987.$$"
  nothing_left
}
@test "a batch that is interrupted ends its tasks and leaves nothing" { as_both interrupted; }

one_folder() {
  line slow "sleep 986.$$" >tasks.jsonl
  begin_batch
  for _ in $(seq 200); do
    if pgrep -f "^sleep 986.$$" >/dev/null; then break; fi
    sleep 0.05
  done
  run batch
  end_batch 143
  [ "$status" = 125 ]
  [[ $output == *'another batch works in'* ]]
}
@test "two batches do not work in one folder" { as_both one_folder; }

@test "bad lines are refused with their place, before anything runs" {
  line good 'touch ran' >tasks.jsonl
  cp tasks.jsonl one
  while read -r bad; do
    cat one >tasks.jsonl
    echo "$bad" >>tasks.jsonl
    run -2 batch
    [[ $output == *'tasks.jsonl:2:1: '* ]]
    [ ! -e out/results.jsonl ]
  done <<'LINES'
nonsense
[1]
{"task_id": "x"}
{"command": ["true"]}
{"task_id": "../x", "command": ["true"]}
{"task_id": "x", "command": "true"}
{"task_id": "x", "command": ["true"], "seed": -1}
{"task_id": "x", "command": ["true"], "sead": 1}
{"task_id": "x", "command": ["true"], "spec": {"limits": {"memroy": "1G"}}}
{"task_id": "x", "task_id": "y", "command": ["true"]}
{"task_id": "x", "command": ["true"], "spec": {"environment": {"set": {"A": "1", "A": "2"}}}}
{"task_id": "x", "command": ["true"], "spec": {"version": 9}}
{"task_id": "x", "command": ["true"], "spec": {"targets": {"a": {"command": ["true"]}}}}
{"task_id": "x", "command": ["echo", 1]}
{"task_id": "x", "command": ["echo", null]}
{"task_id": "x", "command": ["echo", "\u0000"]}
{"task_id": "x", "spec": {"command": ["echo", true]}}
{"task_id": "x", "command": []}
LINES
  : >tasks.jsonl
  run -2 batch
  run -2 hermetic task batch tasks.jsonl --repo repo
}

any_letters() {
  cat >tasks.jsonl <<'LINES'
{"task_id": "a", "command": ["printf", "%s.", "\u2028", "\u0085", "\u007f", "\ufeff", "\ud83d\ude00", "\u0001", "\t\\u0041"]}
{"task_id": "b", "spec": {"version": 1, "environment": {"set": {"A": "\u2028\ud83d\ude00"}}, "command": ["sh", "-c", "printf %s \"$A\""]}}
{"task_id": "c"}
LINES
  batch -- printf $'\xff' # of the caller, who is not bound to JSON
  [ "$(cat out/000001-a/stdout.txt)" = $'\u2028.\u0085.\u007f.\ufeff.\U0001f600.\u0001.\t\\u0041.' ]
  [ "$(cat out/000002-b/stdout.txt)" = $'\u2028\U0001f600' ]
  [ "$(cat out/000003-c/stdout.txt)" = $'\xff' ]
}
@test "the words of a command can have any letters" { as_both any_letters; }

what_is_missing() {
  { line a true; echo; line b true '"spec": {"inputs": ["/no/such/input"]}'; line c true '"lockfile": "no.lock"'
    line d true '"config": "no.yaml"'; line e true '"repo": "/no/repo"'
    line f true '"spec": {"limits": {"disk_read_rate": "1"}}'; line g true; } >tasks.jsonl
  run -125 batch --retries 5
  [ "$(values number | tr '\n' ' ')" = '1 3 4 5 6 7 8 ' ]
  [ "$(values failure | sed -n 2,5p | sort -u)" = infra ]
  [ "$(values attempts | sort -u)" = 1 ] # nothing of it would get better
  [[ $(values error) == *"tasks.jsonl:3:1: "*/no/such/input*"'no.lock'"*"'no.yaml'"*/no/repo* ]]
  line a true >tasks.jsonl
  run -125 hermetic task batch tasks.jsonl --out other --repo no-repo
  [[ $output == *'could not be set up: 1 of 1 tasks, the first because '*no-repo* ]]
}
@test "what is missing is named with its line, and is not tried again" { as_both what_is_missing; }

metrics_of_all() {
  { line a true; line b true; } >tasks.jsonl
  batch --metrics first.json
  batch --metrics second.json
  cmp first.json second.json
  grep -q '"runs": 2' first.json
  line c true >>tasks.jsonl
  batch --metrics first.json
  grep -q '"runs": 3' first.json
}
@test "metrics are those of all results, whenever they were made" { as_both metrics_of_all; }

prepared_once() {
  hermetic task snapshot ready --repo repo -- sh -euc 'echo built >artifact; rm file; mkdir /task/venv/more; echo s >/task/scratch/s'
  for _ in 1 2; do
    hermetic task run --repo repo --task-id fork --from ready --manifest m.json -- \
      sh -euc 'test "$(cat artifact)" = built; test ! -e file; test -d /task/venv/more; test "$(cat /task/scratch/s)" = s; rm artifact'
  done
  [ "$(python3 -c 'import json; print([(c["change"], c["path"]) for c in json.load(open("m.json"))["changes"]])')" = \
    "[('removed', 'artifact')]" ]
  run -3 hermetic task snapshot broken --repo repo -- sh -c 'exit 3'
  run -2 hermetic task run --repo repo --task-id fork --from broken -- true
  git -C repo commit --quiet --allow-empty -m two
  run -2 hermetic task run --repo repo --task-id fork --from ready -- true
  [[ $output == *'was made with another commit'* ]]
  nothing_left
}
@test "any number of tasks start from what was prepared once" { as_both prepared_once; }

snapshots_differ() {
  for text in one two; do
    hermetic task snapshot ready --repo repo -- sh -c "echo $text >artifact"
    hermetic task run --repo repo --task-id fork --from ready --manifest "$text.json" -- true
  done
  hermetic task snapshot ready --repo repo -- sh -c 'echo two >artifact'
  hermetic task run --repo repo --task-id fork --from ready --manifest again.json -- true
  hash_of() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["stable_hash"])' "$1"; }
  [ "$(hash_of one.json)" != "$(hash_of two.json)" ]
  [ "$(hash_of two.json)" = "$(hash_of again.json)" ] # made again, and the same
}
@test "snapshots that differ make other tasks of those who start from them" { as_both snapshots_differ; }

tried_again() {
  touch no_folder
  line a true >tasks.jsonl
  run -125 batch --scratch no_folder/x --retries 2
  [ "$(values attempts)" = 3 ]
  [ "$(values failure)" = infra ]
  rm -r out
  line a 'exit 1' >tasks.jsonl
  run -1 batch --retries 2
  [ "$(values attempts)" = 1 ]
}
@test "only what could not be set up is tried again" { as_both tried_again; }

# A file of the source is a pipe at first: git, which makes the checkout, waits for us to open it, and can do nothing with
# it. It looks at a file that it cannot use a few times, so what it wants is put there when it has looked more often.
tried_until_it_works() {
  echo "mended $BASHPID $RANDOM" >repo/mended # no commit that was checked out before
  git -C repo add .
  git -C repo commit --quiet -m mended
  local object
  object=$(git -C repo rev-parse HEAD:mended)
  object=repo/.git/objects/${object:0:2}/${object:2}
  mv "$object" object
  mkfifo -m 644 pipe
  ln pipe "$object"
  { line a 'cat mended'; line b 'exit 1'; } >tasks.jsonl
  begin_batch --jobs 1 --retries 1000
  timeout 50 bash -c '
    trap "" PIPE
    for _ in {1..30}; do
      exec 5>"$1"                                      # somebody looks
      while echo >&5; do sleep 0.01; done 2>/dev/null # until nobody does
      exec 5>&-
    done' bash pipe
  exec 5<>pipe # who waits already waits no longer
  mv -f object "$object"
  local code=0
  wait "$pid" || code=$?
  exec 5>&-
  [ "$code" = 1 ] # of the command that failed
  [ "$(values failure | tr '\n' ' ')" = 'none command ' ]
  [ "$(cat out/000001-a/stdout.txt)" = "$(cat repo/mended)" ]
  [ "$(values attempts | head -n 1)" -gt 1 ]
  [ "$(values attempts | tail -n 1)" = 1 ]
  nothing_left
}
@test "what could not be set up at first is tried until it works, and counted" { as_both tried_until_it_works; }

@test "packages come from an index, which is all that can be reached then" {
  make_index
  begin_server <<'SERVER'
import http.server
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
print(server.server_port)
server.serve_forever()
SERVER
  run hermetic task run --repo repo --task-id i --lockfile requirements.lock --index "http://127.0.0.1:$port/simple" -- \
    python -c 'import tiny; print(tiny.value)'
  kill "$server"
  [ "$output" = 42 ]
  run -2 hermetic task run --repo repo --task-id i --lockfile requirements.lock --index "ftp://127.0.0.1/" -- true
  run -2 hermetic task run --repo repo --task-id i --lockfile requirements.lock --index "https://u:p@127.0.0.1/" -- true
}

sparse() {
  mkdir -p repo/wanted/sub repo/other
  touch repo/wanted/sub/a repo/other/b repo/top
  git -C repo add .
  git -C repo commit --quiet -m more
  run -0 hermetic task run --repo repo --task-id s --sparse wanted/sub -- sh -c 'git ls-files | sort | tr "\n" " "; find . -name .git -prune -o -type f -print | sort | tr "\n" " "; git status --short'
  [ "$output" = 'file other/b top wanted/sub/a ./file ./top ./wanted/sub/a ' ]
  run -2 hermetic task run --repo repo --task-id s --sparse ../x -- true
  for name in nosuch top wanted/no; do
    run -2 hermetic task run --repo repo --task-id s --sparse wanted --sparse "$name" -- true
    [[ $output == *"'$name' is no directory of the commit"* ]]
  done
  for order in 'wanted other' 'other wanted' 'other/ wanted other'; do
    # shellcheck disable=SC2046,SC2086 # words
    hermetic task run --repo repo --task-id s --manifest m.json $(printf -- '--sparse %s ' $order) -- true
    python3 -c 'import json; print(json.load(open("m.json"))["stable_hash"])'
  done | uniq >hashes
  [ "$(wc -l <hashes)" = 1 ]
  run -0 hermetic task run --repo repo --task-id s -- test -e other/b
}
@test "a checkout can be sparse" { as_both sparse; }

leaves_evidence() {
  hermetic task run --repo repo --task-id e --evidence evidence -- sh -c 'echo said; echo more >>file'
  hermetic verify-evidence evidence
  [ "$(cat evidence/stdout.txt)" = said ]
  nothing_left
  # Another run of it, elsewhere, with a cache of its own: what is said to be the same is.
  mkdir elsewhere
  git clone --quiet repo elsewhere/repo
  [ -z "${prefix[*]}" ] || chown -R 65534:65534 elsewhere
  "${prefix[@]}" cp -a "$HERMETIC_CACHE" elsewhere/cache
  HERMETIC_CACHE=$PWD/elsewhere/cache hermetic task run --repo elsewhere/repo --scratch elsewhere/scratch --task-id e \
    --evidence again --manifest m.json -- sh -c 'echo said; echo more >>file'
  for file in manifest.json inputs.json report.sarif attestations.intoto.jsonl; do
    cmp "evidence/$file" "again/$file"
  done
  hermetic diff evidence again
  python3 - "$(git -C repo rev-parse HEAD)" <<'PYTHON'
import json, sys
stable, rest, task = (json.load(open(name)) for name in ("again/manifest.json", "again/volatile.json", "m.json"))
assert stable["task"]["repo_sha"] == sys.argv[1] and stable["task"]["venv_hash"] == task["venv_hash"]
assert rest["task"] == {"run_id": task["run_id"], "stable_hash": task["stable_hash"]}, rest["task"]
PYTHON
  hermetic task run --repo repo --task-id other --evidence other -- sh -c 'echo said; echo more >>file'
  run -1 hermetic diff evidence other
  [[ $output == *'the task is another'* ]]
}
@test "a task leaves evidence that holds" { as_both leaves_evidence; }

# A package that exports a text, in source/; what uses it comes to package/.
make_package() { # text
  command -v npm >/dev/null || skip 'no npm'
  export npm_config_cache=$PWD/own # a home is not everybody's
  mkdir package source
  echo '{"name": "dep", "version": "1.0.0", "main": "main.js"}' >source/package.json
  echo "module.exports = '$1'" >source/main.js
}

@test "packages of npm are there, and are what the lockfile says" {
  make_package 'from dep'
  (cd source && npm pack --silent --pack-destination ../package >/dev/null)
  echo '{"name": "app", "version": "1.0.0", "dependencies": {"dep": "file:dep-1.0.0.tgz"}}' >package/package.json
  (cd package && npm install --package-lock-only --offline --no-audit --no-fund --silent --cache "$PWD/../npm")
  run -0 hermetic task run --repo repo --task-id node --node-lockfile package/package-lock.json -- node -e 'console.log(require("dep"))'
  [ "$output" = 'from dep' ]
  # What npm would prefer to the lockfile, and settings of its own, under another key.
  echo '{"name": "app", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": {"name": "app"}}}' >package/npm-shrinkwrap.json
  echo 'dry-run=true' >package/.npmrc
  echo >>package/package.json
  run -0 hermetic task run --repo repo --task-id node --node-lockfile package/package-lock.json -- node -e 'console.log(require("dep"))'
  [ "$output" = 'from dep' ]
  echo 'module.exports = "another"' >source/main.js
  (cd source && npm pack --silent --pack-destination ../package >/dev/null)
  run -0 hermetic task run --repo repo --task-id node --node-lockfile package/package-lock.json -- node -e 'console.log(require("dep"))'
  [ "$output" = 'from dep' ]
  sed -i 's/"version": "1.0.0",$/"version": "1.0.0", /' package/package-lock.json # the same, under another key
  run -125 hermetic task run --repo repo --task-id node --node-lockfile package/package-lock.json -- true
  [[ $output == *EINTEGRITY* ]]
  nothing_left
}

@test "packages of npm come from its cache, offline" {
  make_package 'from the cache'
  (cd source && npm pack --silent >/dev/null)
  npm cache add "$PWD/source/dep-1.0.0.tgz" --offline --silent --cache "$PWD/npm"
  echo '{"name": "app", "version": "1.0.0", "dependencies": {"dep": "1.0.0"}}' >package/package.json
  python3 - <<'PYTHON'
import base64, hashlib, json
digest = base64.b64encode(hashlib.sha512(open("source/dep-1.0.0.tgz", "rb").read()).digest()).decode()
root = json.load(open("package/package.json"))
# As if it had come from a registry, which nobody can reach.
dep = {"version": "1.0.0", "resolved": "https://packages.example.org/dep-1.0.0.tgz", "integrity": "sha512-" + digest}
lock = {"name": "app", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": root, "node_modules/dep": dep}}
json.dump(lock, open("package/package-lock.json", "w"))
PYTHON
  digest_of_cache() { (cd npm && find . -printf '%p %s %T@\n' | sort | sha256sum); }
  before=$(digest_of_cache)
  node=(hermetic task run --repo repo --task-id node --node-lockfile package/package-lock.json)
  run -125 "${node[@]}" -- true # the control: it is nowhere else
  [[ $output == *ENOTCACHED* ]]
  run -0 "${node[@]}" --npm-cache npm -- node -e 'console.log(require("dep"))'
  [ "$output" = 'from the cache' ]
  [ "$(digest_of_cache)" = "$before" ]
  nothing_left
}

few_threads() {
  for i in $(seq 80); do line "t$i" true; done >tasks.jsonl
  (ulimit -v 400000 && batch --jobs 4096)
  [ "$(values failure | sort | uniq -c | tr -s ' ')" = ' 80 none' ]
  nothing_left
}
@test "where no more threads can be had, a batch goes on with those that there are" {
  if has_sanitizer; then skip 'it needs more memory than that to start'; fi
  as_both few_threads
}

no_process_left() {
  line a true >tasks.jsonl
  local code=0
  "${prefix[@]}" prlimit --nproc=1 "$HERMETIC_PROGRAM" task batch tasks.jsonl --repo repo --out out --quiet || code=$?
  [ "$code" = 125 ] || ((EUID == 0 && ${#prefix[@]} == 0 && code == 0)) # no such limit holds for root
  nothing_left
}
@test "where the user has no process left, a batch says so and leaves nothing" {
  if has_sanitizer; then skip 'it looks for leaks in a process of its own'; fi
  as_both no_process_left
}

no_files() {
  line a true >tasks.jsonl
  mkfifo pipe
  local option file
  for option in --lockfile --python --node-lockfile; do
    for file in /dev/zero pipe /; do
      run -125 timeout --kill-after=1 20 "${prefix[@]}" "$HERMETIC_PROGRAM" task batch tasks.jsonl --repo repo --out out "$option" "$file"
      [[ $output == *' is not a file'* ]]
    done
  done
  nothing_left
}
@test "what is no file is named, and not waited for" { as_both no_files; }

denied_by_default() {
  local reach='python -c \"import socket; socket.socket().connect_ex((socket.inet_ntoa(bytes([127, 0, 0, 1])), 9))\"'
  { line none true; line tried "$reach"; line failed "$reach; exit 3"
    line reported "$reach" '"spec": {"on_violation": "report"}'; } >tasks.jsonl
  run -1 hermetic task batch tasks.jsonl --repo repo --out out
  [ "$(values failure | tr '\n' ' ')" = 'none violation violation none ' ]
  [ "$(values exit_code | tr '\n' ' ')" = '0 123 3 0 ' ]
  [ "$(values hermetic | tr '\n' ' ')" = 'True False False False ' ]
  [[ $output == *'4 tasks: 4 done now, 0 before, 2 failed, 0 of them not the command'* ]]
  [[ $output == *"3 of 4 tasks tried what is not allowed: 'violations' and the manifests say which"* ]]
  run -1 hermetic task batch tasks.jsonl --repo repo --out out # of an earlier one, too
  [[ $output == *'3 of 4 tasks tried what is not allowed'* ]]
  run -1 hermetic task batch tasks.jsonl --repo repo --out other --on-violation report
  [[ $output == *'4 tasks: 4 done now, 0 before, 1 failed'* ]] # with an exit code of its own
}
@test "what a task of a batch tries and may not is its failure, unless it is said otherwise" { as_both denied_by_default; }

what_an_interrupt_says() {
  { line quick true; line slow "sleep 985.$$"; } >tasks.jsonl
  "${prefix[@]}" "$HERMETIC_PROGRAM" task batch tasks.jsonl --repo repo --out out --jobs 1 >said 2>&1 3>&- &
  pid=$!
  for _ in $(seq 200); do
    if pgrep -f "^sleep 985.$$" >/dev/null; then break; fi
    sleep 0.05
  done
  code=0
  kill -INT "$pid"
  wait "$pid" || code=$?
  [ "$code" = 130 ]
  grep -qxF "hermetic: stopped: 1 of 2 tasks are done and kept in 'out'; what was under way is not" said
  grep -qxF '  hint: the same command goes on from there' said
  run ! grep -q 'Interrupted' said
  [ "$(values task_id)" = quick ]
  { line quick true; line slow true; } >tasks.jsonl
  run -0 hermetic task batch tasks.jsonl --repo repo --out out
  [[ $output == *'2 tasks: 1 done now, 1 before, 0 failed'* ]]
}
@test "an interrupted batch says what is kept and how to go on" { as_both what_an_interrupt_says; }

lacking_submodules() {
  local name
  for name in one two; do
    git -C repo update-index --add --cacheinfo "160000,$(git -C repo rev-parse HEAD),$name"
    git -C repo config -f .gitmodules "submodule.$name.path" "$name"
  done
  git -C repo add .gitmodules
  git -C repo commit --quiet -m submodules
  { line a true; line b true; } >tasks.jsonl
  run -0 --separate-stderr hermetic task batch tasks.jsonl --repo repo --out out --jobs 2
  [[ $stderr == *'hermetic: submodules that the repository lacks are empty: one, two'*'hint: git -C repo submodule update --init'* ]]
  [ "$(values submodules_missing | sort -u)" = "['one', 'two']" ]
}
@test "a batch says which submodules are missing, once" { as_both lacking_submodules; }
