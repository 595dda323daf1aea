#!/usr/bin/env bats
# hermetic gate learn, which proposes exceptions, and hermetic gate simulate, which tries a policy on the past.

# shellcheck disable=SC2030,SC2031 # each test is a shell of its own

bats_require_minimum_version 1.5.0
load network_world

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
  [[ $output == *'--- a/policy.yml'*'+    allow:'*'# by /usr/bin/python3'*'server.py'*"- {listen: $port, owner: TODO, reason: TODO, expires: TODO}"* ]]
  [[ $output != *'step honest'* ]]
  # It lies outside of the current directory: where to apply it is said.
  [[ $output == *"git -C '$BATS_TEST_TMPDIR' apply"* ]]
  printf '%s\n' "$output" >change
  git -C "$BATS_TEST_TMPDIR" apply "$PWD/change"
  run -2 gate --policy "$policy" --out ../out
  [[ $output == *"policy.yml:"*"'TODO' is not a day"* ]]
  sed -i 's/expires: TODO/expires: 2999-01-31/' "$policy"
  gate --policy "$policy" --out ../out
  run -0 --separate-stderr gate learn --policy "$policy"
  [ -z "$output" ]
}

# A policy of one version, with two steps that fetch a page, in the current directory.
write_fetching_policy() {
  mkdir -p ci
  cat >"ci/a policy.yml" <<EOF
schema_version: "$1"
hermetic_steps:
  - {id: flow, command: "/usr/bin/python3 fetch.py other.example.org"}
  # this comment stays
  - id: fetch
    command: /usr/bin/python3 fetch.py web.example.org
EOF
  echo 'import socket, sys, urllib.request
print(urllib.request.urlopen("http://%s:8080/" % sys.argv[1]).read())
own = socket.socket(); own.bind(("127.0.0.1", 8099)); own.listen(); socket.create_connection(("127.0.0.1", 8099))' >fetch.py
}

@test "learn names hosts with their ports; what it prints applies, then the steps pass and simulate agrees" {
  for user in $(world_users); do
    for version in 1 2; do
      make_user_folder "$user"
      write_fetching_policy "$version"
      gate_as() { in_world "$user" "$HERMETIC_PROGRAM" gate "$@" --policy 'ci/a policy.yml'; }
      run -1 gate_as --sha x --out out
      run -0 --separate-stderr gate_as learn --quiet
      [[ $output == *web.example.org:8080* && $output == *other.example.org:8080* ]]
      [[ $output != *loopback* && $output != *127.0.0.53* && $output != *192.0.2.* && $output != *198.18.* ]]
      printf '%s\n' "$output" | git -c safe.directory='*' apply
      grep -q 'this comment stays' 'ci/a policy.yml'
      if [ "$version" = 2 ]; then
        run -2 gate_as --sha x --out out
        sed -i 's/expires: TODO/expires: 2999-01-31/g' 'ci/a policy.yml'
      fi
      gate_as --sha x --out out
      grep -q 'page for web.example.org' out/logs/fetch/stdout.txt
      run -0 gate simulate --evidence out --policy 'ci/a policy.yml'
      [[ $output == *'0 of 2 past steps would fail'* ]]
      # Nothing more is needed; and a policy that has not the host fails what is past.
      run -0 --separate-stderr gate_as learn --quiet
      [ -z "$output" ]
      write_fetching_policy "$version"
      run -1 gate simulate --evidence out --policy 'ci/a policy.yml'
      [[ $output == *'it asked for the name web.example.org'*'2 of 2 past steps would fail'* ]]
      rm -rf out
    done
  done
}

@test "outbound_ports alone opens the port of every host, and no other" {
  for user in $(world_users); do
    make_user_folder "$user"
    cat >policy.yml <<'EOF'
schema_version: "1"
hermetic_steps:
  - id: by-name
    command: /usr/bin/python3 -c 'import urllib.request; urllib.request.urlopen("http://web.example.org:8080/")'
    allow: {outbound_ports: [8080]}
  - id: by-address
    command: /usr/bin/python3 -c 'import urllib.request; urllib.request.urlopen("http://192.0.2.7:8080/")'
    allow: {outbound_hosts: [], outbound_ports: [8080]}
EOF
    in_world "$user" "$HERMETIC_PROGRAM" gate --policy policy.yml --sha x --out out
    sed -i 's/_ports: .8080./_ports: [8081]/' policy.yml
    run -1 in_world "$user" "$HERMETIC_PROGRAM" gate --policy policy.yml --sha x --out out
    [[ $output == *'connect web.example.org:8080/tcp by python3'*'connect 192.0.2.7:8080/tcp by python3'* ]]
    grep -q '"host":"\*:8081"' out/report.json
  done
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
