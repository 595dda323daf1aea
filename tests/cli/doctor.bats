#!/usr/bin/env bats
# hermetic doctor, and the program's own switches.
bats_require_minimum_version 1.5.0

setup() {
  directory=$(mktemp -d)
  cd "$directory" || return
}
teardown() { rm -rf "$directory"; }

@test "doctor tries the promises and finds them kept" {
  run "$HERMETIC_PROGRAM" doctor
  [ "$status" -eq 0 ]
  [[ $output == *'inputs-read-only'*'write: EROFS'* ]]
  [[ $output == *'link across mounts: EXDEV'* ]]
  [[ $output != *BROKEN* ]]
  # It has threads of its own under the thread sanitizer, and then cannot try.
  [[ $output == *'recursive read-only'*'holds (tried)'* || $output == *'could not be tried'* ]]
}

@test "doctor finds what is not declared hidden, wherever the program lies" {
  local unshare=(unshare --mount)
  ((EUID == 0)) || unshare=(unshare --user --map-root-user --mount)
  for folder in /root /home; do
    # shellcheck disable=SC2016 # for the inner shell
    run -0 "${unshare[@]}" bash -euc '
      exec 9<"$HERMETIC_PROGRAM" # which may lie in what is covered now
      mount -t tmpfs -o mode=755 none "$1"
      mkdir "$1/tree"
      cat <&9 >"$1/tree/hermetic"
      chmod 755 "$1/tree/hermetic"
      "$1/tree/hermetic" doctor | grep undeclared-hidden' bash "$folder"
    [[ $output == "enforced  undeclared-hidden "*"(tried: /"*": ENOENT, /etc/shadow: ENOENT, exception: EACCES)" ]]
  done
}

@test "doctor speaks JSON, and leaves nothing" {
  "$HERMETIC_PROGRAM" doctor --json >found.json
  /usr/bin/python3 - <<'PYTHON'
import json
found = json.load(open("found.json"))
tried = [row for row in found["clauses"] if "tried" in row]
# Every clause that is said to be enforced was tried.
untried = [row["clause"] for row in found["clauses"] if row["strength"] == "enforced" and "tried" not in row]
assert not untried, untried
assert len(tried) >= 20 and all(row["tried"]["held"] for row in tried), found
PYTHON
  if ls -d /tmp/.hermetic-doctor-* /var/tmp/.hermetic-doctor-*; then return 1; fi
}

@test "HERMETIC=off is refused unless the spec permits it, and the outcome says so" {
  HERMETIC=off run "$HERMETIC_PROGRAM" run -- true
  [ "$status" -eq 125 ]
  [[ $output == *allow_unsandboxed* ]]
  # shellcheck disable=SC2016  # for the command
  printf 'version: 1\ncommand: [sh, -c, "echo $HOME; exit 3"]\nallow_unsandboxed: true\n' >spec.yaml
  HERMETIC=off run "$HERMETIC_PROGRAM" run --spec spec.yaml --json outcome.json
  [ "$status" -eq 3 ]
  [[ $output == *'without a sandbox'* ]]
  grep -q '"hermetic": false' outcome.json
  grep -q '"backend": "none"' outcome.json
  printf 'version: 1\ncommand: [no-such-program]\nallow_unsandboxed: true\n' >spec.yaml
  HERMETIC=off run -127 "$HERMETIC_PROGRAM" run --spec spec.yaml
}

@test "a policy that needs violations to be recorded is refused where nobody would record them" {
  printf 'version: 1\ncommand: [true]\nprocess: {kill_on_parent_exit: false}\n' >spec.yaml
  for policy in fail kill; do
    "$HERMETIC_PROGRAM" run --on-violation "$policy" -- true
    run "$HERMETIC_PROGRAM" run --spec spec.yaml --on-violation "$policy"
    [ "$status" -eq 125 ]
    [[ $output == *"on_violation '$policy'"* ]]
  done
  "$HERMETIC_PROGRAM" run --on-violation report -- true
}

