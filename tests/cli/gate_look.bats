#!/usr/bin/env bats
# What people look at when a gate is through: the terminal, the summary, the reports; time limits; other programs.

# shellcheck disable=SC2016,SC2030,SC2031 # what is quoted is for inside; each test is a shell of its own

bats_require_minimum_version 1.5.0

setup() {
  mkdir -p "$BATS_TEST_TMPDIR/w"
  cd "$BATS_TEST_TMPDIR/w" || return
  unset GITHUB_ACTIONS GITHUB_SHA GITHUB_STEP_SUMMARY CI_COMMIT_SHA GITLAB_CI GITHUB_SERVER_URL GITHUB_REPOSITORY \
    GITHUB_RUN_ID CI_PROJECT_URL CI_JOB_URL BUILD_URL
  git init --quiet .
  git -c user.email=a@example.org -c user.name=a commit --quiet --allow-empty -m first
}

# An empty network is around it all.
in_empty_network() {
  if [ "$(id -u)" = 0 ]; then unshare --net -- "$@"; else unshare --user --map-current-user --net -- "$@"; fi
}
gate() { in_empty_network "$HERMETIC_PROGRAM" gate --policy policy.yml --out ../out "$@"; }

# Steps in version 1, of which the second reaches for an address and the third fails.
write_policy() {
  cat >send.py <<'EOF'
import socket
try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("192.0.2.5", 9))
except OSError: pass
EOF
  cat >policy.yml <<'EOF'
schema_version: "1"
hermetic_steps:
  - {id: first, command: "true"}
  - {id: tell, command: /usr/bin/python3 send.py}
  - {id: lint, command: "echo compiling; printf 'a.c:3: \\033[31merror\\033[0m: ::error::x\\n' >&2; exit 3"}
EOF
}

@test "lists show the first breach itself, failed steps first and their last lines" {
  write_policy
  run -1 gate
  # The line of the step, and below it what is known.
  [[ $output == *'✗ tell '*'connect 192.0.2.5:9/udp by python3'*'✗ lint '*'the command ended with exit code 3'* ]]
  [[ $output == *'✗ tell: connect 192.0.2.5:9/udp by python3'*'to allow it: allow: {outbound_hosts: ["192.0.2.5:9"]}'* ]]
  [[ $output == *'✗ lint: the command ended with exit code 3'*'  | compiling'*'  | a.c:3: error: ::error::x'* ]]
  [[ $output != *'what the policy does not allow'* ]]
  # The reports; the steps that failed come first.
  python3 - ../out <<'EOF'
import json, pathlib, re, sys
out = pathlib.Path(sys.argv[1])
markdown = (out / "report.md").read_text()
rows = re.findall(r"^\| `(\w+)` \| . (\w+) \| ([^|]+) \| (.*) \|$", markdown, re.M)
assert [row[0] for row in rows] == ["tell", "lint", "first"], rows
assert rows[0][3].startswith("connect 192.0.2.5\\:9/udp by python3"), rows
assert all(re.fullmatch(r"\d+ ms|[\d.]+ s", row[2]) for row in rows), rows
assert "\na.c:3: error: ::error::x\n" in markdown
assert "| `192.0.2.5:9/udp` | denied | 1 | python3" in markdown
page = (out / "report.html").read_text()
assert page.index('id="step-2"') < page.index('id="step-1"')
assert 'outbound_hosts: [&quot;192.0.2.5:9&quot;]}</code> <button class="copy"' in page
junit = (out / "junit.xml").read_text()
assert re.search(r'name="lint" time="\d+\.\d\d\d"', junit), junit
assert "connect 192.0.2.5:9/udp by python3" in junit and "a.c:3: error: ::error::x</failure>" in junit
report = json.loads((out / "report.json").read_text())
tell, lint = report["steps"][1], report["steps"][2]
assert lint["result"] == {"ending": "exited with 3", "exit_code": 3, "signal": None}, lint
assert tell["result"]["exit_code"] == 0, tell
assert tell["breaches"][0]["brief"].startswith("connect 192.0.2.5:9/udp by python3"), tell
assert tell["breaches"][0]["remedy"] == 'allow: {outbound_hosts: ["192.0.2.5:9"]}', tell
EOF
}

@test "the last lines have no secret in them, wherever they are shown" {
  cat >policy.yml <<'EOF'
schema_version: "1"
hermetic_steps:
  - id: a
    command: "printf 'with %s and %s\\033[1m%s\\033[0m%s\\n' \"$API_TOKEN\" squeamish- ossi frage-42; exit 1"
    env: {API_TOKEN: squeamish-ossifrage-42}
EOF
  GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY=$BATS_TEST_TMPDIR/summary run -1 gate
  [[ $output == *'| with [redacted:API_TOKEN] and [redacted:API_TOKEN]'* ]]
  grep -q 'redacted:API_TOKEN' ../summary
  for text in "$output" "$(cat ../summary ../out/report.md ../out/junit.xml)"; do
    [[ $text != *ossifrage* ]]
  done
}

