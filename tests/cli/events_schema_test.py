#!/usr/bin/python3
"""What `hermetic run --events` writes follows docs/reference/events.schema.json, and a broken line does not."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading

import jsonschema

SOURCE = pathlib.Path(os.environ.get("HERMETIC_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
PROGRAM = os.environ["HERMETIC_PROGRAM"]

# Words of `hermetic run`, the exit code, the kinds that come in that order, among others.
RUNS = [
    (["--", "true"], 0, ["started", "ended"]),
    (["--", "sh", "-c", "exit 3"], 3, ["started", "ended"]),
    (["--timeout", "300ms", "--", "sleep", "60"], 124, ["started", "stopping", "ended"]),
    (["--", "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/80"], 1, ["started", "network", "ended"]),
    (["--explain", "--", "cat", "/etc/shadow"], 1, ["started", "file", "ended"]),
    (["--temp", "t", "--file-size", "1K", "--", "dd", "if=/dev/zero", "of=t/large", "bs=2K", "count=1", "status=none"], 122,
     ["started", "limit", "ended"]),
    (["--allow-host", "127.0.0.1:{port}", "--", "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/{port}; echo 1 >&3; read -r <&3"],
     0, ["started", "network", "traffic", "ended"]),
]

PROCESS = {"executable": "/usr/bin/curl", "arguments": ["curl", "[redacted]"], "directory": "/w"}
# Each makes another line of a first one that is none; the schema must say so.
BREAKS = [
    {"version": 2}, {"surprise": 1}, {"seq": 0}, {"seq": 2}, {"kind": "vanished"}, {"verdict": "maybe"},
    {"act": None}, {"subject": 1}, {"amount": -1}, {"endpoint": {}}, {"endpoint": "192.0.2.1"},
    {"process": {"executable": "/x"}}, {"parents": [PROCESS]}, {"kind": "lost"}, {"volatile": {}}, {"volatile": None},
]
# And these another one that is.
CHANGES = [
    {"kind": "lost", "amount": 3}, {"process": PROCESS, "parents": [PROCESS]}, {"kind": "network", "verdict": "deny"},
    {"endpoint": {"family": "inet", "protocol": "tcp", "address": "192.0.2.1", "port": 443, "name": ""}},
]


def is_subsequence(few, many):
    rest = iter(many)
    return all(one in rest for one in few)


def serve(server):
    """Gives back to everybody what they send."""
    while True:
        client, _ = server.accept()
        with client:
            client.sendall(client.recv(100))


def main():
    schema = json.loads((SOURCE / "docs/reference/events.schema.json").read_text())
    validator_class = jsonschema.validators.validator_for(schema)
    validator_class.check_schema(schema)
    validator = validator_class(schema)
    problems = []
    good = None
    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=[server], daemon=True).start()
    with tempfile.TemporaryDirectory() as scratch:
        for words, code, kinds in RUNS:
            words = [word.replace("{port}", str(server.getsockname()[1])) for word in words]
            done = subprocess.run([PROGRAM, "run", "--quiet", "--events", "events.jsonl", *words], cwd=scratch,
                                  capture_output=True, text=True, check=False)
            if done.returncode != code:
                problems.append(f"{words}: exit code {done.returncode}: {done.stderr}")
                continue
            lines = [json.loads(line) for line in pathlib.Path(scratch, "events.jsonl").read_text().splitlines()]
            good = good or lines[0]
            for line in lines:
                problems += [f"{words}: {error.json_path}: {error.message}" for error in validator.iter_errors(line)]
            if [line["seq"] for line in lines] != list(range(1, len(lines) + 1)):
                problems.append(f"{words}: the lines are not numbered one by one")
            if not is_subsequence(kinds, [line["kind"] for line in lines]):
                problems.append(f"{words}: {[line['kind'] for line in lines]}")
    if good:
        problems += [f"the schema accepts {change}" for change in BREAKS if validator.is_valid({**good, **change})]
        problems += [f"the schema refuses {change}" for change in CHANGES if not validator.is_valid({**good, **change})]
    else:
        problems.append("no line was written")
    for problem in problems:
        print(problem)
    print(f"{len(RUNS)} runs, {len(BREAKS)} broken lines, {len(problems)} problems")
    return 1 if problems else 0


sys.exit(main())
