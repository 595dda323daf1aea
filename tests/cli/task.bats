#!/usr/bin/env bats
# Tasks as their users see them: hermetic task, with commands that work and commands that do harm.

# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # what is quoted is for inside; each test is a shell of its own

bats_require_minimum_version 1.5.0

load both_users # and has $prefix

# One repository and one cache for all tests: what is made once need not be made again for each.
setup_file() {
  export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
  export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
  export GIT_CONFIG_KEY_1=protocol.file.allow GIT_CONFIG_VALUE_1=always
  export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
  export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
  cd "$BATS_FILE_TMPDIR" || return
  git init --quiet --initial-branch=main repo
  cd repo || return
  mkdir sub
  echo content >file
  echo gone >gone
  echo inner >sub/inner
  printf '#!/bin/sh\necho ran\n' >program
  chmod 755 program
  ln -s sub/inner link
  ln -s /etc/passwd away
  echo '*.bin filter=lfs diff=lfs merge=lfs -text' >.gitattributes
  printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 12\n' 7 >large.bin
  git add .
  git commit --quiet -m first
  git tag v1
  echo later >later
  git add .
  git commit --quiet -m second
  git branch side
  begin_both "$HERMETIC_PROGRAM" task run --repo . --task-id t
}

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  chmod 755 "$BATS_TEST_TMPDIR"
  repo=$BATS_FILE_TMPDIR/repo
  make_place
}
make_place() { scratch=$PWD/scratch; }

hermetic() { timeout 100 "${prefix[@]}" "$HERMETIC_PROGRAM" "$@"; }
task() { hermetic task run --repo "$repo" --task-id t --scratch "$scratch" "$@"; }

# Everything that can be told about a tree but who has read it.
picture() { (cd "$1" && find . -printf '%p %y %m %n %U %s %T@ %C@ %l\n' | sort && find . -type f -exec sha256sum {} + | sort); }

value() { /usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"; }

# No folder, no journal, no mount.
nothing_left() {
  [ ! -e "$scratch" ]
  [ -z "$(ls -A "$HERMETIC_CACHE/journals")" ]
  if compgen -G "$HERMETIC_CACHE/*.making"; then return 1; fi
  if grep -F "$BATS_TEST_TMPDIR" /proc/self/mountinfo; then return 1; fi
}

# Even if the sandbox failed, nothing would leave: an empty network is around it all.
in_empty_network() {
  if [ "$(id -u)" = 0 ]; then unshare --net -- "$@"; else unshare --user --map-root-user --net -- "$@"; fi
}

git_works() {
  local before
  before=$(picture "$repo")
  task -- sh -euc '
    test -z "$(git status --porcelain)"
    test "$(git log --format=%s | tr "\n" " ")" = "second first "
    test "$(git rev-parse HEAD)" = "$1"
    echo more >>file
    if git diff --quiet; then exit 1; fi
    git commit --quiet -am third
    git checkout --quiet -b other
    test "$(git rev-list --count HEAD)" = 3
    git fsck --strict --no-dangling
    git stash list; git gc --quiet; git status' sh "$(git -C "$repo" rev-parse HEAD)"
  [ "$(picture "$repo")" = "$before" ]
  [ "$(git -C "$repo" worktree list | wc -l)" = 1 ]
  nothing_left
}
@test "git works inside, and the source stays as it is to the byte" { as_both git_works; }

nothing_later() {
  # The control: it is there to be found.
  git -C "$repo" log --all --format=%s | grep second
  later=$(git -C "$repo" rev-parse HEAD)
  task --sha v1 -- sh -euc '
    test "$(git log --all --reflog --format=%s)" = first
    git cat-file --batch-all-objects --batch-check >objects
    if grep "$1" objects; then exit 1; fi
    test "$(grep -c commit objects)" = 1
    test -z "$(git for-each-ref)$(git remote)"
    if git cat-file -e "$1" 2>/dev/null; then exit 1; fi
    if grep -r "$1" .git; then exit 1; fi
    test ! -e later' sh "$later"
}
@test "what came later cannot be found inside" { as_both nothing_later; }

@test "a commit is named by whatever names it, and by nothing else" {
  first=$(git -C "$repo" rev-parse v1)
  for name in v1 "${first:0:10}" HEAD~1 "$first" side~1 main^; do
    [ "$(task --sha "$name" -- git rev-parse HEAD)" = "$first" ]
  done
  for name in nothing -v1 --help 'v1:file' "$(printf 'v1\nx')" '' ' '; do
    [ -n "$name" ] || continue
    run -2 task --sha "$name" -- true
  done
  for name in 0123456789abcdef0123456789abcdef01234567 "$(git -C "$repo" rev-parse v1:file)"; do
    run -2 task --sha "$name" -- true
    [[ $output == *"'$name' names no commit of"*'git log shows the commits'* ]]
  done
  run -2 hermetic task run --repo "$BATS_TEST_TMPDIR" --task-id t -- true
  [[ $output == *'is no git repository'* ]]
  nothing_left
}

files_as_committed() {
  task -- sh -euc '
    test "$(stat -c %a file)" = 644
    test "$(stat -c %a program)" = 755
    test "$(./program)" = ran
    test "$(readlink link)" = sub/inner
    test "$(cat link)" = inner
    test "$(readlink away)" = /etc/passwd
    head -n 1 large.bin | grep "^version https://git-lfs"
    test "$(stat -c %Y file)" = 1577836800'
}
@test "files are as the commit has them" { as_both files_as_committed; }

@test "a source may be bare, a worktree, shallow, borrowing, packed or of SHA-256" {
  git clone --quiet --bare "$repo" bare
  git clone --quiet --depth 1 "file://$repo" shallow
  git -C shallow worktree add --quiet --detach ../tree
  git clone --quiet --shared "$repo" shared
  git clone --quiet shared borrower --reference shared
  git -C shared pack-refs --all
  git init --quiet --object-format=sha256 sha256
  echo 256 >sha256/file
  git -C sha256 add .
  git -C sha256 commit --quiet -m second
  repo=
  for source in bare shallow tree shared borrower sha256; do
    echo "# $source"
    borrow=()
    case $source in
    tree) borrow=(--borrow shallow) ;;
    shared) borrow=(--borrow "$BATS_FILE_TMPDIR/repo") ;;
    borrower) borrow=(--borrow shared --borrow "$BATS_FILE_TMPDIR/repo") ;;
    esac
    if [ -n "${borrow[*]}" ]; then
      run -2 hermetic task run --repo "$source" --task-id t --scratch "$scratch" -- true
      [[ $output == *"the repository '$PWD/$source' has "*"outside of itself: '"*"name it with --borrow"* ]]
    fi
    [ "$(hermetic task run --repo "$source" "${borrow[@]}" --task-id t --scratch "$scratch" -- \
      sh -c 'git log -1 --format=%s; git status --porcelain; git fsck 2>&1 >/dev/null')" = second ]
  done
  nothing_left
}

