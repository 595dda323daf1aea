#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # what is quoted is expanded in a shell of its own; run sets $output and $stderr
#
# hermetic learn with real programs: each is learned, and then run under what was learned, with nothing lacking.

bats_require_minimum_version 1.5.0

setup() {
  export PATH=/usr/local/bin:/usr/bin:/bin
  work=$BATS_TEST_TMPDIR/work
  mkdir "$work"
  cd "$work" || return 1
}

hermetic() { "$HERMETIC_PROGRAM" "$@"; }

needs() { # program...
  local program
  for program; do
    command -v "$program" >/dev/null && continue
    [ "${HERMETIC_MUST_WORK-}" != 1 ] || return 1
    skip "there is no $program"
  done
}

# Calls `what` with nothing in a copy for whoever calls and, if that is root, with the words that make a command
# nobody's in one for nobody. $as says which.
for_caller_and_nobody() { # what
  chmod 755 "$BATS_RUN_TMPDIR" "$BATS_SUITE_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" 2>/dev/null || true
  for as in caller nobody; do
    local prefix=()
    cp -r "$work" "$BATS_TEST_TMPDIR/$as"
    cd "$BATS_TEST_TMPDIR/$as" || return
    if [ "$as" = nobody ]; then
      ((EUID == 0)) || return 0
      if ! setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$HERMETIC_PROGRAM"; then
        [ "${HERMETIC_MUST_WORK-}" != 1 ] || return 1
        skip "nobody may not execute $HERMETIC_PROGRAM; as the caller it has passed"
      fi
      chown -R 65534:65534 .
      prefix=(setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent)
    fi
    echo "# $as"
    "$1" "${prefix[@]}"
  done
}

# Learns for whoever calls and for nobody; then runs what was learned, and afterwards `check` in the copy.
learn_and_run() { # check command...
  check=$1 command=("${@:2}")
  for_caller_and_nobody learn_and_run_as
}
learn_and_run_as() { # prefix...
  local outcome=$BATS_TEST_TMPDIR/outcome.$as/outcome.json
  mkdir -m 777 "${outcome%/*}"
  "$@" "$HERMETIC_PROGRAM" learn --write hermetic.yaml -- "${command[@]}" </dev/null
  cat hermetic.yaml
  hermetic check hermetic.yaml
  bash -euc "$check"
  "$@" "$HERMETIC_PROGRAM" run --spec hermetic.yaml --json "$outcome" --events "${outcome%/*}/events" </dev/null
  bash -euc "$check"
  python3 - "$outcome" "${outcome%/*}/events" <<'PYTHON'
import json
import sys
outcome = json.load(open(sys.argv[1]))
assert outcome["exit_code"] == 0, outcome
assert outcome.get("violations", []) == [], outcome
# What is in /sys is about the machine, and the spec says that it is left out.
denied = [event for event in map(json.loads, open(sys.argv[2]))
          if event["verdict"] == "deny" and not event["subject"].startswith("/sys/")]
assert denied == [], denied
PYTHON
}

c_project() {
  mkdir src
  for i in 1 2 3 4 5; do echo "int part_$i(void) { return $i; }" >"src/part_$i.c"; done
  echo 'int main(void) { return 0; }' >src/main.c
  echo 'password' >.env
}

