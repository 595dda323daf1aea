#!/usr/bin/env bats
# A storm of denied connections, every one of them an event: ./check --long.

bats_require_minimum_version 1.5.0

setup() {
  chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" 2>/dev/null || true
  cd "$BATS_TEST_TMPDIR" || return
  cat >storm.py <<'PYTHON'
import os
import socket

for number in range(50):
    if os.fork() == 0:
        for _ in range(2000):
            with socket.socket() as client:
                try:
                    client.connect(("127.0.0.1", 1000 + number))
                except OSError:
                    pass
        os._exit(0)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
PYTHON
  cat >watch.py <<'PYTHON'
import collections
import json
import os
import subprocess
import sys
import time

folder = sys.argv[2]
run = subprocess.Popen([sys.argv[1], "run", "--quiet", "--input", folder, "--dir", "/", "--events", "events.jsonl",
                        "--json", "outcome.json", "--", "python3", folder + "/storm.py"])
most = 0
while run.poll() is None:
    try:
        most = max(most, len(os.listdir(f"/proc/{run.pid}/fd")))
    except OSError:
        pass
    time.sleep(0.05)
assert run.returncode == 0, run.returncode
# Those of the run itself, and some for each process that is known: what a call leaves would be left 100,000 times.
assert 0 < most < 250, most

seen = collections.Counter()
expected = 1
with open("events.jsonl") as events:
    for line in map(json.loads, events):
        assert line["seq"] == expected, (line, expected)
        expected += 1
        assert line["kind"] != "lost", line
        if line["act"] == "connect":
            assert line["verdict"] == "deny" and len(line["parents"]) == 1, line
            seen[line["subject"]] += 1
    assert line["kind"] == "ended", line
assert seen == {f"127.0.0.1:{1000 + number}/tcp": 2000 for number in range(50)}, seen
violations = json.load(open("outcome.json"))["violations"]
assert sum(violation["count"] for violation in violations) == 100000, violations

for process in os.listdir("/proc"):
    if process.isdigit():
        try:
            words = open(f"/proc/{process}/cmdline", "rb").read()
        except OSError:
            continue
        assert folder.encode() + b"/storm.py" not in words, words
PYTHON
}

@test "100,000 denied connections of 50 processes are 100,000 events, as root or whoever calls" {
  mkdir here
  cd here
  python3 ../watch.py "$HERMETIC_PROGRAM" "$BATS_TEST_TMPDIR"
}

@test "100,000 denied connections of 50 processes are 100,000 events, as nobody" {
  ((EUID == 0)) || skip 'the caller is a plain user already'
  mkdir there
  chown 65534:65534 there
  cd there
  setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent python3 ../watch.py "$HERMETIC_PROGRAM" "$BATS_TEST_TMPDIR"
}