submodules_are_there() {
  git init --quiet library
  echo library >library/code
  git -C library add .
  git -C library commit --quiet -m library
  git init --quiet project
  repo=$PWD/project
  git -C project submodule --quiet add "$PWD/library" 'path of/it'
  git -C project commit --quiet -m project
  task --manifest m.json -- sh -euc 'test "$(cat "path of/it/code")" = library
    test -z "$(git status --porcelain)"; cd "path of/it"; git log --format=%s'
  [ "$(value m.json submodules_missing)" = "[]" ]
  present=$(value m.json stable_hash)
  mv project/.git/modules modules
  task --manifest m.json -- sh -euc 'test -z "$(ls -A "path of/it")"' 2>said
  [ "$(value m.json submodules_missing)" = "['path of/it']" ]
  [ "$(value m.json stable_hash)" != "$present" ]
  [ "$(cat said)" = "hermetic: submodules that the repository lacks are empty: path of/it
  hint: git -C $repo submodule update --init fetches them" ]
  task --quiet -- true 2>said
  [ ! -s said ]
  mv modules project/.git/modules
  task -- test -e 'path of/it/code'
}
@test "submodules are there if the source has them, as soon as it has them" { as_both submodules_are_there; }

# As `git submodule add` leaves what was cloned there before.
inner_submodules_are_there() {
  local name
  for name in deep library; do
    git init --quiet "$name"
    echo "$name" >"$name/code"
    git -C "$name" add .
    git -C "$name" commit --quiet -m "$name"
  done
  git clone --quiet "$PWD/deep" library/inner
  git -C library submodule --quiet add "$PWD/deep" inner
  git -C library commit --quiet -m inner
  git init --quiet project
  repo=$PWD/project
  git clone --quiet "$PWD/library" 'project/path of/it'
  git clone --quiet "$PWD/deep" 'project/path of/it/inner'
  git -C project submodule --quiet add "$PWD/library" 'path of/it'
  git -C project commit --quiet -m project
  [ -d 'project/path of/it/.git' ]
  [ -d 'project/path of/it/inner/.git' ]
  task --manifest m.json -- sh -euc 'test "$(cat "path of/it/code")" = library
    test -z "$(git status --porcelain)"; cd "path of/it"; test "$(git log -1 --format=%s)" = inner; cat inner/code' >said
  [ "$(cat said)" = deep ]
  [ "$(value m.json submodules_missing)" = "[]" ]
  # What comes to one later is there.
  echo new >library/code
  git -C library commit --quiet -am new
  git -C project update-index --cacheinfo "160000,$(git -C library rev-parse HEAD),path of/it"
  git -C project commit --quiet -m update
  task --manifest m.json -- sh -euc 'test -z "$(ls -A "path of/it")"'
  [ "$(value m.json submodules_missing)" = "['path of/it']" ]
  git -C 'project/path of/it' fetch --quiet
  task --manifest m.json -- sh -euc 'test "$(cat "path of/it/code")" = new'
  [ "$(value m.json submodules_missing)" = "[]" ]
  # A link leads to nobody else's.
  mv 'project/path of/it' other
  ln -s "$PWD/other" 'project/path of/it'
  task --manifest m.json -- sh -euc 'test -z "$(ls -A "path of/it")"'
  [ "$(value m.json submodules_missing)" = "['path of/it']" ]
}
@test "submodules that have their repository in the worktree are there" { as_both inner_submodules_are_there; }

stale_submodules() {
  git init --quiet library
  git -C library commit --quiet --allow-empty -m library
  git init --quiet project
  repo=$PWD/project
  git -C project submodule --quiet add "$PWD/library" library
  git -C project commit --quiet -m project
  # Somebody else has updated it, and here only the project was fetched.
  echo new >library/code
  git -C library add .
  git -C library commit --quiet -m new
  git -C project update-index --cacheinfo "160000,$(git -C library rev-parse HEAD),library"
  git -C project commit --quiet -m update
  for _ in 1 2; do
    task --manifest m.json -- sh -euc 'test -z "$(ls -A library)"'
    [ "$(value m.json submodules_missing)" = "['library']" ]
  done
  git -C project/library fetch --quiet
  task --manifest m.json -- sh -euc 'test "$(cat library/code)" = new'
  [ "$(value m.json submodules_missing)" = "[]" ]
}
@test "a submodule without the recorded commit is missing, until it has it" { as_both stale_submodules; }

# Objects that it borrows from elsewhere, or fetches when they are needed.
incomplete_submodules() {
  git init --quiet library
  git -C library config uploadpack.allowFilter true
  echo library >library/code
  git -C library add .
  git -C library commit --quiet -m library
  git init --quiet project
  repo=$PWD/project
  git clone --quiet --shared "$PWD/library" project/shared
  git -C project/shared commit --quiet --allow-empty -m more
  git clone --quiet --filter=blob:none --no-checkout "file://$PWD/library" project/partial
  git clone --quiet "$PWD/library" project/whole
  for name in partial shared whole; do
    git -C project config -f .gitmodules "submodule.$name.path" "$name"
    git -C project update-index --add --cacheinfo "160000,$(git -C "project/$name" rev-parse HEAD),$name"
  done
  git -C project add .gitmodules
  git -C project commit --quiet -m project
  for _ in 1 2; do
    task --manifest m.json -- sh -euc 'test -z "$(ls -A partial shared | grep -v :)"; cat whole/code'
    [ "$(value m.json submodules_missing)" = "['partial', 'shared']" ]
    # As those that git has put to its own folder.
    git -C project submodule --quiet absorbgitdirs
    [ ! -d project/whole/.git ]
  done
}
@test "a submodule that lacks a part of its commit is missing" { as_both incomplete_submodules; }

@test "a submodule that lies in none of the wanted directories is not there" {
  git init --quiet project
  repo=$PWD/project
  for name in in out; do
    mkdir -p "project/$name/folder"
    echo "$name" >"project/$name/folder/file"
    git init --quiet "project/$name/sub"
    echo "$name" >"project/$name/sub/code"
    git -C "project/$name/sub" add .
    git -C "project/$name/sub" commit --quiet -m "$name"
    git -C project config -f .gitmodules "submodule.$name.path" "$name/sub"
    git -C project -c advice.addEmbeddedRepo=false add .
  done
  git -C project commit --quiet -m project
  task --sparse in --manifest m.json -- sh -euc 'test "$(cat in/sub/code)" = in
    test ! -e out; test -z "$(git status --porcelain)"'
  [ "$(value m.json submodules_missing)" = "[]" ]
}

compared_with() {
  task --base-sha v1 --manifest m.json -- true
  [ "$(value m.json base_sha)" = "$(git -C "$repo" rev-parse v1)" ]
  [ "$(value m.json repo_sha)" = "$(git -C "$repo" rev-parse HEAD)" ]
  usual=$(value m.json stable_hash)
  task --manifest m.json -- true
  [ "$(value m.json base_sha)" = "$(git -C "$repo" rev-parse HEAD)" ]
  [ "$(value m.json stable_hash)" != "$usual" ]
  for name in nothing 0123456789abcdef0123456789abcdef01234567; do
    run -2 task --base-sha "$name" -- echo ran
    [[ $output == *"names no commit"* && $output != *ran* ]]
  done
}
@test "the base of a commit is another one, if it is one at all" { as_both compared_with; }

environment_works() {
  task --seed 7 -- bash -euc '
    test "$(python -c "import sys; print(sys.prefix, sys.prefix != sys.base_prefix)")" = "/task/venv True"
    test "$VIRTUAL_ENV" = /task/venv
    test "$PYTHONHASHSEED $HERMETIC_SEED $HERMETIC_TASK_ID" = "7 7 t"
    python -m pip --version
    pip list --disable-pip-version-check >/dev/null
    test -w "$HERMETIC_SCRATCH"
    unset VIRTUAL_ENV
    PATH=/usr/bin:/bin
    . /task/venv/bin/activate
    test "$(command -v python)" = /task/venv/bin/python
    rm /task/venv/bin/python3
    echo broken >/task/venv/bin/python3
    rm /task/venv/pyvenv.cfg'
  # The next one has nothing of it.
  task -- python -c 'import sys; assert sys.prefix == "/task/venv"'
  nothing_left
}
@test "the environment is a fresh one each time" { as_both environment_works; }

@test "another interpreter makes another environment, wherever it is" {
  # As those are that somebody has compiled: a program and its library, which is no place of the system's, and more beside.
  mkdir -p other/bin other/lib
  cp "$(readlink -f /usr/bin/python3)" other/bin/
  interpreter=$(echo "$PWD"/other/bin/*)
  echo >>"$interpreter" # another program, which does the same
  library=$(/usr/bin/python3 -c 'import os; print(os.path.dirname(os.__file__))')
  (cd "$library/.." && tar -c --exclude=test --exclude='*-packages' "${library##*/}") | tar -x -C other/lib
  echo key >other/secret
  ln -s "${interpreter##*/}" other/bin/python3
  ln -s nowhere other/lib/python3.9
  task --manifest usual.json -- true
  task --manifest other.json --python other/bin/python3 -- true
  task --python other/bin/python3 -- python -c 'import os, sys
assert os.path.realpath(sys.executable) == sys.argv[1], sys.executable
assert sys.prefix == "/task/venv" and os.__file__.startswith(sys.argv[2] + "/lib/"), os.__file__
assert sorted(os.listdir(sys.argv[2])) == ["bin", "lib"]' "$interpreter" "$PWD/other"
  [ "$(value usual.json venv_hash)" != "$(value other.json venv_hash)" ]
  [ "$(value usual.json stable_hash)" != "$(value other.json stable_hash)" ]
  run -125 task --python no-such-program -- echo ran
  [[ $output == *"cannot find 'no-such-program'"* && $output != *ran* ]]
  nothing_left
}

# A wheel, made by hand.
make_wheel() { # folder text
  mkdir -p "$1"
  /usr/bin/python3 - "$1/tiny-1.0-py3-none-any.whl" "$2" <<'PYTHON'
import sys
import zipfile
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    for name, text in {
        "tiny.py": f"said = {sys.argv[2]!r}\n",
        f"__pycache__/tiny.{sys.implementation.cache_tag}.pyc": "not made of it",
        "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
        "tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "tiny-1.0.dist-info/RECORD": "tiny.py,,\n",
    }.items():
        wheel.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), text)
