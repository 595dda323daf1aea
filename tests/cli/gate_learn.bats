#!/usr/bin/env bats
# hermetic gate learn, which proposes exceptions, and hermetic gate simulate, which tries a policy on the past.

# shellcheck disable=SC2030,SC2031 # each test is a shell of its own

bats_require_minimum_version 1.5.0

setup() {
  mkdir -p "$BATS_TEST_TMPDIR/w"
  cd "$BATS_TEST_TMPDIR/w" || return
  unset GITHUB_ACTIONS GITHUB_SHA GITHUB_STEP_SUMMARY CI_COMMIT_SHA GITLAB_CI
  git init --quiet .
  git -c user.email=a@example.org -c user.name=a commit --quiet --allow-empty -m first
  policy=$BATS_TEST_TMPDIR/policy.yml
  port=$((30000 + BASHPID % 2000)) # learn shares the host's loopback
  echo "import socket
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(('127.0.0.1', $port)); s.listen()
for _ in range(3): socket.create_connection(('127.0.0.1', $port))" >server.py
}

# Steps in version 2; `allow` of the second is the argument.
write_policy() {
  cat >"$policy" <<EOF
schema_version: "2"
hermetic_steps:
  - id: honest
    command: "true"
  - id: server
    command: python3 server.py
${1-}
EOF
}

gate() { "$HERMETIC_PROGRAM" gate "$@"; }

@test "learn proposes what a step needs; it is refused until somebody answers for it" {
  write_policy
  run -0 --separate-stderr gate learn --policy "$policy"
  [[ $output == *'@@ step server ('*'policy.yml:5:5) @@'*'# by /usr/bin/python3'*'server.py'*"- {listen: $port, owner: TODO, reason: TODO, expires: TODO}"* ]]
  [[ $output != *honest* ]]
  write_policy "$(printf '%s\n' "$output" | sed -n 's/^+\( .*\)/\1/p')"
  run -2 gate --policy "$policy" --out ../out
  [[ $output == *"policy.yml:"*"'TODO' is not a day"* ]]
  sed -i 's/expires: TODO/expires: 2999-01-31/' "$policy"
  gate --policy "$policy" --out ../out
  run -0 --separate-stderr gate learn --policy "$policy"
  [[ $output != *@@* ]]
}

@test "learn leaves nothing, or the evidence where --out says" {
  write_policy
  mkdir ../temp
  TMPDIR=$BATS_TEST_TMPDIR/temp gate learn --policy "$policy" --quiet
  [ -z "$(ls -A ../temp)" ]
  gate learn --policy "$policy" --quiet --out ../kept
  grep -q "$port" ../kept/logs/server/listeners.json
}

@test "learn says that a step failed" {
  printf 'schema_version: "1"\nhermetic_steps: [{id: a, command: exit 3}]\n' >"$policy"
  run -1 gate learn --policy "$policy"
  [[ $output == *'not every step passed'* ]]
  run -2 gate learn --policy "$policy" --require enforced
  run -2 gate lern --policy "$policy"
}

@test "simulate says which past steps a changed policy would fail" {
  exception="    allow: {exceptions: [{listen: $port, owner: ops, reason: tests, expires: 2999-01-31}]}"
  write_policy "$exception"
  gate --policy "$policy" --out ../old
  gate simulate --evidence ../old --policy "$policy"
  write_policy
  run -1 gate simulate --evidence ../old --policy "$policy"
  [[ $output == *'old: honest: pass'*'old: server: fail'*"it listened on 127.0.0.1:$port/tcp"*'by /usr/bin/python3'*'of 2 past steps would fail'* ]]
  run -1 gate simulate --evidence ../old --evidence ../old --policy "$policy" --json
  python3 -c '
import json, sys
document = json.loads(sys.argv[1])
assert document["fails"] == 2, document
assert [step["verdict"] for step in document["steps"]] == ["pass", "fail"] * 2, document
assert any(breach["rule"] == "listener" for breach in document["steps"][1]["breaches"])' "$output"
  write_policy "${exception/2999/2001}"
  run -1 gate simulate --evidence ../old --policy "$policy"
  [[ $output == *'has expired on 2001-01-31'* ]]
  printf 'schema_version: "1"\nhermetic_steps: [{id: other, command: "true"}]\n' >"$policy"
  run -0 gate simulate --evidence ../old --policy "$policy"
  [[ $output == *'server: not in the policy'* ]]
}

@test "simulate refuses what is no evidence" {
  write_policy
  run -2 gate simulate --policy "$policy"
  run -2 gate simulate --evidence ../nowhere --policy "$policy"
  [[ $output == *'is no evidence of a gate'* ]]
  mkdir -p ../bad/logs/server
  echo '{' >../bad/logs/server/network.json
  run -2 gate simulate --evidence ../bad --policy "$policy"
  [[ $output == *'is not what a gate has written'* ]]
  run -2 gate --evidence ../bad --policy "$policy"
}
