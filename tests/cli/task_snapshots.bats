#!/usr/bin/env bats
# Snapshots that were made over other snapshots, and over more than a commit.

# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # what is quoted is for inside; each test is a shell of its own

bats_require_minimum_version 1.5.0

load batches

make_place() {
  git init --quiet repo
  mkdir repo/wanted repo/other
  echo one >repo/file
  echo gone >repo/wanted/gone
  echo kept >repo/wanted/kept
  touch repo/other/file
  git -C repo add .
  git -C repo commit --quiet -m one
}

snapshot() { hermetic task snapshot "$1" --repo repo "${@:2}"; }
from() { hermetic task run --repo repo --task-id t --from "$@"; }
hash_of() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["stable_hash"])' "$1"; }

over_each_other() {
  snapshot first -- sh -euc 'echo a >a; echo two >>file; rm -r wanted other; mkdir wanted; echo new >wanted/new
    echo s >/task/scratch/s; mkdir /task/venv/first'
  snapshot second --from first -- sh -euc 'cat a; echo b >b; rm /task/scratch/s; mkdir other; echo t >/task/scratch/t'
  snapshot third --from second -- sh -euc 'rm a; echo three >>file'
  from second -- sh -euc 'test "$(cat a b)" = "$(printf "a\nb")"; test "$(tail -n 1 file)" = two
    test "$(ls wanted)" = new; test -z "$(ls other)"; test "$(ls /task/scratch)" = t; test -d /task/venv/first'
  from third --manifest m.json -- sh -euc 'test ! -e a; test "$(cat b)" = b; test "$(wc -l <file)" = 3; rm b'
  python3 -c 'import json; m = json.load(open("m.json"))
assert [(c["change"], c["path"]) for c in m["changes"]] == [("removed", "b")], m["changes"]'
  from first -- sh -euc 'test "$(cat /task/scratch/s)" = s; test ! -e other' # it is as it was
  # Another one of that name changes nothing for what was made over the first.
  snapshot first -- sh -c 'echo other >a'
  [ "$(from second -- cat a)" = a ]
}
@test "a snapshot has all that those have which it was made over" { as_both over_each_other; }

hashed_with_all() {
  for text in one two one; do
    snapshot first -- sh -c "echo $text >a"
    snapshot second --from first -- sh -c 'echo b >b'
    from second --manifest m.json -- true
    hash_of m.json
  done >hashes
  [ "$(sort -u hashes | wc -l)" = 2 ]
  [ "$(sed -n 1p hashes)" = "$(sed -n 3p hashes)" ] # made again, and the same
}
@test "a task has the hash of all snapshots below it" { as_both hashed_with_all; }