PYTHON
}

wheels_are_installed() {
  make_wheel 'the wheels' right
  digest=$(sha256sum 'the wheels/tiny-1.0-py3-none-any.whl' | cut -d' ' -f1)
  printf 'tiny==1.0 \\\n    --hash=sha256:%s # its own\n' "$digest" >hashed
  task --lockfile hashed --wheels 'the wheels' --manifest m.json -- python -c 'import tiny; print(tiny.said)' >said
  [ "$(cat said)" = right ]
  [ "$(value m.json lockfile_sha)" = "$(sha256sum hashed | cut -d' ' -f1)" ]
  [ "$(value m.json lockfile_has_hashes)" = True ]
  # All of it is compiled, by us, and nothing else is; pip finds nothing wrong.
  task --lockfile hashed --wheels 'the wheels' -- sh -ec 'cd /task/venv; pip check >&2
    find . -name "*.py" | sed -E "s,([^/]*)\.py$,__pycache__/\1.cpython-XY.pyc," | sort >/tmp/wanted
    find . -name "*.pyc" | sed -E "s,cpython-[0-9]+,cpython-XY," | sort | diff /tmp/wanted -; ! grep -r "not made of it" .'
  # What its hashes pin is the same, wherever it came from.
  mv 'the wheels' elsewhere
  [ "$(task --lockfile hashed --wheels elsewhere --manifest n.json -- python -c 'import tiny; print(tiny.said)')" = right ]
  [ "$(value m.json venv_hash)" = "$(value n.json venv_hash)" ]
  # The command is the same, what it can import is not.
  [ "$(value m.json stable_hash)" = "$(value n.json stable_hash)" ]
  task --manifest bare.json -- python -c 'import tiny; print(tiny.said)' 2>/dev/null || [ $? = 1 ]
  [ "$(value m.json stable_hash)" != "$(value bare.json stable_hash)" ]
  nothing_left
  # Nobody pins it, and somebody puts another one there.
  [ "$(value bare.json lockfile_has_hashes)" = None ]
  echo 'tiny==1.0' >loose
  make_wheel loosely first
  [ "$(task --lockfile loose --wheels loosely -- python -c 'import tiny; print(tiny.said)')" = first ]
  make_wheel loosely other # of the same size
  [ "$(task --lockfile loose --wheels loosely -- python -c 'import tiny; print(tiny.said)')" = other ]
  run -2 task --lockfile loose -- echo ran
  [[ $output == *'where the packages'*--wheels* && $output != *ran* ]]
}
@test "packages come from wheels, and are what the lockfile pins" {
  make_wheel wheels wrong
  printf 'tiny==1.0 \\\n    --hash=sha256:%064d\n' 0 >wrong
  hermetic task run --repo "$repo" --task-id t --scratch wrong.scratch --lockfile wrong --wheels wheels -- true >wrong.out 2>&1 &
  refused=$!
  as_both wheels_are_installed
  wait "$refused" && return 1
  grep HASHES "$BATS_TEST_TMPDIR/wrong.out"
}

