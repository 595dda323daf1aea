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