@test "a C project built by make into a folder" {
  needs cc make
  c_project
  cat >Makefile <<'MAKE'
build/app: $(patsubst src/%.c,build/%.o,$(wildcard src/*.c))
	cc -o $@ $^
build/%.o: src/%.c
	mkdir -p build
	cc -c $< -o $@
MAKE
  learn_and_run 'test -x build/app; grep -qx "  - path: \$here/build" hermetic.yaml
    grep -qx "    made_by: command" hermetic.yaml; grep -qF -- "- \$here/.env" hermetic.yaml
    ! grep -q in_place hermetic.yaml' make
}

@test "a C project built by make among its sources" {
  needs cc make
  c_project
  cat >Makefile <<'MAKE'
app: $(patsubst %.c,%.o,$(wildcard src/*.c))
	cc -o $@ $^
%.o: %.c
	cc -c $< -o $@
MAKE
  learn_and_run 'test -x app; test -f src/main.o; grep -q in_place hermetic.yaml; cd ..; ! compgen -G ".hermetic-learn-*"' make
}

@test "a CMake project" {
  needs cc cmake make
  echo 'int main(void) { return 0; }' >main.c
  printf 'cmake_minimum_required(VERSION 3.20)\nproject(demo C)\nadd_executable(demo main.c)\n' >CMakeLists.txt
  learn_and_run 'test -x build/demo' sh -c 'cmake -S . -B build && cmake --build build'
}

@test "a Python test run" {
  needs python3
  mkdir package tests
  echo 'def add(a, b): return a + b' >package/__init__.py
  touch tests/__init__.py
  cat >tests/test_add.py <<'PYTHON'
import tempfile
import unittest

from package import add


class Add(unittest.TestCase):
    def test_add(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"x")
        self.assertEqual(add(1, 2), 3)
PYTHON
  learn_and_run 'grep -q "PYTHONDONTWRITEBYTECODE: 1" hermetic.yaml' python3 -m unittest discover -s tests -t .
}

@test "a Node script with a variable" {
  needs node
  mkdir -p node_modules/one
  echo 'exports.one = 1' >node_modules/one/index.js
  cat >main.js <<'NODE'
const fs = require("fs");
if (process.env.MODE !== "fast") process.exit(1);
fs.mkdirSync("dist", {recursive: true});
fs.writeFileSync("dist/out.json", JSON.stringify(require("one")));
NODE
  export MODE=fast DEPLOY_TOKEN=secret
  learn_and_run 'test "$(cat dist/out.json)" = "{\"one\":1}"; grep -qx "    MODE: fast" hermetic.yaml
    grep -qF "\$here/node_modules" hermetic.yaml; ! grep -q secret hermetic.yaml' node main.js
}

@test "git clone from a server of its own" {
  needs git
  [ -x /usr/lib/git-core/git-daemon ] || skip 'there is no git daemon'
  export HOME=$BATS_TEST_TMPDIR/home
  mkdir "$HOME"
  git init -q served/repository
  git -C served/repository -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m first
  cat >clone.sh <<'SCRIPT'
#!/bin/bash
# Each try has a port of its own: somebody else may have it.
for ((try = 0; try < 20; ++try)); do
  port=$((20000 + (BASHPID + try * 97) % 20000))
  git -c safe.directory='*' daemon --listen=127.0.0.1 --port=$port --base-path=served --export-all &
  daemon=$!
  for ((i = 0; i < 20; ++i)); do
    if git clone -q "git://127.0.0.1:$port/repository" copy; then
      kill $daemon
      exit 0
    fi
    kill -0 $daemon || break
    sleep 0.2
  done
done
exit 1
SCRIPT
  chmod +x clone.sh
  learn_and_run 'test -d copy/.git; grep -qx "network: loopback" hermetic.yaml' ./clone.sh
}

@test "curl from a server of its own" {
  needs curl python3
  echo hello >page.txt
  cat >fetch.py <<'PYTHON'
import functools
import http.server
import subprocess
import threading

handler = functools.partial(http.server.SimpleHTTPRequestHandler)
with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
    threading.Thread(target=server.serve_forever).start()
    done = subprocess.run(["curl", "--silent", "--noproxy", "*", "--output", "got.txt",
                           f"http://127.0.0.1:{server.server_port}/page.txt"])
    server.shutdown()
raise SystemExit(done.returncode)
PYTHON
  learn_and_run 'cmp page.txt got.txt; grep -qx "network: loopback" hermetic.yaml' python3 fetch.py
}

# In a network namespace that stands for the world: nothing leaves it.
@test "a host is learned by its name, and reached under the spec" {
  needs curl python3 ip
  printf '127.0.0.1 localhost\n192.0.2.80 web.example.org\n' >hosts
  echo page >index.html
  cat >world.sh <<'SHELL'
set -e
ip link set lo up
ip address add 192.0.2.80/32 dev lo
mount --bind hosts /etc/hosts
python3 -m http.server 80 --bind 192.0.2.80 >/dev/null 2>&1 &
server=$!
trap 'kill $server' EXIT
for _ in $(seq 100); do
  if curl --silent --output ready http://192.0.2.80/; then break; fi
  sleep 0.05
done
"$HERMETIC_PROGRAM" learn --write hermetic.yaml -- curl --silent http://web.example.org/
"$HERMETIC_PROGRAM" run --spec hermetic.yaml --json outcome.json
SHELL
  for_caller_and_nobody learn_a_host
}
learn_a_host() { # prefix...
  local options=(-n -m)
  ((EUID == 0)) && [ "$as" = caller ] || options+=(-U -r)
  run -0 "$@" unshare "${options[@]}" bash world.sh
  [[ $output == *'the spec is proved'* ]]
  grep -q '"web.example.org:80"' hermetic.yaml
  grep -q '"violations": \[\]' outcome.json
}

@test "without a file the spec goes to standard output, and nothing else does" {
  echo x >data
  run -0 --separate-stderr hermetic learn -- sh -c 'printf "no%s\n" ise; cat data'
  [[ $output == '# Learned by'* ]]
  [[ $output != *noise* ]]
  [[ $output == *'- $here/data'* ]]
  [[ $stderr == *noise* ]]
  [[ $stderr == *'the spec is proved'* ]]
}

@test "a secret that is read is left out, said, and the spec not proved" {
  echo key >server.key
  run -1 --separate-stderr hermetic learn --write hermetic.yaml -- cat server.key
  [[ $stderr == *'left out: '*'server.key (it looks like a secret)'* ]]
  [[ $stderr == *"hint: if it is meant, remove the '#' before '$work/server.key' in 'hermetic.yaml', then: hermetic run --spec hermetic.yaml"* ]]
  [[ $stderr == *"'hermetic.yaml' was written, but is not proved"* ]]
  run -1 grep -- '^  - $here/server.key' hermetic.yaml
  # The hint leads to the fix in one step.
  sed -i 's|^  # - $here/server.key|  - $here/server.key|' hermetic.yaml
  run -0 hermetic run --spec hermetic.yaml
  [ "$output" = key ]
  # And learning once more keeps what was declared by hand.
  run -0 hermetic learn --again --write hermetic.yaml
  run -0 grep -- '^  - $here/server.key' hermetic.yaml
}

@test "a secret that the command can do without is said, and the rest proved" {
  mkdir src
  echo key >src/test.pfx
  for i in 1 2 3 4 5; do echo "$i" >"src/$i"; done
  learn_and_run_without='cat src/[1-5] src/test.pfx 2>/dev/null >out || true; test -s out'
  for_caller_and_nobody learn_without_a_secret
}
learn_without_a_secret() { # prefix...
  run -0 --separate-stderr "$@" "$HERMETIC_PROGRAM" learn --write hermetic.yaml -- sh -c "$learn_and_run_without"
  [[ $stderr == *'the spec is proved'*'left out: '*'test.pfx (it looks like a secret)'* ]]
  grep -qx '  # - $here/src/test.pfx' hermetic.yaml
  run -0 "$@" "$HERMETIC_PROGRAM" run --spec hermetic.yaml
  [ "$(cat out)" = "$(printf '1\n2\n3\n4\n5')" ]
}

@test "what the command makes itself is not there when the proof starts" {
  needs cc
  mkdir src
  echo 'int main(void) { return 0; }' >src/main.c
  learn_and_run 'test -x b/app; grep -qx "    made_by: command" hermetic.yaml; ! grep -q in_place hermetic.yaml
    ! test -e conftest' sh -ec 'echo x >conftest; mkdir conf.dir; rmdir conf.dir; rm conftest; mkdir b; cd b; cc ../src/main.c -o app'
}

@test "a program that replaces itself while it runs" {
  needs cc
  printf '#include <stdio.h>\n#include <unistd.h>\nint main(int n, char **w) { unlink(w[0]); return fopen(w[0], "w") ? 0 : 3; }\n' >main.c
  learn_and_run 'test -e app; ! grep -q in_place hermetic.yaml' sh -ec 'cc main.c -o app; ./app'
}

# As busybox is built out of tree: what kbuild writes down about env.o is called .env.o.cmd.
@test "results among sources that are called like secrets" {
  needs make
  mkdir -p coreutils
  for name in cat env ls sort; do echo "$name" >"coreutils/$name.c"; done
  cat >Makefile <<'MAKE'
all: coreutils/cat.o coreutils/env.o coreutils/ls.o coreutils/sort.o
%.o: %.c
	@cp $< $@ && echo cp > $(dir $@).$(notdir $@).cmd
MAKE
  learn_and_run 'test -e coreutils/env.o; test -e coreutils/.env.o.cmd; ! grep -q env.o.cmd hermetic.yaml' make
}

# Tools that keep something below the home directory, as rustup, cargo and npm do.
@test "the caches of tools can be read and changed, and nothing is kept" {
  for_caller_and_nobody learn_with_caches
}
learn_with_caches() { # prefix...
  local user=("$@" env HOME="$PWD/home" PATH="$PWD/home/.cargo/bin:$PATH") before
  "${user[@]}" sh -ec 'mkdir -p home/.cargo/bin home/.cargo/registry home/.rustup/toolchains/stable/bin home/.npm/_cacache project
    echo token >home/.cargo/credentials.toml; echo crate >home/.cargo/registry/crate; echo package >home/.npm/_cacache/package
    printf "#!/bin/sh\nset -e\necho lock >%s/home/.rustup/lock; exec %s/home/.rustup/toolchains/stable/bin/tool\n" "$PWD" "$PWD" >home/.cargo/bin/tool
    cat >home/.rustup/toolchains/stable/bin/tool <<SH
#!/bin/sh
set -e
cat \$HOME/.cargo/registry/crate \$HOME/.npm/_cacache/package >result
echo log >>\$HOME/.npm/log; echo new >\$HOME/.cargo/registry/new; echo >\$HOME/.npm/_cacache/package
echo package >\$HOME/.npm/_cacache/package
SH
    chmod 755 home/.cargo/bin/tool home/.rustup/toolchains/stable/bin/tool'
  cd project || return
  run -0 --separate-stderr "${user[@]}" "$HERMETIC_PROGRAM" learn --write hermetic.yaml -- tool
  cat hermetic.yaml
  grep -q 'over: .*/home/.rustup' hermetic.yaml
  rm -f ../home/.rustup/lock ../home/.npm/log ../home/.cargo/registry/new result
  before=$(find ../home -type f -exec sha256sum {} + | sort)
  run -0 "${user[@]}" "$HERMETIC_PROGRAM" run --spec hermetic.yaml
  [ "$(cat result)" = "$(printf 'crate\npackage')" ]
  [ "$before" = "$(find ../home -type f -exec sha256sum {} + | sort)" ]
  # The token beside the registry stays hidden.
  run ! "${user[@]}" "$HERMETIC_PROGRAM" run --spec hermetic.yaml -- cat "$(cd .. && pwd)/home/.cargo/credentials.toml"
}

@test "another run is added to a spec, and the same one changes nothing" {
  for_caller_and_nobody learn_again
}
learn_again() { # prefix...
  "$@" sh -ec 'echo 1 >one; echo 2 >two; mkdir data; touch data/1 data/2; echo "cat \$1 >result" >script'
  run -0 "$@" "$HERMETIC_PROGRAM" learn --write hermetic.yaml -- sh script one
  run -0 "$@" "$HERMETIC_PROGRAM" learn --again --write hermetic.yaml -- sh script two
  cat hermetic.yaml
  cp hermetic.yaml first.yaml
  grep -qx 'command: \[sh, script, one\]' hermetic.yaml
  run -0 "$@" "$HERMETIC_PROGRAM" run --spec hermetic.yaml
  [ "$(cat result)" = 1 ]
  run -0 "$@" "$HERMETIC_PROGRAM" run --spec hermetic.yaml -- sh script two
  [ "$(cat result)" = 2 ]
  run -0 "$@" "$HERMETIC_PROGRAM" learn --again --write hermetic.yaml -- sh script two
  run -0 "$@" "$HERMETIC_PROGRAM" learn --again --write hermetic.yaml
  run -0 diff first.yaml hermetic.yaml
  run -2 "$@" "$HERMETIC_PROGRAM" learn --again -- sh script two
  echo 'limits: {memory: 1G}' >>hermetic.yaml
  run -2 --separate-stderr "$@" "$HERMETIC_PROGRAM" learn --again --write hermetic.yaml
  [[ $stderr == *'sets limits.memory, which learning does not write'* ]]
  cd data || return
  run -2 --separate-stderr "$@" "$HERMETIC_PROGRAM" learn --again --write ../first.yaml
  [[ $stderr == *'was learned in'* ]]
}

@test "what is done is said now and then" {
  run -0 --separate-stderr hermetic learn --unproved --write hermetic.yaml -- sleep 11
  [[ $stderr == *'hermetic: 10s  observing  sleep'* ]]
  run -0 --separate-stderr hermetic learn --unproved --quiet --write hermetic.yaml -- sleep 11
  [ "$stderr" = '' ]
}

@test "a command that fails teaches nothing" {
  run -3 --separate-stderr hermetic learn --write hermetic.yaml -- sh -c 'exit 3'
  [[ $stderr == *'nothing is learned'* ]]
  [ ! -e hermetic.yaml ]
  run -127 hermetic learn -- no-such-program
  run -2 hermetic learn
  run -2 hermetic learn word -- true
}

@test "values that look like secrets are not learned, and a command that has one is told of" {
  cat >script <<'SH'
echo "$DATABASE_URL $PLAIN_SETTING $GREETING" >/dev/null
SH
  export DATABASE_URL=postgres://user:hunter2secret@localhost/x PLAIN_SETTING=ghp_0123456789abcdefghijABCDEFGHIJ012345
  export GREETING=hello
  run -0 hermetic learn --write hermetic.yaml -- sh script
  cat hermetic.yaml
  grep -q 'GREETING: hello' hermetic.yaml
  grep -q 'variable DATABASE_URL looks like a secret' hermetic.yaml
  run ! grep -q 'hunter2secret\|ghp_' hermetic.yaml
  run -0 hermetic learn --write hermetic.yaml -- sh script --token=verysecretword
  grep -q 'has what looks like a secret in it' hermetic.yaml
}

@test "what replaces a file by renaming is learned, too" {
  echo 1 >data
  cat >step.sh <<'SCRIPT'
#!/bin/sh
sed s/1/2/ data >data.new && mv data.new data
SCRIPT
  chmod +x step.sh
  learn_and_run 'grep -qx 2 data' ./step.sh
}

@test "absent names, listings and programs are in the JSON" {
  echo x >data
  run -0 --separate-stderr hermetic learn --json -- sh -c 'ls >/dev/null; cat data nothing || true'
  python3 - "$output" "$work" <<'PYTHON'
import json
import sys
lesson = json.loads(sys.argv[1])
paths = {path["path"]: path for path in lesson["paths"]}
work = sys.argv[2]
assert lesson["proved"] is True
assert paths[work + "/nothing"]["absent"] is True
assert paths[work + "/data"]["read"] and not paths[work + "/data"]["absent"]
assert paths[work]["listed"] is True
assert any(path["executed"] and name.endswith("/cat") for name, path in paths.items())
PYTHON
}

@test "a variable that only getenv tells of is heard on request" {
  needs cc
  printf '#include <stdlib.h>\nint main(void) { return getenv("RATHER_RARE") ? 0 : 3; }\n' >main.c
  cc main.c -o main
  rm main.c
  export RATHER_RARE=1 ALSO_RARE=1
  for_caller_and_nobody learn_a_variable
}
learn_a_variable() { # prefix...
  run -1 --separate-stderr "$@" "$HERMETIC_PROGRAM" learn --write hermetic.yaml -- ./main
  [[ $stderr == *'hint: no file is lacking, so it may need a variable; this finds out which: hermetic learn --variables --write hermetic.yaml -- ./main'* ]]
  run -0 --separate-stderr "$@" "$HERMETIC_PROGRAM" learn --write hermetic.yaml --variables -- ./main
  run -0 grep -c RARE hermetic.yaml
  [ "$output" = 1 ]
}

@test "a violation under the spec is no proof" {
  needs python3
  cat >ask.py <<'PYTHON'
import socket
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 53))
except OSError:
    pass
PYTHON
  # Name servers are not declared: names are.
  run -1 --separate-stderr hermetic learn --write hermetic.yaml -- python3 ask.py
  [[ $stderr == *'violation: '*'127.0.0.1:53'*'put '"'"'network: ["127.0.0.1:53"]'* ]]
}

