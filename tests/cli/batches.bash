# Batches of tasks in a small repository, as whoever calls and as nobody: for files of tests about them.

# shellcheck disable=SC2154 # $prefix comes from there
load both_users

# One environment for all, of each user.
setup_file() {
  GIT_CONFIG_GLOBAL=$BATS_FILE_TMPDIR/gitconfig
  export GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM=1
  printf '[user]\nname = t\nemail = t@localhost\n[init]\ndefaultBranch = main\n' >"$GIT_CONFIG_GLOBAL"
  cd "$BATS_FILE_TMPDIR" || return
  make_place
  begin_both "$HERMETIC_PROGRAM" task run --repo repo --task-id t
}

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  chmod 755 .
  make_place
}

make_place() {
  git init --quiet repo
  echo one >repo/file
  git -C repo add .
  git -C repo commit --quiet -m one
}

hermetic() { timeout 100 "${prefix[@]}" "$HERMETIC_PROGRAM" "$@"; }
batch() { timeout 60 "${prefix[@]}" "$HERMETIC_PROGRAM" task batch tasks.jsonl --repo repo --out out --quiet "$@"; }
# In the background; $pid is its own, not that of a shell.
begin_batch() {
  "${prefix[@]}" "$HERMETIC_PROGRAM" task batch tasks.jsonl --repo repo --out out --quiet "$@" 3>&- &
  pid=$!
}
end_batch() { # CODE
  local code=0
  kill -TERM "$pid"
  wait "$pid" || code=$?
  [ "$code" = "$1" ]
}

# The values of one key, a line for each result.
values() { python3 -c 'import json, sys
for line in open("out/results.jsonl"):
    print(json.loads(line).get(sys.argv[1]))' "$1"; }

line() { # ID COMMAND [KEYS]
  printf '{"task_id": "%s", "command": ["sh", "-c", "%s"]%s}\n' "$1" "$2" "${3:+, $3}"
}

nothing_left() {
  [ ! -e scratch ]
  [ -z "$(ls "$HERMETIC_CACHE/journals")" ]
}

# A server of this folder: Python comes as the input, and writes its port when it listens. $server is to be killed.
# shellcheck disable=SC2034 # for those who load this
begin_server() {
  rm -f port
  python3 -u - >port 2>/dev/null 3>&- <<<"$(cat)" &
  server=$!
  for _ in $(seq 200); do
    if [ -s port ]; then break; fi
    sleep 0.05
  done
  port=$(cat port)
  [ -n "$port" ]
}

# An index of packages in 'simple', with one in it; requirements.lock asks for that.
make_index() {
  mkdir -p simple/tiny
  python3 - <<'SCRIPT'
import base64, hashlib, zipfile
name = "tiny-1.0-py3-none-any.whl"
about = "tiny-1.0.dist-info/"
files = {"tiny.py": b"value = 42\n", about + "METADATA": b"Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
         about + "WHEEL": b"Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
digest = lambda text: base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
files[about + "RECORD"] = "".join(f"{k},sha256={digest(v)},{len(v)}\n" for k, v in files.items()).encode() + about.encode() + b"RECORD,,\n"
with zipfile.ZipFile("simple/tiny/" + name, "w") as archive:
    for path, text in files.items():
        archive.writestr(path, text)
whole = hashlib.sha256(open("simple/tiny/" + name, "rb").read()).hexdigest()
open("simple/tiny/index.html", "w").write(f'<a href="{name}#sha256={whole}">{name}</a>')
open("requirements.lock", "w").write(f"tiny==1.0 --hash=sha256:{whole}\n")
SCRIPT
}

# Two tasks that say nothing about what may change.
plain_tasks() { printf '{"task_id": "a"}\n{"task_id": "b", "seed": 5}\n' >tasks.jsonl; }
again() { # OPTIONS: all of it is done again
  values run_id >before
  batch "$@"
  [ "$(values task_id | tr '\n' ' ')" = 'a b ' ]
  values run_id >after
  run ! grep -qxFf before after
}
kept() { # OPTIONS: none of it
  values run_id >before
  batch "$@"
  values run_id | cmp - before
}
