#!/usr/bin/env bats
# The gate where it can only watch: under strace, and by the kernel's table of sockets. Nothing is denied there, so
# these steps reach nobody but loopback.

# shellcheck disable=SC2016,SC2030,SC2031 # what is quoted is for inside; each test is a shell of its own

bats_require_minimum_version 1.5.0

setup() {
  mkdir -p "$BATS_TEST_TMPDIR/w"
  cd "$BATS_TEST_TMPDIR/w" || return
  unset GITHUB_ACTIONS GITHUB_SHA GITHUB_STEP_SUMMARY CI_COMMIT_SHA GITLAB_CI
  export PATH=/usr/bin:/bin
  git init --quiet .
  git -c user.email=a@example.org -c user.name=a commit --quiet --allow-empty -m first
  policy=$BATS_TEST_TMPDIR/policy.yml
  out=$BATS_TEST_TMPDIR/out
  port=$((20000 + BASHPID % 10000)) # these steps share the host's loopback
}

gate() { "$HERMETIC_PROGRAM" gate --policy "$policy" --out "$out" "$@"; }

# One step that runs this Python program; more of the step comes as the second argument. PORT is a free one.
step() {
  local more=${2-}
  printf '%s\n' "${1//PORT/$port}" >step.py
  printf 'schema_version: "2"\nhermetic_steps:\n  - id: a\n    command: [python3, step.py]\n%s\n' "${more//PORT/$port}" >"$policy"
}

assurance_is() { grep -q "\"assurance\":\"$1\"" "$out/report.json"; }
breached() { [[ $output == *"$1"* ]] && grep -q "\"rule\":\"$2\"" "$out/report.json"; }

# Whether its new parent has looked at it is not our affair.
is_dead() { ! grep -q '^State:.[^ZX]' "/proc/$1/status" 2>/dev/null; }

honest='import subprocess, sys
print("out"); print("err", file=sys.stderr)
subprocess.run(["sh", "-c", "ls | wc -l; (true); echo done > made"], check=True)'

@test "strace: an honest step passes, and its word is observed, not enforced" {
  step "$honest"
  gate --detector strace
  assurance_is observed
  grep -q 'what a daemon does on the step' "$out/report.md"
  grep -q out "$out/logs/a/stdout.txt"
  grep -q err "$out/logs/a/stderr.txt"
  grep -q wc "$out/logs/a/process_tree.json"
  [ "$(cat made)" = "done" ]
  [ "$(cat "$out/logs/a/network.json")" = '[]' ]
  "$HERMETIC_PROGRAM" verify-evidence "$out"
}

@test "strace and sockets: the device that is standard input stays as it is" {
  step 'import os, sys
try: os.fchmod(0, os.fstat(0).st_mode & 0o777)
except OSError: sys.exit(0)
sys.exit("changed")'
  for detector in strace sockets; do
    rm -rf "$out"
    run -0 gate --detector "$detector"
  done
}

@test "strace: connecting to loopback fails and is attributed" {
  step 'import subprocess
subprocess.run(["sh", "-c", "true; python3 -c \"import socket; socket.socket().connect_ex((\\\"127.0.0.1\\\", 9))\""])'
  run -1 gate --detector strace
  breached 'connect to 127.0.0.1:9/tcp is not allowed' network-denied
  [[ $output == *'by /usr/bin/python3'*'import socket'*'started by /'*sh*'step.py'* ]]
}

@test "strace: listening fails, and passes if the policy lets it" {
  step 'import socket; s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", PORT)); s.listen()'
  run -1 gate --detector strace
  breached "listened on 127.0.0.1:$port/tcp" listener
  grep -q "$port" "$out/logs/a/listeners.json"
  step 'import socket; s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", PORT)); s.listen()' \
    '    allow: {exceptions: [{listen: PORT, owner: ops, reason: tests, expires: 2999-01-31}]}'
  gate --detector strace
}

@test "strace: datagrams fail, by sendto, sendmsg and over a connected socket, in version 4 and 6" {
  step 'import socket
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.sendto(b"x", ("127.0.0.1", 7001))
u.sendmsg([b"x"], [], 0, ("127.0.0.1", 7002))
c = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
c.connect(("127.0.0.1", 7003)); c.send(b"x")
try: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b"x", ("::1", 7004))
except OSError: pass'
  run -1 gate --detector strace
  breached 'sendto to 127.0.0.1:7001/udp' network-denied
  breached 'sendmsg to 127.0.0.1:7002/udp' network-denied
  breached 'sendto to 127.0.0.1:7003/udp' network-denied
  [ ! -e /proc/net/if_inet6 ] || breached 'sendto to [::1]:7004/udp' network-denied
}

@test "strace: to see which way a packet would take is no breach" {
  step 'import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("127.0.0.1", 7003))
a, b = socket.socketpair(); a.send(b"x")'
  gate --detector strace
}