@test "what is left running is ended" {
  run -0 --separate-stderr hermetic learn --unproved -- sh -c 'sleep 1000 >/dev/null 2>&1 & echo $! >pid'
  run -1 kill -0 "$(cat pid)"
}

@test "the difference shows what was not needed" {
  mkdir used unused
  echo x >used/file
  cat >hermetic.yaml <<'SPEC'
version: 1
command: [cat, $here/used/file]
inputs: [/usr, /bin, /lib, /lib64, /etc/ld.so.cache, $here/used, $here/unused]
SPEC
  sed -i 's|\[cat, $here|[cat, '"$work"'|' hermetic.yaml
  run -0 --separate-stderr hermetic learn --diff hermetic.yaml
  [[ $output == *"input $work/unused: nothing in it was used"* ]]
  [[ $output == *"input $work/used: only this was used of it: $work/used/file"* ]]
  run -0 --separate-stderr hermetic learn --diff hermetic.yaml --json
  [[ $output == '{"needless":['* ]]
  run -1 --separate-stderr hermetic learn --diff hermetic.yaml -- cat /no-such-file
}

@test "the difference shows hosts and variables that were not needed" {
  needs python3
  cat >hermetic.yaml <<'SPEC'
version: 1
command: [python3, -c, "import socket\ntry: socket.create_connection(('127.0.0.1', 9), 5)\nexcept OSError: pass"]
inputs: [/usr, /bin, /lib, /lib64, /etc/ld.so.cache]
network: ["127.0.0.1:9", unused.example.org]
environment: {pass: [NEVER_ASKED, LANG]}
SPEC
  run -0 --separate-stderr hermetic learn --diff hermetic.yaml
  [[ $output == *'network unused.example.org: nobody was reached by it'* ]]
  [[ $output != *'network 127.0.0.1'* ]]
  [[ $output != *NEVER_ASKED* ]]
  cat >hermetic.yaml <<'SPEC'
version: 1
command: [ls, -l, /usr]
inputs: [/usr, /bin, /lib, /lib64, /etc/ld.so.cache]
network: loopback
environment: {pass: [NEVER_ASKED, TERM]}
SPEC
  export NEVER_ASKED=1
  run -0 --separate-stderr hermetic learn --diff hermetic.yaml --variables
  [[ $output == *'network loopback: nobody was reached'* ]]
  [[ $output == *'environment.pass NEVER_ASKED: no program was heard asking for it'* ]]
}

@test "a destination that is only in a message is heard" {
  needs python3
  cat >tell.py <<'PYTHON'
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.sendmsg([b"x"], [], 0, ("127.0.0.1", 9))
PYTHON
  run -0 --separate-stderr hermetic learn --json --unproved -- python3 tell.py
  [[ $output == *'"reached":["127.0.0.1:9"]'* ]]
}
