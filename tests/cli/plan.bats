#!/usr/bin/env bats
# hermetic plan as people and programs read it.

bats_require_minimum_version 1.5.0
load sanitizers

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  mkdir sources
  printf 'version: 1\ncommand: [true]\ninputs: [/usr, /bin, /lib, /lib64, %s]\n' "$PWD/sources" >hermetic.yaml
}

@test "the plan is JSON that follows its schema" {
  "$HERMETIC_PROGRAM" plan --spec hermetic.yaml --json >plan.json
  /usr/bin/python3 - plan.json "$HERMETIC_SOURCE_DIR/docs/reference/plan.schema.json" "$PWD/sources" <<'PYTHON'
import json, jsonschema, sys
plan, schema = (json.load(open(name)) for name in sys.argv[1:3])
jsonschema.validate(plan, schema)
assert any(entry["path"] == sys.argv[3] for entry in plan["view"]), plan["view"]
PYTHON
}

@test "colour is for terminals, unless somebody says otherwise" {
  local escape=$'\e['
  run -0 "$HERMETIC_PROGRAM" plan --spec hermetic.yaml
  [[ $output == *sources* && $output != *"$escape"* ]]
  run -0 "$HERMETIC_PROGRAM" plan --spec hermetic.yaml --color always
  [[ $output == *"$escape"* ]]
  run -0 env TERM=xterm script --quiet --return --command "'$HERMETIC_PROGRAM' plan --spec hermetic.yaml" /dev/null
  [[ $output == *"$escape"* && $output == *sources* ]]
  run -0 env TERM=xterm script --quiet --return --command "'$HERMETIC_PROGRAM' plan --spec hermetic.yaml --color never" /dev/null
  [[ $output != *"${escape}3"* ]]
}

# Whether somebody else watches is tried in a thread of its own, if a filter is around us.
@test "a user who has no process left is told what the host cannot do" {
  if has_sanitizer; then skip 'it looks for leaks in a process of its own'; fi
  run -0 python3 - "$HERMETIC_PROGRAM" plan -- true <<'PYTHON'
import ctypes
import os
import resource
import struct
import sys
libc = ctypes.CDLL(None)
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 1, ctypes.addressof(allow)))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
os.chdir("/")  # which everybody may read
os.execv(sys.argv[1], sys.argv[1:])
PYTHON
}
