#!/usr/bin/env bats
# The gate against all that gate_steps.py can do: every honest step passes, every cheat fails and is told by name. As
# whoever calls and, if that is root, as a plain user. The world around it all is the test's own.

# shellcheck disable=SC2016 # what is quoted is for inside

bats_require_minimum_version 1.5.0

setup_file() {
  chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" 2>/dev/null || true
  cat >"$BATS_FILE_TMPDIR/raw.c" <<'SOURCE'
#include <netinet/in.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = 0x5000, .sin_addr = {0x010200c0}};
  syscall(SYS_connect, syscall(SYS_socket, AF_INET, SOCK_STREAM, 0), &to, sizeof to);
  return 0;
}
__attribute__((constructor)) void preloaded(void) { main(); }
SOURCE
  printf 'int main(void) { long r = 20; __asm__ volatile("int $0x80" : "+a"(r)); return 0; }\n' >"$BATS_FILE_TMPDIR/int80.c"
  cc -static -o "$BATS_FILE_TMPDIR/raw" "$BATS_FILE_TMPDIR/raw.c"
  cc -shared -fPIC -o "$BATS_FILE_TMPDIR/preload.so" "$BATS_FILE_TMPDIR/raw.c"
  if [ "$(uname -m)" = x86_64 ]; then cc -o "$BATS_FILE_TMPDIR/int80" "$BATS_FILE_TMPDIR/int80.c"; fi
}

nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent)

users() {
  echo caller
  if ((EUID == 0)) && "${nobody[@]}" test -x "$HERMETIC_PROGRAM"; then echo nobody; fi
}

# A workspace of the user's, with all that the steps need.
make_place() { # user
  place=$BATS_TEST_TMPDIR/$1
  mkdir -p "$place/w"
  chmod 755 "$BATS_TEST_TMPDIR" "$place"
  cd "$place/w" || return
  git init --quiet .
  echo tracked >tracked
  git add tracked
  git -c user.email=a@example.org -c user.name=a commit --quiet -m first
  cp "$BATS_TEST_DIRNAME/gate_steps.py" .
  cp "$BATS_FILE_TMPDIR"/{raw,preload.so} .
  if [ -e "$BATS_FILE_TMPDIR/int80" ]; then
    cp "$BATS_FILE_TMPDIR/int80" .
  else
    sed -i '/^@cheat("i386")$/,/^$/d' gate_steps.py
  fi
  if [ "$1" = nobody ]; then chown -R 65534:65534 "$place"; fi
}

# Does it as the user, in a world of its own that has a mirror, beside the party outside.
beside_outside() { # user word...
  local user=$1
  shift
  local as=()
  if [ "$user" = nobody ]; then as=("${nobody[@]}"); fi
  local within=(unshare --net --mount --) back=()
  if [ "$user" = nobody ] || ((EUID != 0)); then
    within=(unshare --user --map-root-user --net --mount --)
    back=(unshare --user --map-user=65534 --map-group=65534 --)
  fi
  GITHUB_ACTIONS='' "${as[@]}" "${within[@]}" bash -euo pipefail -c '
    ip link set lo up
    ip address add 192.0.2.80/32 dev lo
    printf "127.0.0.1 localhost\n192.0.2.80 mirror.example.org\n" >../hosts
    mount --bind ../hosts /etc/hosts
    rm -f port
    python3 gate_steps.py --serve "$PWD" 3>&- &
    trap "kill $!" EXIT
    for _ in {1..500}; do [ -e port ] && break || sleep 0.02; done
    "$@"' bash "${back[@]}" "$@"
}

battery() { # user kind option...
  local user=$1 kind=$2
  shift 2
  beside_outside "$user" bash -c '
    python3 gate_steps.py --policy "$1" "$(cat port)" >../policy.yml
    shift
    "$HERMETIC_PROGRAM" gate --policy ../policy.yml --out ../out --sha 1234 --jobs 2 "$@" >../said 2>&1
    echo "$?" >../code' bash "$kind" "$@" || true
  python3 gate_steps.py --judge "$kind" ../out/report.json "${but-}" "${names-told}" || { cat ../said; return 1; }
}