stays_as_long() {
  snapshot first -- sh -c 'echo a >a'
  snapshot second --from first -- sh -c 'echo b >b'
  # Nobody has used them for long; then somebody uses the second.
  find "$HERMETIC_CACHE" -maxdepth 1 -name 'snapshot-*.lock' -exec touch -d '10 days ago' {} +
  [ "$(from second -- cat a b)" = "$(printf 'a\nb')" ]
  hermetic gc --unused 5
  [ "$(from second -- cat a b)" = "$(printf 'a\nb')" ]
  # Making one uses what is below it until it is made.
  rm "$HERMETIC_CACHE"/snapshots/*
  snapshot lower -- sh -c 'echo a >a'
  snapshot upper --from lower -- sh -c 'sleep 0.5; echo b >b'
  lock_of() { echo "$HERMETIC_CACHE/snapshot-$(cat "$HERMETIC_CACHE/snapshots/$1").lock"; }
  [ ! "$(stat -c %.9Y "$(lock_of lower)")" '<' "$(stat -c %.9Y "$(lock_of upper)")" ]
  snapshot second -- true
  # The control: what nobody uses goes, and is missed by name.
  find "$HERMETIC_CACHE" -maxdepth 1 -name 'snapshot-*.lock' -exec touch -d '10 days ago' {} +
  hermetic gc --unused 5
  run -2 from second -- true
  [[ $output == *"there is no snapshot 'second'"* ]]
}
@test "what a snapshot lies over stays as long as it does" { as_both stays_as_long; }

over_the_same() {
  snapshot whole -- sh -c 'echo a >a'
  run -2 from whole --sparse wanted -- true
  [[ $output == *"the snapshot 'whole' was made with another part of the repository: none, not 'wanted'"* ]]
  snapshot part --sparse other/ --sparse wanted -- sh -c 'echo a >a'
  run -2 from part -- true
  [[ $output == *"another part of the repository: 'other' 'wanted', not none"* && $output == *--sparse* ]]
  from part --sparse wanted --sparse other -- test -e a
  run -2 snapshot more --from part -- true
  git -C repo commit --quiet --allow-empty -m two
  run -2 from whole -- true
  [[ $output == *"was made with another commit: "* && $output == *--sha* ]]
}
@test "a snapshot is used over what it was made over, and what differs is named" { as_both over_the_same; }

over_the_same_packages() {
  export npm_config_cache=$PWD/own
  mkdir package
  echo '{"name": "app"}' >package/package.json
  echo '{"name": "app", "lockfileVersion": 3, "packages": {"": {"name": "app"}}}' >package/package-lock.json
  snapshot node --node-lockfile package/package-lock.json -- sh -c 'test -d node_modules; echo x >node_modules/made'
  from node --node-lockfile package/package-lock.json -- test -e node_modules/made
  run -2 from node -- true
  [[ $output == *'another set of packages of npm'* && $output == *--node-lockfile* ]]
}
@test "a snapshot over packages of npm is not used without them" {
  command -v npm >/dev/null || skip 'no npm'
  as_both over_the_same_packages
}

locked_directories() {
  [ "${#prefix[@]}" != 0 ] || ((EUID != 0)) || return 0 # nothing is locked to root
  run -125 snapshot locked -- sh -c 'mkdir -p sub/l; chmod 0 sub/l'
  [[ $output == *"the worktree cannot be frozen: cannot open 'sub/l': Permission denied"*'chmod u+rwx'* ]]
  run -2 from locked -- true
  [[ $output == *"there is no snapshot 'locked'"* ]]
}
@test "what the command has locked is no part of a snapshot, and is named" { as_both locked_directories; }

deep_directories() {
  (
    ulimit -Sn 256
    snapshot deep -- python3 -c 'import os
for level in range(400): os.mkdir("d"); os.chdir("d")'
  )
  [ "$(from deep -- find . -name d | wc -l)" = 400 ]
}
@test "a snapshot needs no descriptor for each of its levels" { as_both deep_directories; }

used_by_a_batch() {
  snapshot first -- sh -c 'echo a >a'
  snapshot second --from first -- sh -c 'echo b >b'
  echo '{"task_id": "t", "command": ["cat", "a", "b"]}' >tasks.jsonl
  hermetic task batch tasks.jsonl --repo repo --from second --out out
  find "$HERMETIC_CACHE" -maxdepth 1 -name 'snapshot-*.lock' -exec touch -d '10 days ago' {} +
  hermetic task batch tasks.jsonl --repo repo --from second --out out # nothing is left to do
  hermetic gc --unused 5
  from second -- cat a b
  # The control: whatever lies below is missed by name.
  rm -r "$HERMETIC_CACHE/snapshot-$(cat "$HERMETIC_CACHE/snapshots/first")"
  run -2 from second -- true
  [[ $output == *"the snapshot 'second' lies over 'first', which is gone or was changed"* ]]
  rm "$HERMETIC_CACHE/snapshots/first"
  run -2 from second -- true
  [[ $output == *"the snapshot 'second' lies over one that has no name any more ("* ]]
}
@test "a batch that has nothing left to do uses all that its snapshot lies over" { as_both used_by_a_batch; }