@test "a lockfile that could fetch anything is refused, with its line" {
  for line in '-e .' '--index-url https://example.org' 'tiny' 'tiny @ file:///tmp/tiny' $'tiny==1.0\f-e .' \
    'tiny==1.0 --index-url=x'; do
    printf '# first\n%s\n' "$line" >lock
    run -2 task --lockfile lock -- true
    [[ $output == *'lock:2:'* ]]
  done
}

network_is_closed() {
  # The control: in this network of its own there is somebody to talk to.
  cat >talk.py <<'PYTHON'
import socket
import sys
try:
    server = socket.socket(socket.AF_UNIX)
    server.connect("\0task-test")
    print("unix")
except OSError:
    pass
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    try:
        socket.create_connection((address, 4747), 2)
        print(address)
    except OSError:
        pass
print("done")
PYTHON
  cat >inside.sh <<'SHELL'
set -eu
ip link set lo up
/usr/bin/python3 -c '
import socket
tcp = socket.create_server(("127.0.0.1", 4747))
unix = socket.socket(socket.AF_UNIX)
unix.bind("\0task-test")
unix.listen()
print("ready", flush=True)
input()' <"$1" >ready &
exec 3>"$1"
for i in $(seq 100); do grep -q ready ready && break; sleep 0.05; done
test "$(/usr/bin/python3 talk.py | tr '\n' ' ')" = "unix 127.0.0.1 done "
shift
test "$("$@" -- python -c "$(cat talk.py)")" = done
SHELL
  mkfifo pipe
  in_empty_network timeout 60 sh inside.sh "$PWD/pipe" "${prefix[@]}" "$HERMETIC_PROGRAM" task run --repo "$repo" \
    --task-id t --scratch "$scratch"
}
@test "the network is closed" { as_both network_is_closed; }

manifest_is_whole() {
  echo model >model
  printf 'models: {main: model}\nquantization: {main: q4}\n' >config.yaml
  task --seed 3 --config config.yaml --manifest m.json --metrics metrics.json -- \
    sh -c 'echo new >new; rm gone; echo s >"$HERMETIC_SCRATCH/log"; exit 5' || [ $? = 5 ]
  /usr/bin/python3 - "$repo" "$scratch" <<'PYTHON'
import hashlib
import json
import subprocess
import sys
m = json.load(open("m.json"))
for key in """task_id run_id seed repo_sha base_sha config_hash lockfile_sha venv_hash os_fingerprint hermetic scratch_path
    worktree_path venv_path model_shas tokenizer_shas quantization durations stable_hash""".split():
    assert key in m, key
assert "unknown" not in json.dumps(m).lower(), m
sha = subprocess.check_output(["git", "-C", sys.argv[1], "rev-parse", "HEAD"], text=True).strip()
assert m["task_id"] == "t" and m["seed"] == 3 and m["repo_sha"] == m["base_sha"] == sha
assert m["hermetic"] is True and m["exit_code"] == 5 and m["failure"] == "command"
assert m["config_hash"] == hashlib.sha256(open("config.yaml", "rb").read()).hexdigest()
assert m["model_shas"] == {"main": hashlib.sha256(b"model\n").hexdigest()}
assert m["tokenizer_shas"] is None and m["quantization"] == {"main": "q4"} and m["lockfile_sha"] is None
assert m["scratch_path"] == f"{sys.argv[2]}/t/{m['run_id']}"
assert [(c["change"], c["path"]) for c in m["changes"]] == [("removed", "gone"), ("added", "new")], m["changes"]
assert m["scratch"] == [{"path": "log", "size_bytes": 2}]
assert m["cleanup"]["left"] == [] and sorted(m["cleanup"]["made"]) == sorted(m["cleanup"]["removed"])
assert set(m["os_fingerprint"]) == {"machine", "platform", "processor", "python_version"}
assert all(m["os_fingerprint"].values())
metrics = json.load(open("metrics.json"))
assert metrics["runs"] == 1 and metrics["sandbox_setup_ms_p50"] > 0
parts = m["durations"]
assert 0 < parts["checkout_ms"] + parts["environment_ms"] < parts["setup_ms"]
PYTHON
}
@test "the manifest has every key, and nothing is unknown" { as_both manifest_is_whole; }

stable_hash() {
  task --manifest "$PWD/hash.json" "$@" >/dev/null 2>&1 || true
  value hash.json stable_hash
}

@test "equal tasks have equal hashes, others have not" {
  echo one >config
  usual=$(stable_hash -- true)
  [ "$(stable_hash -- true)" = "$usual" ]
  scratch=$PWD/elsewhere
  [ "$(stable_hash --metrics metrics.json -- true)" = "$usual" ]
  {
    echo "$usual"
    stable_hash -- true x
    stable_hash -- echo $'\xff'
    stable_hash -- echo '\xff'
    stable_hash --seed 0 -- true
    stable_hash --seed 1 -- true
    stable_hash --sha v1 -- true
    stable_hash --config config -- true
    stable_hash --env A=1 -- true
    stable_hash --env A=2 -- true
    stable_hash --timeout 50s -- true
    stable_hash --input "$PWD/config" -- true
    stable_hash --on-violation fail -- true
    stable_hash --network loopback -- true
    stable_hash --allow-host example.org -- true
    stable_hash --allow-host example.com -- true
    stable_hash --task-id u -- true
    echo two >config
    stable_hash --config config -- true
  } >hashes
  # What is passed on has a value, and what a config names has a content.
  echo 'models: {main: model}' >naming
  for value in 1 2; do
    export PASSED=$value
    stable_hash --pass-env PASSED -- true
    echo "$value" >model
    stable_hash --config naming -- true
  done >>hashes
  [ "$(wc -l <hashes)" = 22 ]
  [ -z "$(sort hashes | uniq -d)" ]
  [ "$(stable_hash --config naming -- true)" = "$(tail -n 1 hashes)" ]
  # Of a secret there is nothing to be tried out.
  export API_TOKEN=1
  weak=$(stable_hash --pass-env API_TOKEN -- true)
  [ "$(API_TOKEN=2 stable_hash --pass-env API_TOKEN -- true)" = "$weak" ]
}

