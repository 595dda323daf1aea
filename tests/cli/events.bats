#!/usr/bin/env bats
# The audit trail as its users see it: hermetic run --events and --syslog. What a line holds is tested by
# events_schema_test.py, what is struck out by unit/record.

bats_require_minimum_version 1.5.0

setup() {
  mkdir "$BATS_TEST_TMPDIR/w"
  cd "$BATS_TEST_TMPDIR/w" || return
}

hermetic() { "$HERMETIC_PROGRAM" "$@"; }

kinds() { sed 's/.*"kind":"\([a-z]*\)".*/\1/' "$1"; }

# Lines of one kind, by their keys: "KEY KEY..." with spaces between.
told() { # file kind key...
  python3 - "$@" <<'PYTHON'
import json
import sys
for line in map(json.loads, open(sys.argv[1])):
    if line["kind"] == sys.argv[2]:
        line["who"] = line["process"] and line["process"]["executable"]
        print(*(line[key] for key in sys.argv[3:]))
PYTHON
}

without_volatile() { sed 's/"volatile":.*//' "$1"; }

@test "a run starts and ends, and the exit code is the command's" {
  run -3 hermetic run --events events.jsonl -- sh -c 'echo out; exit 3'
  [ "$output" = out ]
  [ "$(kinds events.jsonl | head -n 1)" = started ] || [ "$(kinds events.jsonl | head -n 1)" = coverage ]
  kinds events.jsonl | grep -qx started
  [ "$(kinds events.jsonl | tail -n 1)" = ended ]
  [[ $(head -n 1 events.jsonl) == '{"version":1,"seq":1,'* ]]
}

@test "a shell writes events, too" {
  run -3 hermetic shell --events events.jsonl -- sh -c 'exit 3'
  kinds events.jsonl | grep -qx started
  kinds events.jsonl | grep -qx process
  [ "$(kinds events.jsonl | tail -n 1)" = ended ]
}

@test "a run that is ended by a limit says so" {
  run -124 hermetic run --quiet --events events.jsonl --timeout 300ms -- sleep 1000
  kinds events.jsonl | grep -qx stopping
  [ "$(kinds events.jsonl | tail -n 1)" = ended ]
}

@test "the same run writes the same but for what is volatile" {
  hermetic run --events first.jsonl -- true
  hermetic run --events second.jsonl -- true
  run ! cmp -s first.jsonl second.jsonl
  diff <(without_volatile first.jsonl) <(without_volatile second.jsonl)
}

@test "several processes that are denied in turn write the same, but for what is volatile" {
  cat >script <<'BASH'
reach() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
for port in 1 2 3; do reach $port; done
sh -c 'getent ahosts build.example.org; cat /etc/shadow; true'
python3 -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for port in 4, 5:
    try: s.sendto(b"x", ("127.0.0.1", port))
    except OSError: pass
s = socket.socket(); s.bind(("127.0.0.1", 6))
try: s.listen()
except OSError: pass' 2>/dev/null
true
BASH
  for run in first second; do
    hermetic run --quiet --explain --input script --events $run.jsonl -- bash script
  done
  [ "$(told first.jsonl network verdict act | grep -c '^deny')" -ge 7 ]
  told first.jsonl network verdict act subject | grep -x 'deny resolve build.example.org'
  run ! cmp -s first.jsonl second.jsonl
  diff <(without_volatile first.jsonl) <(without_volatile second.jsonl)
}

@test "processes that are made are told, also those that execute nothing" {
  hermetic run --events events.jsonl -- /usr/bin/bash -c '(:); /usr/bin/true; exec /usr/bin/env /usr/bin/true'
  told events.jsonl process act subject >processes
  cat processes
  diff - processes <<'TEXT'
execute /usr/bin/bash
fork /usr/bin/bash
fork /usr/bin/bash
execute /usr/bin/true
execute /usr/bin/env
execute /usr/bin/true
TEXT
}

@test "files that are denied are told, and who asked for them" {
  echo old >input
  local undeclared=$BATS_TEST_TMPDIR/undeclared
  echo secret >"$undeclared"
  local words=(-- sh -c "cat '$undeclared' /etc/shadow || echo new >'$PWD/input'")
  run ! hermetic run --quiet --events events.jsonl "${words[@]}"
  told events.jsonl file act subject verdict rule who | sort >files
  cat files
  grep -qx "read $undeclared deny .* /usr/bin/cat" files
  grep -qx "read /etc/shadow deny .* /usr/bin/cat" files
  grep -qx "write $PWD/input deny .* /usr/bin/.*sh" files
  [ "$(wc -l <files)" -eq 3 ]
  [ "$(cat input)" = old ]
  # The control: what is declared is not told.
  hermetic run --quiet --events events.jsonl --input "$undeclared" -- cat "$undeclared"
  [ "$(told events.jsonl file act)" = "" ]
}