@test "the summary of many steps is short, and says what failed" {
  write_policy
  for i in $(seq 46); do echo "  - {id: step-$i, command: 'true'}"; done >>policy.yml
  GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY=$BATS_TEST_TMPDIR/summary run -1 gate --jobs 2
  [ "$(wc -c <../summary)" -lt 12000 ]
  grep -q '<summary>47 steps passed</summary>' ../summary
  grep -q '^a.c:3: error: ::error::x$' ../summary
  # Annotations have the last lines, too.
  [[ $output == *'::error file=policy.yml,line=4,title=hermetic gate%3A tell::connect to 192.0.2.5:9/udp was denied, by '* ]]
  [[ $output == *'::error file=policy.yml,line=5,title=hermetic gate%3A lint::the command ended with exit code 3%0A%0Acompiling%0Aa.c:3: error: ::error::x'* ]]
}

@test "reports link to the commit and the job, and to nothing that is no web address" {
  write_policy
  commit=$(git rev-parse HEAD)
  GITHUB_SERVER_URL=https://git.example GITHUB_REPOSITORY=team/project GITHUB_RUN_ID=17 run -1 gate
  grep -qF "(<https://git.example/team/project/commit/$commit>)" ../out/report.md
  grep -qF '<a href="https://git.example/team/project/actions/runs/17" rel="noreferrer noopener">' ../out/report.html
  GITHUB_SERVER_URL='javascript:alert(1)//' GITHUB_REPOSITORY='"><script>' GITHUB_RUN_ID=17 BUILD_URL='javascript:1' run -1 gate
  run ! grep -e javascript: -e '<a href="[^#]' ../out/report.md ../out/report.html
}

@test "--previous says what has changed" {
  write_policy
  run -1 gate
  cp -r ../out ../old
  sed -i 's/exit 3/exit 0/; /id: tell/d; s/id: first, command: "true"/id: first, command: exit 1/' policy.yml
  echo '  - {id: fourth, command: "true"}' >>policy.yml
  run -1 gate --previous ../old
  [[ $output == *'compared with '*'1 step that passed does not pass now: first'*'1 step passes now that did not: lint'*'1 step is new: fourth'*'1 step is not there any more: tell'* ]]
  grep -q 'Compared with' ../out/report.md
  grep -q 'Compared with an earlier run' ../out/report.html
  # The folder may be the one that is replaced.
  run -1 gate --previous ../out
  [[ $output == *'no step has changed'* ]]
  "$HERMETIC_PROGRAM" verify-evidence ../out
  echo '{' >../old/report.json
  run -2 gate --previous ../old
  [[ $output == *'is not what a gate has written'*'--previous'* ]]
  run -2 gate learn --previous ../out
}

@test "steps have a time limit in version 1, and by --timeout where they have none" {
  cat >policy.yml <<'EOF'
schema_version: "1"
hermetic_steps:
  - {id: own, command: sleep 100, timeout: 300ms}
  - {id: longer, command: sleep 3, timeout: 10m}
  - {id: given, command: sleep 100}
EOF
  run -1 gate --timeout 2s
  [[ $output == *'✓ longer'*'did not end within 300ms'*'did not end within 2s'* ]]
  run -2 gate --timeout soon
}

# A tool where toolchains are often installed, which the system has under the same name, and one that it has not.
make_tools() {
  tools=$(mktemp -d "$1/hermetic-gate-tools.XXXXXX")
  mkdir -p "$tools/bin"
  printf '#!/bin/sh\necho the tool\n' | tee "$tools/bin/sort" >"$tools/bin/onlythere"
  chmod +x "$tools/bin"/*
  chmod 755 "$tools"
}

teardown() {
  if [ -n "${tools-}" ]; then rm -rf "$tools"; fi
}

@test "a program that is another one for the caller is named, and --toolchain auto shows it" {
  for place in /tmp /var/tmp; do
    make_tools "$place"
    cat >policy.yml <<'EOF'
schema_version: "1"
hermetic_steps:
  - {id: direct, command: "sort </dev/null"}
  - {id: nested, command: "echo 'sort </dev/null' >run.sh; sh run.sh"}
  - {id: gone, command: onlythere}
EOF
    # Below /tmp nothing of the host's is there; elsewhere PATH is shown with what it belongs to.
    if [ "$place" = /tmp ]; then
      PATH=$tools/bin:$PATH run -1 gate
      [[ $output == *"'onlythere' is not there inside, and $tools/bin/onlythere on the caller's PATH"*'(in gone)'* ]]
      [[ $output == *"'sort' is /usr/bin/sort inside, and $tools/bin/sort on the caller's PATH; to show that: --toolchain auto, or the inputs [$tools] (in direct, nested)"* ]]
      grep -q 'Worth knowing' ../out/report.md
    fi
    PATH=$tools/bin:$PATH run -0 gate --toolchain auto
    [[ $output != *'worth knowing'* ]]
    [ "$(cat ../out/logs/{direct,nested,gone}/stdout.txt)" = $'the tool\nthe tool\nthe tool' ]
    PATH=$tools/bin:$PATH run -0 "$HERMETIC_PROGRAM" run --toolchain auto -- onlythere
    [[ $output == 'the tool'* ]]
    PATH=$tools/bin:$PATH run -127 "$HERMETIC_PROGRAM" run -- onlythere
    [[ $output == *"'onlythere' is not there inside, and $tools/bin/onlythere on the caller's PATH; to show that: --toolchain auto"* ]]
    rm -rf "$tools"
  done
  run -2 gate --toolchain manual
  [[ $output == *'write --toolchain auto'* ]]
}