ends_cleanly() {
  task -- true
  nothing_left
  run -3 task -- sh -c 'exit 3'
  nothing_left
  run -127 task -- no-such-program
  nothing_left
  run -124 task --timeout 300ms -- sleep 4747
  nothing_left
  run -137 task -- sh -c 'kill -KILL $$'
  nothing_left
  task -- sh -c 'echo >"$HERMETIC_SCRATCH/ready"; exec sleep 4747' &
  local pid=$!
  for ((i = 0; i < 200; ++i)); do
    if compgen -G "$scratch/t/*/scratch/upper/ready" >/dev/null; then break; fi
    sleep 0.05
  done
  # The signal is for hermetic, which timeout(1) waits for.
  kill -INT "$(cat "/proc/$pid/task/$pid/children")" 2>/dev/null || kill -INT "$pid"
  wait "$pid" && return 1
  nothing_left
  if grep -lsz '^4747$' /proc/[0-9]*/cmdline; then return 1; fi
}
@test "nothing is left, however it ends" { as_both ends_cleanly; }

# Runs a script apart from the machine's own: what others have left behind is none of our business. It begins where we
# are, has $program, $repo and the user's prefix as its arguments.
apart() { # SCRIPT
  local unshare=(unshare --mount) work=$PWD
  ((EUID == 0)) || unshare=(unshare --user --map-root-user --mount)
  exec 9<"$HERMETIC_PROGRAM" # which may lie in what is covered then
  cd / || return
  timeout 100 "${unshare[@]}" bash -euo pipefail -c '
    program=/proc/self/fd/9 run=$1 repo=$2 work=$3 script=$4
    shift 4
    mount -t tmpfs none /sys/fs/cgroup
    mkdir /sys/fs/cgroup/run
    mount --bind "$run" /sys/fs/cgroup/run
    mount -t tmpfs none /var/tmp
    mount -t tmpfs none /tmp
    mkdir -p "$run"
    mount --bind /sys/fs/cgroup/run "$run"
    umount /sys/fs/cgroup/run
    rmdir /sys/fs/cgroup/run
    cd "$work"
    eval "$script"
    find /tmp /var/tmp -path "$run" -prune -o -name ".hermetic*" -print >left
    [ ! -s left ]
  ' bash "$BATS_RUN_TMPDIR" "$repo" "$work" "$1" "${prefix[@]}"
  cd "$work" || return
}

killed_and_cleared_up() {
  task -- true # what is made once
  apart '
    for round in gc task; do
      "$@" "$program" task run --repo "$repo" --task-id t --scratch scratch -- \
        sh -c "mkdir lock; chmod 0 lock; echo >\"\$HERMETIC_SCRATCH/ready\"; exec sleep 4748" &
      pid=$!
      for ((i = 0; i < 200; ++i)); do
        if compgen -G "scratch/t/*/scratch/upper/ready" >/dev/null; then break; fi
        sleep 0.05
      done
      kill -KILL "$pid"
      wait "$pid" || true
      compgen -G "scratch/t/run_*" >/dev/null # the control
      [ -n "$(ls -A "$HERMETIC_CACHE/journals")" ]
      if [ "$round" = gc ]; then
        "$@" "$program" gc | grep "removed .*scratch/t/run_"
      else
        "$@" "$program" task run --repo "$repo" --task-id t --scratch scratch -- true
      fi
      [ -z "$(ls -A scratch 2>/dev/null)" ]
      [ -z "$(ls -A "$HERMETIC_CACHE/journals")" ]
      if grep -lsz "^4748\$" /proc/[0-9]*/cmdline; then exit 1; fi
    done'
}
@test "nothing is left of a task that was killed, once somebody has cleared up" { as_both killed_and_cleared_up; }

# While the checkout is made, while the folders are, while the command runs, and while all of it is removed. When exactly
# is left to chance; that something was left by some of them is not.
killed_at_any_time() {
  git clone --quiet "$BATS_FILE_TMPDIR/repo" mine
  apart '
    begin() {
      git -C mine commit --quiet --allow-empty -m "$1" # which was never checked out
      shift
      "$@" "$program" task run --repo mine --task-id t --scratch scratch -- \
        sh -c "mkdir lock; echo x >lock/file; chmod 0 lock; ${last-} : 4749.$$" 3>&- &
      pid=$!
    }
    printf "%s\\n" "$PWD/mine" "4749.$$" >marks # the checkout is told of the one; not as words of grep
    others() { grep -lsaFf marks /proc/[0-9]*/cmdline | grep -vxF "/proc/$pid/cmdline"; }
    wait_for() { # COMMAND...
      for ((i = 0; i < 200; ++i)); do
        if "$@" >/dev/null; then return; fi
        sleep 0.05
      done
      return 1
    }
    all_gone() { ! others; }
    last="sleep 100;" begin control "$@"
    wait_for others # the control: they can be found
    kill -KILL "$pid"
    wait "$pid" || true
    wait_for all_gone
    "$@" "$program" gc
    left_behind() {
      find scratch "$HERMETIC_CACHE/journals" -mindepth 1 2>/dev/null || true
      compgen -G "$HERMETIC_CACHE/*.making" || true
    }
    for whole in first second; do
      begin "$whole" "$@"
      started=${EPOCHREALTIME/./}
      wait "$pid"
      whole=$((${EPOCHREALTIME/./} - started))
    done
    [ -z "$(left_behind)" ]
    killed=0 traces=0
    for step in {0..11}; do
      begin "$step" "$@"
      sleep "$(printf "%d.%06d" $((whole * step / 11 / 1000000)) $((whole * step / 11 % 1000000)))"
      kill -KILL "$pid" 2>/dev/null || true
      code=0
      wait "$pid" 2>/dev/null || code=$?
      if [ "$code" = 137 ]; then killed=$((killed + 1)); else whole=$((whole * 3 / 4)); fi # it was faster
      if [ -n "$(left_behind)" ]; then traces=$((traces + 1)); fi
      "$@" "$program" gc >said
      if [ -n "$(left_behind)" ]; then
        echo "left after $((whole * step / 11)) of $whole microseconds, and gc said: $(cat said)"
        left_behind
        exit 1
      fi
      wait_for all_gone
      if grep -F "$PWD/scratch" /proc/self/mountinfo; then exit 1; fi
    done
    echo "$killed killed, $traces left something, in $whole microseconds"
    [ "$killed" -ge 1 ] && [ "$traces" -ge 1 ] # the control
    "$@" "$program" task run --repo mine --task-id t --scratch scratch -- test -e file'
}
@test "nothing is left of a task that was killed at any time, once somebody has cleared up" { as_both killed_at_any_time; }