@test "the rule of a denial is where it was written" {
  cat >s.yaml <<'YAML'
version: 1
command: [bash, -c, "exec 3<>/dev/tcp/127.0.0.1/80"]
inputs: [/usr, /bin, /lib, /lib64]
network: none
YAML
  run -1 hermetic run --quiet --spec s.yaml --events events.jsonl
  told events.jsonl network act subject verdict rule |
    grep -qx 'connect 127.0.0.1:80/tcp deny network: none (s.yaml:4:10)'
}

@test "the file is for its owner, and is emptied first" {
  hermetic run --events events.jsonl -- true
  [ "$(stat -c %a events.jsonl)" = 600 ]
  before=$(wc -l <events.jsonl)
  hermetic run --events events.jsonl -- true
  [ "$(wc -l <events.jsonl)" -eq "$before" ]
}

@test "a place where it could be led astray is refused before anything runs" {
  run -2 hermetic run --output out --events out/events.jsonl -- touch ran
  [[ $output == *'--events'*'lies inside the output'* ]]
  ln -s out/events.jsonl link
  run -2 hermetic run --output out --events link -- touch ran
  [[ $output == *"--events 'link'"*'lies inside the output'* ]]
  run -125 hermetic run --output-file ran --events /no/such/directory/x -- touch ran
  [ ! -e ran ]
  hermetic run --output-file ran --events events.jsonl -- touch ran
  [ -e ran ]
}

@test "- is standard output, which --json does not share" {
  run -0 --separate-stderr hermetic run --events - -- true
  [[ ${lines[0]} == '{"version":1,'* ]]
  # shellcheck disable=SC2154  # run sets it
  [ "$stderr" = "" ]
  run -2 hermetic run --events - --json - -- true
  [[ $output == *'--events and --json'* ]]
}

@test "events that are lost are told, with the code that the run had" {
  run -125 hermetic run --output-file out --events /dev/full --json outcome.json -- sh -c 'echo 1 >out; exit 0'
  [[ $output == *"cannot write all events to '/dev/full'"*'are lost: No space left on device'* ]]
  [[ $output == *'ended with exit code 0'* ]]
  [ "$(cat out)" = 1 ]
  grep -q '"exit_code": 0' outcome.json
  run -125 hermetic run --events /dev/full -- sh -c 'exit 7'
  [[ $output == *'ended with exit code 7'* ]]
}

@test "a pipe is written to, and one without a reader holds nobody up" {
  mkfifo ../fifo
  run -125 timeout 30 "$HERMETIC_PROGRAM" run --events ../fifo -- true
  [[ $output == *"cannot write the events to '../fifo'"* ]]
  # Open for both sides, it has a reader at once.
  exec 9<>../fifo
  timeout 30 "$HERMETIC_PROGRAM" run --events ../fifo -- true
  while read -r -t 10 line <&9; do
    echo "$line" >>received
    [[ $line != *'"kind":"ended"'* ]] || break
  done
  exec 9>&-
  [ "$(kinds received | tail -n 1)" = ended ]
}

# Reads with pauses, each of them shorter than hermetic's patience of 0.2 s. A try in which the machine itself has made
# one longer says nothing, and is repeated.
@test "a reader that is slow and does not stop gets every event" {
  cat >read_slowly.py <<'PYTHON'
import fcntl
import json
import os
import subprocess
import sys
import time

CONNECTS = 400
REACH = f"""import socket
for _ in range({CONNECTS}):
    try: socket.create_connection(("127.0.0.1", 9))
    except OSError: pass"""

def read_slowly():
    ours, theirs = os.pipe()
    room = fcntl.fcntl(theirs, 1031, 4096)  # F_SETPIPE_SZ
    run = subprocess.Popen([sys.argv[1], "run", "--quiet", "--events", "-", "--", "python3", "-c", REACH], stdout=theirs)
    os.close(theirs)
    text, longest, before = b"", 0, time.monotonic()
    while block := os.read(ours, 4096):
        text += block
        time.sleep(0.005)
        now = time.monotonic()
        longest, before = max(longest, now - before), now
    return run.wait(), text, longest, room

for _ in range(20):
    code, text, longest, room = read_slowly()
    if longest < 0.1:
        break
lines = [json.loads(line) for line in text.splitlines()]
assert len(text) > room + 2 * 65536, "what waits in memory and in the pipe would do"
assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
assert sum(line["act"] == "connect" and line["verdict"] == "deny" for line in lines) == CONNECTS
assert not any(line["kind"] == "lost" for line in lines) and lines[-1]["kind"] == "ended"
assert code == 0, code
PYTHON
  python3 read_slowly.py "$HERMETIC_PROGRAM"
}

