#!/usr/bin/env bats
# hermetic task batch: what is done again because other packages are wanted.

# shellcheck disable=SC2016,SC2030,SC2031,SC2119,SC2120,SC2154 # what is quoted is for inside; each test is a shell of its own

bats_require_minimum_version 1.5.0

load batches

@test "what a lockfile changes is done again" {
  plain_tasks
  echo '# nothing' >lock
  batch --lockfile lock -- true
  kept --lockfile lock -- true
  echo '# nothing more' >lock
  again --lockfile lock -- true
}

@test "a result is that of what its task was made of, whatever it was when the batch began" {
  { line a "sleep 3.$$"; line b true; } >tasks.jsonl
  echo '# one' >lock
  begin_batch --jobs 1 --lockfile lock
  for _ in $(seq 400); do
    if pgrep -f "^sleep 3.$$" >/dev/null; then break; fi
    sleep 0.05
  done
  echo '# two' >lock
  wait "$pid"
  values run_id >first
  echo '# one' >lock
  batch --lockfile lock
  [ "$(values run_id | head -n 1)" = "$(head -n 1 first)" ]
  [ "$(values run_id | tail -n 1)" != "$(tail -n 1 first)" ]
  # What was made of the other is there for who has the other.
  echo '# two' >lock
  line b true >tasks.jsonl
  batch --lockfile lock
  [ "$(values run_id)" = "$(tail -n 1 first)" ]
}

# The index puts the first lockfile back as soon as somebody asks for what the second one wants: who looks before and
# after sees the first.
@test "a result is that of what its task was made of, whoever puts it back" {
  make_index
  begin_server <<'SERVER'
import http.server
import os
class Index(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        open("lock.new", "w").write("# one\n")
        os.rename("lock.new", "lock")
        super().do_GET()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index)
print(server.server_port)
server.serve_forever()
SERVER
  { line a "sleep 2.$$"; line b 'python -m pip list'; } >tasks.jsonl
  echo '# one' >lock
  begin_batch --jobs 1 --lockfile lock --index "http://127.0.0.1:$port/simple"
  for _ in $(seq 400); do
    if pgrep -f "^sleep 2.$$" >/dev/null; then break; fi
    sleep 0.05
  done
  cp requirements.lock lock
  wait "$pid"
  [ "$(cat lock)" = '# one' ]
  batch --lockfile lock --index "http://127.0.0.1:$port/simple"
  kill "$server"
  local manifest
  manifest=out/$(values folder | tail -n 1)/manifest.json
  [ "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["lockfile_sha"])' "$manifest")" = \
    "$(sha256sum <lock | cut -d ' ' -f 1)" ]
}

@test "what a wheel changes that no hash pins is done again" {
  plain_tasks
  echo '# nothing' >lock
  mkdir wheels
  echo one >wheels/tiny
  batch --lockfile lock --wheels wheels -- true
  kept --lockfile lock --wheels wheels -- true
  echo two >wheels/tiny
  again --lockfile lock --wheels wheels -- true
}