@test "every honest step passes" {
  for user in $(users); do
    make_place "$user"
    battery "$user" honest
    [ "$(cat ../code)" -eq 0 ]
    grep -q '"assurance":"enforced"' ../out/report.json
  done
}

@test "every cheat fails, and is told by name; nothing has come to those outside" {
  for user in $(users); do
    make_place "$user"
    battery "$user" cheat
    [ "$(cat ../code)" -eq 1 ]
    [ ! -s heard ]
  done
}

# The policy of the runbook: a linter that fetches its rules.
@test "a step with an allowed host passes, with the proof: by run, and in policies of both versions" {
  cat >"$BATS_TEST_TMPDIR/try.sh" <<'TRY'
set -euo pipefail
port=$(cat port)
"$HERMETIC_PROGRAM" run --prove --allow-host 127.0.0.1:41113 --on-violation fail -- true
"$HERMETIC_PROGRAM" run --prove --allow-host "mirror.example.org:$port" --on-violation fail --input "$PWD" -- \
  /usr/bin/python3 gate_steps.py reaches_an_allowed_host
cat >../one.yml <<POLICY
schema_version: "1"
scope: {default_shell: bash}
hermetic_steps:
  - id: lint
    command: /usr/bin/python3 gate_steps.py reaches_an_allowed_host
    allow: {outbound_hosts: [mirror.example.org], outbound_ports: [$port], listen_ports: []}
  - {id: unit, command: "true", allow: {outbound_hosts: [mirror.example.org]}}
POLICY
cat >../two.yml <<POLICY
schema_version: "2"
hermetic_steps:
  - id: lint
    command: [/usr/bin/python3, gate_steps.py, reaches_an_allowed_host]
    allow: {exceptions: [{host: "mirror.example.org:$port", owner: o, reason: r, expires: 2999-01-01}]}
POLICY
for policy in one two; do
  "$HERMETIC_PROGRAM" gate --policy "../$policy.yml" --out "../$policy" --sha 1234 --require enforced
  grep -q '"probe":"dns","result":"held"' "../$policy/logs/lint/manifest.json"
  ! grep -r hermetic-probe "../$policy"
done
# What the proof asks for is no word that opens a way: a command that asks for it is denied like any other.
status=0
"$HERMETIC_PROGRAM" run --prove --allow-host mirror.example.org --on-violation fail -- \
  /usr/bin/python3 -c 'import socket
for name in "hermetic-probe.invalid", "0123456789abcdef.hermetic-probe.invalid":
    try: socket.getaddrinfo(name, 80)
    except OSError: pass' 2>../said || status=$?
[ "$status" -eq 123 ]
grep -q 'resolve 0123456789abcdef.hermetic-probe.invalid' ../said
TRY
  for user in $(users); do
    make_place "$user"
    beside_outside "$user" bash "$BATS_TEST_TMPDIR/try.sh"
  done
}

@test "what the gate does not see is what the reference says that it does not see" {
  for user in $(users); do
    make_place "$user"
    battery "$user" known
    battery "$user" known # which begins with what the first has left
    python3 - ../out/report.json <<'EOF_CHECK'
import json, sys
found = json.load(open(sys.argv[1]))["modified_files"]
assert found == ["tracked"], found
EOF_CHECK
  done
}

@test "strace: every honest step passes, and every cheat fails, but for what it cannot know" {
  for user in $(users); do
    make_place "$user"
    # It sees no names.
    but=reaches_an_allowed_host battery "$user" honest --detector strace
    # It follows no links, refuses no call, and reads addresses when they may have changed.
    but="calls_by_another_table leads_an_allowed_name_elsewhere changes_the_name_while_it_is_read" names=untold battery "$user" cheat --detector strace
  done
}