side_by_side() {
  for i in 1 2 3; do
    task --manifest "$i.json" -- sh -euc 'echo "$1" >file; sleep 0.3; test "$(cat file)" = "$1"' sh "$i" &
  done
  for job in $(jobs -p); do wait "$job"; done
  [ "$(for i in 1 2 3; do value $i.json run_id; done | sort -u | wc -l)" = 3 ]
  [ -z "$(ls -A "$HERMETIC_CACHE/journals")" ]
  [ -z "$(ls -A "$scratch" 2>/dev/null)" ]
}
@test "tasks of one name run side by side" { as_both side_by_side; }

tests_itself() {
  hermetic task selftest --repo "$repo" --scratch "$scratch" --metrics metrics.json >said
  grep -Fx 'STABLE_HASH_MATCH= True' said
  grep -Fx 'OUTPUT_EQ= True' said
  [ "$(grep -c 'Network guard active' said)" = 2 ]
  [ "$(tail -n 1 said)" = 'Selftest passed' ]
  [ "$(value metrics.json runs)" = 2 ]
  nothing_left
}
@test "the selftest passes" { as_both tests_itself; }

tests_other_commands() {
  run -0 hermetic task selftest --repo "$repo" --scratch "$scratch" -- sh -c 'cat file'
  [[ $output == *'Network guard active'*'Selftest passed'* ]]
  # It is tried, whatever the command says; and a command that fails is no broken guard.
  run -125 hermetic task selftest --repo "$repo" --scratch "$scratch" -- sh -c 'echo doors none; exit 3'
  [[ $output == *'Network guard active'*'The command did not succeed'*'Selftest FAILED'* ]]
  run -125 hermetic task selftest --repo "$repo" --scratch "$scratch" --network host -- echo doors none
  [[ $output == *'Network guard NOT active'* ]]
  nothing_left
}
@test "the selftest passes with other commands, too" { as_both tests_other_commands; }

nowhere_to_write() {
  for option in --manifest --metrics --keep-changes; do
    run -125 task "$option" no/folder/x -- touch "$PWD/ran"
    [[ $output == *"cannot write 'no/folder/x': No such file"*'nothing was run'* ]]
    run -125 task "$option" file/x -- true
    run -125 hermetic task selftest --repo "$repo" --scratch "$scratch" "$option" no/folder/x -- true || [ "$option" = --keep-changes ]
  done
  for option in --manifest --metrics; do
    run -125 task "$option" . -- echo ran
    [[ $output == *'Is a directory'* && $output != *ran* ]]
  done
  run -3 task --manifest /dev/null --metrics new.json -- sh -c 'exit 3'
  [ -s new.json ]
  nothing_left
}
@test "a record that could not be written is refused before anything runs" { touch file; as_both nowhere_to_write; }

may_not_be_read() {
  [ -n "${prefix[*]}" ] || [ "$EUID" != 0 ] || return 0 # root may read it
  cp -r "$BATS_FILE_TMPDIR/repo" "$BATS_TEST_TMPDIR/closed"
  for place in objects HEAD .; do
    chmod 0 "$BATS_TEST_TMPDIR/closed/.git/$place"
    run -125 hermetic task run --repo "$BATS_TEST_TMPDIR/closed" --task-id t --scratch "$scratch" -- true
    [[ $output == *'cannot read the repository'*'Permission denied'* ]]
    chmod 755 "$BATS_TEST_TMPDIR/closed/.git" "$BATS_TEST_TMPDIR/closed/.git/$place"
  done
}
@test "a repository that may not be read is not called something else" { as_both may_not_be_read; }

@test "the selftest fails if the command sees something new" {
  run -125 hermetic task selftest --repo "$repo" --scratch "$scratch" -- sh -c 'date +%N'
  [[ $output == *'OUTPUT_EQ= False'* ]]
  [[ $output == *'Selftest FAILED'* ]]
  nothing_left
}

does_harm() {
  task --manifest harm.json --keep-changes "$PWD/kept" -- sh -euc '
    cp /bin/true powers
    chmod 6755 powers
    test "$(stat -c %a powers)" = 6755 # the control: it could
    mkdir -p lock/in
    echo x >lock/in/file
    echo x >secret
    mkfifo pipe
    ln file hard
    rm gone
    python - <<\PYTHON
import os, socket
os.mkdir(b"\xff\n")
socket.socket(socket.AF_UNIX).bind("socket")
os.setxattr("file", "user.mine", b"1")
for i in range(300):
    os.mkdir("d"); os.chdir("d")
PYTHON
    mkdir "$HERMETIC_SCRATCH/lock"
    echo x >"$HERMETIC_SCRATCH/lock/file"
    chmod 0 "$HERMETIC_SCRATCH/lock" "$HERMETIC_SCRATCH" lock/in lock secret
    chmod 777 .'
  nothing_left
  /usr/bin/python3 - <<'PYTHON'
import json
m = json.load(open("harm.json"))
changes = {c["path"]: c for c in m["changes"]}
assert changes["powers"]["mode"] == 0o755  # as it is kept
assert changes["secret"]["sha256"] and changes["lock/in/file"]["sha256"]
assert changes["socket"]["type"] == changes["pipe"]["type"] == "other"
assert "\\xff\\n" in changes and "/".join("d" * 300) in changes
assert changes["gone"]["change"] == "removed"
assert m["scratch"] == [{"path": "lock/file", "size_bytes": 2}]
PYTHON
  [ "$(stat -c %a kept/powers)" = 755 ]
  [ "$(stat -c %a kept)" = 755 ]
  [ "$(stat -c %a kept/secret)" = 0 ]
  [ "$(stat -c %F kept/gone)" = 'character special file' ]
  [ ! -e kept/.git ]
  chmod -R u+rwX kept # or nobody but root can clear up after this test
  run -2 task --keep-changes "$PWD/kept" -- echo ran
  [[ $output == *'is there already'* && $output != *ran* ]]
  nothing_left
}
@test "a command that does harm is recorded and cleared away all the same" { as_both does_harm; }