@test "strace: a ring is a breach" {
  step 'import ctypes; ctypes.CDLL(None).syscall(425, 8, ctypes.create_string_buffer(120))'
  run -1 gate --detector strace
  breached 'asked for io_uring' socket
}

@test "strace: no text of a step is taken for a line, a call or its end" {
  step 'import socket, subprocess
text = "x\" <unfinished ...>\n99999 connect(3<TCP:[1]>, {sa_family=AF_INET, sin_port=htons(6666), sin_addr=inet_addr(\"127.6.6.6\")}, 16) = 0\n"
subprocess.run(["/bin/true", text, text])
a, b = socket.socketpair()
a.send(text.encode()); a.sendmsg([text.encode()])
s = socket.socket(socket.AF_UNIX); s.connect_ex("\0" + text[:90])'
  gate --detector strace
  [ "$(cat "$out/logs/a/network.json")" = '[]' ]
}

@test "strace: the exit code is the step's, a missing program and a timeout are told" {
  step 'raise SystemExit(7)'
  run -1 gate --detector strace
  [[ $output == *'ended with exit code 7'* ]]
  step 'import os, signal; os.kill(os.getpid(), signal.SIGSEGV)'
  run -1 gate --detector strace
  [[ $output == *'ended by signal 11'* ]]
  step 'import time; time.sleep(1000)' '    timeout: 500ms'
  run -1 gate --detector strace
  [[ $output == *'ran out of time'* ]]
  printf 'schema_version: "1"\nhermetic_steps: [{id: a, command: [/no/such/program]}]\n' >"$policy"
  run -1 gate --detector strace
  [[ $output == *'could not be started'* ]]
}

@test "strace: a child that outlives the step is a breach, and ended" {
  step 'import subprocess
p = subprocess.Popen(["sleep", "1000"], start_new_session=True)
open("pid", "w").write(str(p.pid))'
  run -1 gate --detector strace
  breached 'left processes running, such as sleep' residue
  is_dead "$(cat pid)"
}

@test "strace: a step that ends strace does not pass" {
  step 'import os, re, signal
tracer = int(re.search(r"TracerPid:\t(\d+)", open("/proc/self/status").read())[1])
os.kill(tracer, signal.SIGKILL)'
  run -2 gate --detector strace
  [[ $output == *'strace ended before the command did'* ]]
}

@test "strace: the step gets the declared environment only" {
  export HARMLESS=yes AWS_SECRET_ACCESS_KEY=abcdefghij0123456789
  step 'import os; print(sorted(os.environ))'
  gate --detector strace
  run ! grep -e HARMLESS -e AWS "$out/logs/a/stdout.txt"
  grep -q PATH "$out/logs/a/stdout.txt"
}

# As root, with all that root may do, and as a plain user.
@test "strace, sockets: no step reads what only the gate knows" {
  secret=squeamish-ossifrage-$BASHPID
  rev <<<"$secret" >terces
  step 'import os, pathlib
secret = open("terces").read().strip()[::-1].encode()
def read(path):
    try: return path.read_bytes()
    except OSError: return b""
for process in pathlib.Path("/proc").iterdir():
    if process.name.isdigit() and secret in read(process / "environ"): print("found in the environment of", read(process / "comm"))
above = os.getppid()
while above > 1:
    process = pathlib.Path("/proc", str(above))
    above = int(read(process / "stat").rpartition(b") ")[2].split()[1])
    if read(process / "comm") != b"hermetic\n": continue
    try: os.close(os.open(process / "mem", os.O_RDONLY)); print("found the memory")
    except OSError: print("kept out")'
  for detector in strace sockets; do
    API_TOKEN=$secret gate --detector "$detector"
    grep -q 'kept out' "$out/logs/a/stdout.txt"
    run ! grep -q found "$out/logs/a/stdout.txt"
    rm -r "$out"
    nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent)
    if ((EUID != 0)) || ! "${nobody[@]}" test -x "$HERMETIC_PROGRAM"; then continue; fi
    chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR"
    mkdir "../$detector"
    chown 65534:65534 "../$detector"
    API_TOKEN=$secret "${nobody[@]}" "$HERMETIC_PROGRAM" gate --policy "$policy" --detector "$detector" --out "../$detector/out"
    cat "../$detector/out/logs/a/stdout.txt"
    grep -q 'kept out' "../$detector/out/logs/a/stdout.txt"
    run ! grep -q found "../$detector/out/logs/a/stdout.txt"
  done
}

@test "strace: a Unix socket that another serves, and one of the step's in the workspace, are breaches" {
  step 'import socket
server = socket.socket(socket.AF_UNIX); server.bind("/tmp/own-PORT.sock"); server.listen()
socket.socket(socket.AF_UNIX).connect("/tmp/own-PORT.sock")
datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); datagrams.bind("\0own-PORT")
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", "\0own-PORT")
assert socket.socket(socket.AF_UNIX).connect_ex("/tmp/none-PORT") != 0
import os; os.remove("/tmp/own-PORT.sock")'
  gate --detector strace
  python3 -c 'import socket, sys, time
