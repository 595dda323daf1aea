#!/usr/bin/env bats
# A task in a repository of 100,000 files: ./check --long.

# shellcheck disable=SC2016 # what is quoted is for inside

bats_require_minimum_version 1.5.0

setup() {
  export HERMETIC_CACHE=$BATS_TEST_TMPDIR/cache GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
  export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
  chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" 2>/dev/null || true
  cd "$BATS_TEST_TMPDIR" || return
  git init --quiet --bare --initial-branch=main repo
  /usr/bin/python3 - <<'PYTHON' | git -C repo fast-import --quiet
import sys
write = sys.stdout.write
write("commit refs/heads/main\ncommitter a <a@example.org> 1577836800 +0000\ndata 5\nfirst\n")
for i in range(100000):
    text = f"content {i}\n"
    write(f"M 644 inline folder{i // 500}/file{i}\ndata {len(text)}\n{text}")
write("\ndone\n")
PYTHON
}

works() {
  local before
  before=$(find ../repo -type f -exec sha256sum {} + | sort)
  for _ in made cached; do
    "$@" "$HERMETIC_PROGRAM" task run --repo ../repo --task-id large --manifest manifest.json -- sh -euc '
      [ "$(find . -path ./.git -prune -o -type f -print | wc -l)" = 100000 ]
      [ -z "$(git status --porcelain)" ]
      echo more >>folder7/file3500
      [ "$(git diff --stat | wc -l)" = 2 ]'
    /usr/bin/python3 - <<'PYTHON'
import json
m = json.load(open("manifest.json"))
assert [(c["change"], c["path"]) for c in m["changes"]] == [("modified", "folder7/file3500")], m["changes"]
assert m["cleanup"]["left"] == []
print(m["durations"])
PYTHON
    [ ! -e scratch ]
    [ -z "$(ls -A "$HERMETIC_CACHE/journals")" ]
  done
  [ "$(find ../repo -type f -exec sha256sum {} + | sort)" = "$before" ]
}

@test "a repository of 100,000 files, as root or whoever calls" {
  mkdir here
  cd here
  works
}

@test "a repository of 100,000 files, as nobody" {
  ((EUID == 0)) || skip 'the caller is a plain user already'
  export HERMETIC_CACHE=$BATS_TEST_TMPDIR/there/cache
  mkdir there
  chown 65534:65534 there
  cd there
  works setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent
}