# A service that listens where those of a system do, with /run and /dev of its own around it.
@test "the system's log gets each event: the journal its fields, syslog a line" {
  cat >listen.py <<'PYTHON'
import os
import socket
import subprocess
import sys
import threading

place, program = sys.argv[1:]
os.makedirs(os.path.dirname(place), exist_ok=True)
server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
server.bind(place)
received = []
def receive():
    while message := server.recv(65536):
        received.append(message.decode())
reader = threading.Thread(target=receive, daemon=True)
reader.start()
done = subprocess.run([program, "run", "--quiet", "--syslog", "--events", "events.jsonl", "--", "bash", "-c",
                       "exec 3<>/dev/tcp/127.0.0.1/80"])
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
    last.connect(place)
    last.send(b"")
reader.join(30)
assert done.returncode == 1, done
assert len(received) == len(open("events.jsonl").readlines()), received
print("\n".join(received))
PYTHON
  cat >system.sh <<'SHELL'
set -e
mount -t tmpfs none /run
python3 listen.py /run/systemd/journal/socket "$1" >journal
umount /run
mount -t tmpfs none /run
mkdir old
mount --rbind /dev old
mount -t tmpfs none /dev
for name in null zero full random urandom tty; do
  touch /dev/$name
  mount --bind old/$name /dev/$name
done
python3 listen.py /dev/log "$1" >syslog
SHELL
  local options=(-m)
  ((EUID == 0)) || options+=(-U -r)
  unshare "${options[@]}" bash system.sh "$HERMETIC_PROGRAM"
  cat journal syslog
  grep -qx 'SYSLOG_IDENTIFIER=hermetic' journal
  grep -qx 'HERMETIC_SUBJECT=127.0.0.1:80/tcp' journal
  grep -A 9 -x 'HERMETIC_ACT=connect' journal | grep -qx 'HERMETIC_EXECUTABLE=/usr/bin/bash'
  grep -q '^<14>.* hermetic\[[0-9]*\]: .*' syslog
  grep -q '^<12>.* hermetic\[[0-9]*\]: .*127.0.0.1:80/tcp' syslog
}

@test "a run whose system has no log is refused if it is to be written" {
  [ ! -e /dev/log ] && [ ! -e /run/systemd/journal/socket ] || skip "there is a log, which is not for tests"
  run -125 hermetic run --output-file ran --syslog -- touch ran
  [[ $output == *"cannot reach the system's log"* ]]
  [ ! -e ran ]
}

@test "secrets of the caller and of the command are struck out" {
  # A word that an event is sure to hold.
  run -124 hermetic run --quiet --events events.jsonl --timeout 300ms -- sleep 1000
  grep -q '"detail":"wall_time"' events.jsonl
  DEMO_SECRET=wall_time HERMETIC_DEBUG=1 run -124 hermetic run --quiet --events events.jsonl --timeout 300ms -- sleep 1000
  [[ $output == *'stopping'*'[redacted:DEMO_SECRET]'* ]]
  [[ $output != *wall_time* ]]
  grep -q '"detail":"\[redacted:DEMO_SECRET\]"' events.jsonl
  run -124 hermetic run --quiet --events events.jsonl --env DEMO_KEY=wall_time --timeout 300ms -- sleep 1000
  grep -q '"detail":"\[redacted:DEMO_KEY\]"' events.jsonl
}

@test "a secret that is sent as a name is struck out of what people are told, too" {
  run hermetic run --env DEMO_KEY=verysecretword -- python3 -c 'import socket
try: socket.getaddrinfo("verysecretword.example.org", 80)
except OSError: pass'
  [[ $output == *'resolve [redacted:DEMO_KEY].example.org'* ]]
  [[ $output != *verysecretword.* ]]
}

@test "a program for another table of system calls is refused by name" {
  [ "$(uname -m)" = x86_64 ] || skip 'there is no such table here'
  # shellcheck disable=SC2016 # what is quoted is in C
  printf 'int main(void) { long r = 20; __asm__ volatile("int $0x80" : "+a"(r)); return r > 0; }\n' >old.c
  cc -o old old.c
  run -0 ./old || [ "$status" -eq 1 ]
  run -0 "$HERMETIC_PROGRAM" run --input "$PWD" --events old.jsonl --json old.json -- "$PWD/old"
  [[ $output == *"an i386 program was refused: $PWD/old"* ]]
  [ "$(told old.jsonl call act subject verdict rule who)" = "refuse i386 deny system-calls-filtered $PWD/old" ]
  [ "$(python3 -c 'import json; print(*json.load(open("old.json"))["refused_calls"][0].values())')" = "i386 1 $PWD/old" ]
  # One call that the filter refuses, of an ordinary program.
  call='import ctypes; ctypes.CDLL(None).syscall(250, 0, 0, 0, 0, 0)'
  run -0 "$HERMETIC_PROGRAM" run --events call.jsonl -- /usr/bin/python3 -c "$call; $call"
  [[ $output != *keyctl* ]]
  [ "$(told call.jsonl call subject)" = keyctl ]
  run -0 "$HERMETIC_PROGRAM" run --explain -- /usr/bin/python3 -c "$call; $call"
  [[ $output == *'the system call keyctl was refused: /usr/bin/python3'*', 2 times'* ]]
}
