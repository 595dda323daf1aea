#!/usr/bin/env bats
# hermetic task batch: what is done again because something has changed that it was made of.

# shellcheck disable=SC2016,SC2030,SC2031,SC2119,SC2120,SC2154 # what is quoted is for inside; each test is a shell of its own

bats_require_minimum_version 1.5.0

load batches

changed_options() {
  plain_tasks
  mkdir repo/dir
  touch repo/dir/file
  git -C repo add .
  git -C repo commit --quiet -m two
  batch -- sh -c 'echo $A$B'
  values run_id >first
  kept -- sh -c 'echo $A$B'
  kept --jobs 3 --retries 2 --scratch other -- sh -c 'echo $A$B'
  again -- sh -c 'echo other'
  again --env A=a -- sh -c 'echo $A$B'
  [ "$(cat "out/$(values folder | head -n 1)/stdout.txt")" = a ]
  again --env A=b -- sh -c 'echo $A$B'
  B=1 again --pass-env B -- sh -c 'echo $A$B'
  B=2 again --pass-env B -- sh -c 'echo $A$B'
  B=2 kept --pass-env B -- sh -c 'echo $A$B'
  for option in --memory=1G --timeout=50s --network=loopback --sparse=dir --on-violation=fail --keep-changes=changes; do
    again --give-up memory-limit "$option" -- sh -c 'echo $A$B'
  done
  # As at first: nothing of it was lost.
  batch -- sh -c 'echo $A$B'
  values run_id | cmp - first
  [ "$(values number | tr '\n' ' ')" = '1 2 ' ]
  # A seed of the options is that of tasks which have none.
  batch --seed 7 -- sh -c 'echo $A$B'
  [ "$(values run_id | head -n 1)" != "$(head -n 1 first)" ]
  [ "$(values run_id | tail -n 1)" = "$(tail -n 1 first)" ]
  nothing_left
}
@test "what an option changes is done again, and what was done before is kept for when it is changed back" { as_both changed_options; }

changed_sources() {
  plain_tasks
  mkdir repo/dir
  touch repo/dir/x
  git -C repo add .
  git -C repo commit --quiet -m dir
  batch -- cat file
  echo two >repo/file
  kept -- cat file # nobody has committed it
  git -C repo commit --quiet -am two
  again -- cat file
  [ "$(cat out/000001-a-2/stdout.txt)" = two ]
  again --sha HEAD~1 -- cat file
  git -C repo commit --quiet --allow-empty -m three
  again --sha HEAD~1 -- cat file
  kept --sha "$(git -C repo rev-parse HEAD~1)" -- cat file # the same by another name
  echo 'quantization: {bits: four}' >config
  again --config config -- cat file
  echo 'quantization: {bits: eight}' >config
  again --config config -- cat file
  printf 'models: {m: model}\n' >config
  echo 1 >model
  again --config config -- cat file
  kept --config config -- cat file
  echo 2 >model
  again --config config -- cat file
  for text in one two; do
    hermetic task snapshot ready --repo repo -- sh -c "echo $text >artifact"
    again --from ready -- cat artifact
    kept --from ready -- cat artifact
  done
  nothing_left
}
@test "what a commit, a config, a model or a snapshot changes is done again" { as_both changed_sources; }

changed_names() {
  plain_tasks
  git -C repo tag first
  git -C repo commit --quiet --allow-empty -m two
  batch -- true
  again --base-sha first -- true
  kept --base-sha "$(git -C repo rev-parse first)" -- true # the same by another name
  git -C repo tag --force first HEAD >tagged
  again --base-sha first -- true
  "${prefix[@]}" "$HERMETIC_PROGRAM" key new key
  again --evidence proof --key key -- true
  kept --evidence proof --key key -- true
  rm key key.pub
  "${prefix[@]}" "$HERMETIC_PROGRAM" key new key
  again --evidence proof --key key -- true
}
@test "what another base or another key changes is done again" { as_both changed_names; }

changed_submodule() {
  plain_tasks
  git init --quiet library
  git -C library commit --quiet --allow-empty -m one
  git -c protocol.file.allow=always -C repo submodule --quiet add "$PWD/library" library
  git -C library commit --quiet --allow-empty -m two
  git -C repo update-index --cacheinfo "160000,$(git -C library rev-parse HEAD),library"
  git -C repo commit --quiet -m library
  batch -- true
  kept -- true
  git -C repo/library fetch --quiet
  again -- true
  kept -- true
}
@test "what comes to a submodule later is used" { as_both changed_submodule; }
