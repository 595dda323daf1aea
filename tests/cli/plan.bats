#!/usr/bin/env bats
# hermetic plan as people and programs read it.

bats_require_minimum_version 1.5.0

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
  run -0 script --quiet --return --command "$HERMETIC_PROGRAM plan --spec hermetic.yaml" /dev/null
  [[ $output == *"$escape"* && $output == *sources* ]]
  run -0 script --quiet --return --command "$HERMETIC_PROGRAM plan --spec hermetic.yaml --color never" /dev/null
  [[ $output != *"${escape}3"* ]]
}