@test "HERMETIC_ variables stand below the spec, and options above it" {
  HERMETIC_NETWORK=loopback run "$HERMETIC_PROGRAM" plan -- true
  [[ $output == *'network      loopback'* ]]
  printf 'version: 1\ncommand: ["true"]\ninputs: [/usr]\nnetwork: none\n' >spec.yaml
  HERMETIC_NETWORK=loopback run "$HERMETIC_PROGRAM" plan --spec spec.yaml
  [[ $output == *'network      none'* ]]
  run "$HERMETIC_PROGRAM" plan --spec spec.yaml --network host
  [[ $output == *'network      host'* ]]
  HERMETIC_MEMORY=4Q run "$HERMETIC_PROGRAM" plan -- true
  [ "$status" -eq 2 ]
  [[ $output == *HERMETIC_MEMORY* ]]
}

@test "HERMETIC_DEBUG says what happens" {
  HERMETIC_DEBUG=1 run "$HERMETIC_PROGRAM" run -- true
  [[ $output == *started* && $output == *ended* ]]
}

# Runs a command that may not look at the descriptors of others.
without_their_descriptors() { python3 "$BATS_TEST_DIRNAME/refuse.py" descriptors "$@"; }

@test "where the sockets of others cannot be looked at, the network is not said to be watched" {
  run -0 without_their_descriptors "$HERMETIC_PROGRAM" run --events events.jsonl -- true
  grep -q '"act":"off","subject":"network".*pidfd_getfd' events.jsonl
  run -125 without_their_descriptors "$HERMETIC_PROGRAM" run --on-violation fail -- true
  [[ $output == *pidfd_getfd* ]]
}

@test "a failed command is explained on request" {
  run "$HERMETIC_PROGRAM" run --explain -- cat /etc/debian_version
  [ "$status" -eq 1 ]
  [[ $output == *'/etc/debian_version may not be read: no declaration covers it'* ]]
  [[ $output == *'asked for by '*/cat* ]]
  [[ $output == *'--input /etc/debian_version, or in a spec: inputs: [/etc/debian_version]'* ]]
  run "$HERMETIC_PROGRAM" run --explain -- touch "$directory/new"
  [[ $output == *"$directory/new may not be written: input '$directory'"* ]]
  [[ $output == *"--output $directory/new (published)"*"outputs: [$directory/new] or temps: [$directory/new]"* ]]
  # Whoever does what it says loses nothing.
  echo kept >kept
  run -0 "$HERMETIC_PROGRAM" run --explain --output "$directory/new" -- touch "$directory/new"
  [ -z "$output" ]
  [ -f new ] && [ "$(cat kept)" = kept ]
  # Also of one that makes nothing of it.
  run -0 "$HERMETIC_PROGRAM" run --explain -- sh -c 'cat /etc/debian_version || true; true'
  [[ $output == *'/etc/debian_version may not be read'* ]]
  run -0 "$HERMETIC_PROGRAM" run --explain -- true
  [ -z "$output" ]
}

@test "what is explained has no secrets in it" {
  export DEMO_TOKEN=verysecretword
  run "$HERMETIC_PROGRAM" run --explain --on-violation kill --pass-env DEMO_TOKEN -- python3 -c '
import os, socket
token = os.environ["DEMO_TOKEN"]
try: open("/etc/" + token, "w")
except OSError: pass
socket.getaddrinfo(token + ".invalid", 80)'
  echo "$output"
  [[ $output == *'/etc/[redacted:DEMO_TOKEN] may not be written'* ]]
  [[ $output == *'ended by a violation'* ]]
  [[ $output != *verysecretword* ]]
}

@test "a file of the host's own /tmp is explained too" {
  mkdir inner
  echo text >there
  cd inner
  run "$HERMETIC_PROGRAM" run --explain -- cat "$directory/there"
  [ "$status" -eq 1 ]
  [[ $output == *"$directory/there is hidden: the sandbox has a /tmp of its own"* ]]
  [[ $output == *"--input $directory/there"* ]]
}

@test "a limit that is only observed refuses, and can be given up by name" {
  run "$HERMETIC_PROGRAM" run --disk-write 64M -- true
  [ "$status" -eq 125 ]
  [[ $output == *'disk-write-limit is observed'* ]]
  run "$HERMETIC_PROGRAM" run --disk-write 64M --give-up disk-write-limit --json - -- true
  [ "$status" -eq 0 ]
  [[ $output == *'"hermetic": false'* ]]
}

@test "hermetic's own files do not go where the command writes" {
  run "$HERMETIC_PROGRAM" run --output out --json out/outcome.json -- ln -s /tmp out/x
  [ "$status" -eq 2 ]
  [[ $output == *'lies inside the output'* ]]
  [ ! -e out ]
}