# Whoever looks into all of it has no stack left, or no path.
@test "directories without end are told as unlisted, and are cleared away" {
  # With a stack of 1 MiB this many are as good as ten times as many, which take a minute to make and to remove.
  local stack=1024
  # Each call needs sixteen times as much of it with a sanitizer.
  if has_sanitizer; then stack=16384; fi
  ulimit -Ss $stack
  for place in worktree scratch; do
    task --manifest deep.json -- python -c 'import os, sys
os.chdir(sys.argv[1])
for i in range(5000): os.mkdir("d"); os.chdir("d")' "/task/$place"
    /usr/bin/python3 - <<'PYTHON'
import json
m = json.load(open("deep.json"))
[entry] = [e for e in m["changes"] + m["scratch"] if e.get("unlisted")]
assert entry["path"] == "/".join("d" * 501)
PYTHON
    nothing_left
  done
  run -125 task --keep-changes "$PWD/kept" --manifest deep.json -- python -c 'import os
for i in range(600): os.mkdir("d"); os.chdir("d")'
  [[ $output == *'more than 500 directories deep'* && ! -e kept ]]
  [[ $(value deep.json changes_not_kept) == *'more than 500 directories deep'* ]]
  task --manifest deep.json -- python -c 'import os
os.truncate(os.open("image", os.O_CREAT | os.O_RDWR), 17 << 30)
os.chdir("/task/scratch")
for i in range(40): os.mkdir("d" * 250); os.chdir("d" * 250)
open("file", "w")'
  /usr/bin/python3 - <<'PYTHON'
import json
m = json.load(open("deep.json"))
assert [(c["path"], c["sha256"]) for c in m["changes"]] == [("image", None)], m["changes"]
assert [(e["unlisted"], len(e["path"]) < 4096) for e in m["scratch"]] == [(True, True)], m["scratch"]
PYTHON
  run -125 hermetic task snapshot deep --repo "$BATS_FILE_TMPDIR/repo" -- python -c 'import os
for i in range(600): os.mkdir("d"); os.chdir("d")'
  [[ $output == *'too deep to be frozen'* ]]
  nothing_left
}

trees() { for tree in "$HERMETIC_CACHE"/*/upper; do picture "$tree"; done; }
changes_nothing_later() {
  before=$(trees)
  task -- sh -c 'rm -rf .git sub; echo evil >file; rm -r /task/venv/lib; echo >/task/venv/pyvenv.cfg; chmod 777 . /task/venv'
  task -- sh -c 'git config core.fsmonitor /task/worktree/evil; python -c "open(\"/task/venv/pyvenv.cfg\", \"r+\").write(\"x\")"'
  [ "$(trees)" = "$before" ]
  [ "$(task -- sh -c 'cat file; git status --porcelain; git config core.fsmonitor || true')" = content ]
}
@test "a command changes nothing for those that come later" { as_both changes_nothing_later; }

made_anew() {
  git clone --quiet "$BATS_FILE_TMPDIR/repo" mine
  repo=$PWD/mine
  before=$(echo "$HERMETIC_CACHE"/checkout-*/upper/file)
  task -- true
  for file in "$HERMETIC_CACHE"/checkout-*/upper/file; do
    [[ $before == *"$file"* ]] || break
  done
  touch -r "$file" time
  printf 'CONTENT\n' >"$file"
  touch -r time "$file"
  [ "$(cat "$file")" = CONTENT ]
  [ "$(task -- cat file)" = content ]
}
@test "what somebody has changed in the cache is made anew" { as_both made_anew; }

@test "a cache that others can write to is refused" {
  export HERMETIC_CACHE=$PWD/cache
  mkdir -m 777 cache
  run -125 task -- true
  [[ $output == *'others can write there'* ]]
}

