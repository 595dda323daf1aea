#!/usr/bin/env bats
# What a command is told that it may not reach, as its users see it: who, why, what would allow it, and the exit code.
# An empty network is around it all: nothing leaves, whatever is tried.

bats_require_minimum_version 1.5.0

setup() {
  mkdir "$BATS_TEST_TMPDIR/w"
  cd "$BATS_TEST_TMPDIR/w" || return
  chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" 2>/dev/null || true
  chmod 777 .
}

# As whoever calls and, if that is root, as nobody.
users() {
  echo caller
  if ((EUID == 0)) && setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$HERMETIC_PROGRAM"; then echo nobody; fi
}
hermetic_as() { # user argument...
  local user=$1
  shift
  if [ "$user" = nobody ]; then
    setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent \
      unshare --user --map-current-user --net -- "$HERMETIC_PROGRAM" "$@"
  elif ((EUID == 0)); then
    unshare --net -- "$HERMETIC_PROGRAM" "$@"
  else
    unshare --user --map-current-user --net -- "$HERMETIC_PROGRAM" "$@"
  fi
}

by_send='import socket
try: socket.gethostbyname("other.example.org")
except OSError: pass'

@test "a name that is asked for by send() is told, with who asked and what would allow it" {
  for user in $(users); do
    for network in --network=none --allow-host=web.example.org; do
      run -123 hermetic_as "$user" run --on-violation fail "$network" -- /usr/bin/python3 -c "$by_send"
      [[ $output == *'resolve other.example.org'*'by /usr/bin/python3'*'to allow it: --allow-host other.example.org, or in a spec: network: [other.example.org]'* ]]
      run -123 hermetic_as "$user" run --on-violation kill "$network" -- /usr/bin/python3 -c "$by_send"
      [[ $output == *'ended by a violation: resolve other.example.org'* ]]
    done
    run -123 hermetic_as "$user" run --on-violation fail --network=loopback -- /usr/bin/python3 -c "$by_send"
    [[ $output == *'connect 127.0.0.1:53/udp'*'by /usr/bin/python3'*'--allow-host NAME'*'with the name that it looks up'* ]]
  done
}

@test "the report of a denial says that the run was not hermetic, and how to make that an error" {
  for user in $(users); do
    run -0 hermetic_as "$user" run -- /usr/bin/python3 -c "$by_send"
    [[ $output == *'this run was not hermetic:'*'to make this an error: --on-violation fail, or in a spec: on_violation: fail'* ]]
    run -123 hermetic_as "$user" run --on-violation fail -- /usr/bin/python3 -c "$by_send"
    [[ $output == *'this run was not hermetic:'* ]]
    [[ $output != *'to make this an error'* ]]
  done
}

@test "half a question is told, and that nothing would allow it" {
  for user in $(users); do
    run -123 hermetic_as "$user" run --on-violation fail --allow-host=web.example.org -- /usr/bin/python3 -c 'import socket
socket.create_connection(("192.0.2.53", 53)).send(b"\0\x20half")'
    [[ $output == *'resolve an unreadable question'*'by /usr/bin/python3'*'not asked to the end; to allow it: nothing: no spec allows it'* ]]
  done
}

@test "who asks a nameserver unheard is ended at once, if it is to be" {
  for user in $(users); do
    run -123 hermetic_as "$user" run --on-violation kill -- /usr/bin/python3 -c 'import os, socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("192.0.2.53", 53))
try: os.write(s.fileno(), b"x" * 20)
except OSError: pass
time.sleep(30)
print("went on")'
    [[ $output == *'ended by a violation: connect 192.0.2.53:53/udp'* ]]
    [[ $output != *'went on'$'\n'* ]]
  done
}

@test "what has no port is allowed by a rule without one" {
  run -0 hermetic_as caller run -- /usr/bin/python3 -c 'import socket
try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 0))
except OSError: pass'
  [[ $output == *'sendto 192.0.2.1:0/udp'*'--allow-host 192.0.2.1, or'* ]]
}

@test "each rule of a list is named with its own line, and who reached for its hosts" {
  cat >s.yaml <<'EOF'
version: 1
command: [/usr/bin/python3, -c, "import socket; s = socket.socket(); s.connect(('198.51.100.7', 9)); s.recv(1)"]
inputs: [/usr, /bin, /lib, /lib64]
network:
  - web.example.org
  - 192.0.2.0/24
  - 198.51.100.0/24:9
EOF
  run hermetic_as caller run --quiet --spec s.yaml --events events.jsonl
  for act in connect reach; do
    grep "\"act\":\"$act\"" events.jsonl | grep '"verdict":"allow"' |
      grep -F '"rule":"198.51.100.0/24:9 of network: hosts (s.yaml:7:5)"' | grep -q '"executable":"/usr/bin/python3'
  done
}

@test "as many destinations as hermetic may open files for, and then it says so" {
  cat >many.py <<'EOF'
import socket
for i in range(1, 251):
    socket.socket().connect_ex((f"192.0.2.{i}", 9))
EOF
  run -0 hermetic_as caller run --on-violation fail --allow-host 192.0.2.0/24 --input many.py -- /usr/bin/python3 many.py
  [[ $output != *denied* ]]
  ulimit -Sn 256
  run -123 hermetic_as caller run --on-violation fail --allow-host 192.0.2.0/24 --input many.py -- \
    /usr/bin/python3 many.py
  [[ $output == *'denied by 192.0.2.0/24 of network: hosts (--allow-host): all 32 sockets that a run has for allowed destinations are in use; to allow it: fewer destinations in one run, or more open files'* ]]
  [[ $output != *'Too many open files'* ]]
}

@test "what the proof of a sandbox asks for is not the command's" {
  for user in $(users); do
    run -0 hermetic_as "$user" run --prove --allow-host 127.0.0.1:41113 --on-violation fail --events - -- /bin/true
    [[ $output == *'"kind":"ended"'* ]]
    [[ $output != *hermetic-probe* ]]
  done
}