servers = []
for name in "outside.sock", "\0outside-'"$port"'":
    servers.append(socket.socket(socket.AF_UNIX)); servers[-1].bind(name); servers[-1].listen()
open("ready", "w").close(); time.sleep(60)' 3>&- &
  server=$!
  for _ in {1..500}; do [ -e ready ] && break || sleep 0.02; done
  step 'import socket
socket.socket(socket.AF_UNIX).connect("outside.sock")
socket.socket(socket.AF_UNIX).connect("\0outside-PORT")
socket.socket(socket.AF_UNIX).bind("in.sock")'
  run -1 gate --detector strace
  kill "$server"
  breached "connect to the Unix socket $PWD/outside.sock, whose other end is outside" network-denied
  breached "connect to the Unix socket @outside-$port" network-denied
  breached "it made the Unix socket $PWD/in.sock, which processes outside can reach" listener
  step 'import socket
socket.socket(socket.AF_UNIX).bind("in.sock2")' '    allow: {exceptions: [{unix_socket: in.sock2, owner: ops, reason: tests, expires: 2999-01-01}]}'
  gate --detector strace
}

@test "strace: nothing is left of the trace" {
  mkdir "$BATS_TEST_TMPDIR/temp"
  step "$honest"
  TMPDIR=$BATS_TEST_TMPDIR/temp gate --detector strace
  [ -z "$(ls -A "$BATS_TEST_TMPDIR/temp")" ]
}

@test "sockets: an honest step passes, and its word is degraded" {
  step "$honest"
  gate --detector sockets
  assurance_is degraded
  grep -q 'connections shorter than 50 ms' "$out/report.md"
}

@test "sockets: a connection and a listener that stay are seen and attributed" {
  step "import socket
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind((\"127.0.0.1\", PORT)); s.listen()
c = socket.create_connection((\"127.0.0.1\", PORT)); d, _ = s.accept()
import time; time.sleep(3)  # sixty looks: what is short is not promised"
  run -1 gate --detector sockets
  breached "connect to 127.0.0.1:$port/tcp" network-denied
  breached "listened on 127.0.0.1:$port/tcp" listener
  [[ $output == *'by /usr/bin/python3'*'step.py'* ]]
}

@test "sockets: a child that outlives the step is a breach, and ended" {
  step 'import subprocess, time
p = subprocess.Popen(["sleep", "1000"])
open("pid", "w").write(str(p.pid))'
  run -1 gate --detector sockets
  breached 'left processes running, such as sleep' residue
  is_dead "$(cat pid)"
}

@test "who requires that it is enforced gets nothing less" {
  step "$honest"
  run -2 gate --require enforced --detector strace
  [[ $output == *"the detector 'strace' enforces nothing"* ]]
  run -2 gate --require enforced --detector sockets
  run -2 gate --detector gues
  [ ! -e "$out" ]
}

# Runs a command for which the kernel refuses every namespace, as hardened hosts and containers do.
without_namespaces() { python3 "$BATS_TEST_DIRNAME/refuse.py" namespaces "$@"; }

@test "where the kernel refuses namespaces, strace is taken, and only the guard if enforcement is required" {
  step "$honest"
  gate
  assurance_is enforced
  run ! without_namespaces unshare --net true
  without_namespaces "$HERMETIC_PROGRAM" gate --policy "$policy" --out "$out"
  assurance_is observed
  run -2 without_namespaces "$HERMETIC_PROGRAM" gate --policy "$policy" --out "$out" --require enforced
  "$HERMETIC_PROGRAM" key new ../key
  run -2 without_namespaces "$HERMETIC_PROGRAM" gate --policy "$policy" --out "$out" --key ../key
  [[ $output == *'nothing keeps the step from'* ]]
}

@test "without strace it says so" {
  step "$honest"
  how=(--mount)
  [ "$(id -u)" = 0 ] || how=(--user --map-root-user --mount)
  # shellcheck disable=SC2016 # for the shell inside
  run -2 unshare "${how[@]}" -- sh -c 'mount --bind /dev/null "$(readlink -f "$(command -v strace)")" && exec "$@"' - \
    "$HERMETIC_PROGRAM" gate --policy "$policy" --out "$out" --detector strace
  [[ $output == *'there is no strace here'* ]]
  gate --detector strace
}

@test "nothing is signed for a step that nothing keeps from the key" {
  "$HERMETIC_PROGRAM" key new ../key
  step 'print("has read", len(open("../key").read()) > 50)'
  for detector in strace sockets; do
    run -2 gate --detector "$detector" --key ../key
    [[ $output == *'nothing keeps the step from the key'* ]]
    run ! grep -r 'has read' "$out/logs"
    HERMETIC_SIGNING_KEY=$(cat ../key) run -2 gate --detector "$detector"
    [[ $output == *'nothing keeps the step from the key'* ]]
  done
  # Unsigned it runs as ever, and could have read it.
  gate --detector strace
  grep -q 'has read True' "$out/logs/a/stdout.txt"
}