# The settings of a source name commands: a remote that is asked for what is missing, here. They would be run while the
# checkout is made, and could bring along what the source says it borrows from.
hostile_source() {
  mkdir secret
  echo canary >secret/key
  git clone --quiet --no-local "$BATS_FILE_TMPDIR/repo" hostile
  cd hostile || return
  git rev-parse HEAD | git pack-objects --quiet --revs --stdout >.git/whole.pack
  git unpack-objects -q <.git/whole.pack
  rm -f .git/objects/pack/*
  git unpack-objects -q <.git/whole.pack # those that were packed are not unpacked
  blob=$(git rev-parse HEAD:file)
  rm -f ".git/objects/${blob:0:2}/${blob:2}"
  cat >.git/run.sh <<SHELL
touch "$PWD/../ran" 2>/dev/null
cat "$PWD/../secret/key" >/task/worktree/.git/canary
for process in /proc/[0-9]*; do
  if tr '\0' ' ' <\$process/cmdline | grep -q '^git.*pack-objects'; then
    cat "$PWD/.git/whole.pack" >\$process/fd/1
    kill -KILL \${process#/proc/}
  fi
done
SHELL
  cat >.git/config <<CONFIG
[core]
  repositoryformatversion = 1
  fsmonitor = $PWD/.git/run.sh
  hooksPath = $PWD/.git
  sshCommand = sh $PWD/.git/run.sh
[extensions]
  partialClone = origin
[protocol "ext"]
  allow = always
[remote "origin"]
  promisor = true
  partialclonefilter = blob:none
  url = "ext::sh $PWD/.git/run.sh"
CONFIG
  echo "$PWD/../secret" >.git/objects/info/alternates
  cd "$OLDPWD" || return
  # The list of alternates alone is refused, before anything runs.
  repo=$PWD/hostile
  run -2 task -- true
  [[ $output == *"has objects (alternates) outside of itself: '$PWD/secret'"* ]]
  rm hostile/.git/objects/info/alternates
  # The control: git itself runs it.
  timeout 60 git -C hostile cat-file -e "$blob" 2>/dev/null || true
  [ -e ran ]
  rm ran
  repo=$PWD/hostile
  run -125 task -- sh -c 'cat .git/canary; ls .git'
  [[ $output == *"unable to read $blob"* ]]
  [[ $output != *canary* ]]
  [ ! -e ran ]
  nothing_left
}
@test "a hostile source runs nothing of its own and brings nothing along" { as_both hostile_source; }

# Each names the objects of another repository of the same user in another way; the commit that is wanted is only there.
reads_other_repositories() {
  git init --quiet private
  echo canary-of-another-repository >private/secret
  git -C private add .
  git -C private commit --quiet -m private
  commit=$(git -C private rev-parse HEAD)
  objects=$PWD/private/.git/objects
  for way in alternates relative gitdir link commondir objects loose pack modules; do
    echo "# $way"
    rm -rf hostile
    git clone --quiet --no-local "$BATS_FILE_TMPDIR/repo" hostile
    case $way in
    alternates) echo "$objects" >hostile/.git/objects/info/alternates ;;
    relative) echo ../../../private/.git/objects >hostile/.git/objects/info/alternates ;;
    gitdir) rm -rf hostile/.git && echo "gitdir: $PWD/private/.git" >hostile/.git ;;
    link) rm -rf hostile/.git && ln -s "$PWD/private/.git" hostile/.git ;;
    commondir) echo "$PWD/private/.git" >hostile/.git/commondir ;;
    objects) rm -rf hostile/.git/objects && ln -s "$objects" hostile/.git/objects ;;
    loose) for folder in "$objects"/??; do rm -rf "hostile/.git/objects/${folder##*/}" && ln -s "$folder" hostile/.git/objects/; done ;;
    pack)
      git -C private repack -adq
      rm -rf hostile/.git/objects/pack
      ln -s "$objects/pack" hostile/.git/objects/pack
      ;;
    modules)
      git -C hostile update-index --add --cacheinfo "160000,$commit,module"
      printf '[submodule "m"]\n\tpath = module\n\turl = x\n' >hostile/.gitmodules
      git -C hostile add .gitmodules
      git -C hostile commit --quiet -m submodule
      mkdir hostile/.git/modules
      ln -s "$PWD/private/.git" hostile/.git/modules/m
      ;;
    esac
    # The control: git itself finds the commit there.
    if [ "$way" != modules ]; then git -C hostile cat-file -e "$commit^{commit}"; fi
    repo=$PWD/hostile
    sha=$commit
    if [ "$way" = modules ]; then sha=$(git -C hostile rev-parse HEAD); fi
    run task --sha "$sha" -- sh -c 'cat secret module/secret; git log -1'
    [[ $output != *canary-of-another* ]]
    case $way in
    loose | pack) ((status == 2)) && [[ $output == *"names no commit"* ]] ;;
    modules) [[ $output == *"No such file"* ]] ;;
    *) ((status == 2)) && [[ $output == *"outside of itself: '$PWD/private/.git"* ]] ;;
    esac
  done
  # Named by the user, it is used.
  rm -rf hostile
  git clone --quiet --no-local "$BATS_FILE_TMPDIR/repo" hostile
  echo "$objects" >hostile/.git/objects/info/alternates
  [ "$(task --sha "$commit" --borrow private -- cat secret)" = canary-of-another-repository ]
  nothing_left
}
@test "a hostile repository reads no other repository of its user" { as_both reads_other_repositories; }

hostile_submodules() {
  git init --quiet library
  echo library >library/code
  git -C library add .
  git -C library commit --quiet -m library
  commit=$(git -C library rev-parse HEAD)
  git init --quiet project
  repo=$PWD/project
  cd project || return
  mkdir -p .git/modules
  git clone --quiet --bare ../library .git/modules/good
  cp -r .git/modules/good .git/outside
  ln -s /tmp elsewhere
  cat >.gitmodules <<'MODULES'
[submodule "good"]
  path = -
  url = -u./evil
[submodule "../outside"]
  path = dots
  url = x
[submodule "a\\ntree 0000"]
  path = echo
  url = x
[submodule "up"]
  path = ../up
  url = x
[submodule "absolute"]
  path = /task/worktree/-
  url = x
[submodule "link"]
  path = elsewhere
  url = x
MODULES
  for path in - dots echo; do git update-index --add --cacheinfo "160000,$commit,$path"; done
  git add .gitmodules elsewhere
  git commit --quiet -m project
  cd "$OLDPWD" || return
  task --manifest m.json -- sh -euc 'test "$(cat ./-/code)" = library
    test "$(git -C ./- rev-parse HEAD)" = "$1"
    test "$(git log --format=%s)" = project
    test -z "$(find dots echo -mindepth 1)"
    test "$(readlink elsewhere)" = /tmp' sh "$commit"
  [ "$(value m.json tree_sha)" = "$(git -C project rev-parse 'HEAD^{tree}')" ]
  [ "$(value m.json submodules_missing)" = "['../outside', 'a\\\\ntree 0000']" ]
}
@test "hostile submodules lead nowhere" { as_both hostile_submodules; }

# Programs that were built beside the one that is tested.
used_from_c() {
  timeout 60 "${prefix[@]}" "${HERMETIC_PROGRAM%/*}/tests/bindings/c_task" "$repo" "$HERMETIC_CACHE"
  nothing_left
}
@test "tasks can be used from C" { as_both used_from_c; }

# What stands in a block of the guide.
block() { awk -v begin="\`\`\`$1" '$0 == begin { inside = 1; next } /^```/ { inside = 0 } inside' "$page"; }
used_from_cpp() {
  timeout 60 "${prefix[@]}" "${HERMETIC_PROGRAM%/*}/tests/example_task" "$repo" >printed
  diff -u --label "what the guide says" --label "what was printed" <(block output) printed
  nothing_left
}
@test "tasks can be used from C++, as the guide says" {
  page=$BATS_TEST_DIRNAME/../../docs/guide/tasks.md
  block cpp >shown.cc
  [ -s shown.cc ]
  diff -u "$BATS_TEST_DIRNAME/../../examples/task/main.cc" shown.cc
  as_both used_from_cpp
}

@test "options that make no sense are refused" {
  run -2 hermetic task run --repo "$repo" -- true
  run -2 task --task-id ../x -- true
  run -2 task --seed x -- true
  run -2 task --seed 4294967296 -- true
  run -2 task --spec x -- true
  run -2 hermetic task
  run -2 hermetic task walk
  run -2 task
  nothing_left
}
