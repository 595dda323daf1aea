#!/usr/bin/env bats
# Where hermetic writes for itself: no command gets there, by whatever name, and no link leads it elsewhere. As the caller
# and as nobody.
# shellcheck disable=SC2016,SC2030,SC2031,SC2094,SC2154 # what is quoted is for inside; each test is a shell of its own

bats_require_minimum_version 1.5.0
load both_users

setup_file() { chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" 2>/dev/null || true; }

setup() {
  chmod 755 "$BATS_TEST_TMPDIR"
  cd "$BATS_TEST_TMPDIR" || return
}

make_place() { :; }

# What was made so far is the user's.
give() { ((${#prefix[@]} == 0)) || chown -hR 65534:65534 .; }

# The system's tools, and not the current directory.
tools_only() { echo '{version: 1, inputs: [/usr, /bin, /lib, /lib64]}' >tools.yaml; }

# Each option with a place below the directory.
options_in() {
  printf '%s\n' "--json $1/x" "--events $1/x" "--samples $1/x" "--evidence $1/x" "--keep-failed $1/x"
}

refuses_all_in() { # directory OPTION...
  local directory=$1 option
  shift
  while read -r option; do
    # shellcheck disable=SC2086 # an option and its value
    run -2 "${prefix[@]}" "$HERMETIC_PROGRAM" run $option "$@" -- sh -c 'echo ran >&2'
    [[ $output == *"${option%% *} '$directory/x'"*'lies inside the '* && $output != *ran* ]] || {
      echo "$option: $output"
      return 1
    }
  done < <(options_in "$directory")
  [ -z "$(find . -name x -o -name '.hermetic-*')" ]
}

in_outputs() {
  mkdir -p w low changes other
  ln -sfn w alias
  ln -sfn ../other w/out
  ln -sfn low layer
  refuses_all_in w --output-in-place w
  refuses_all_in alias --output-in-place w
  refuses_all_in alias --output w
  sed "s,HERE,$PWD,g" >merge.yaml <<'EOF'
version: 1
inputs: [/usr, /bin, /lib, /lib64]
outputs: [{path: HERE/w, publish: merge, type: directory}]
EOF
  refuses_all_in alias --spec merge.yaml
  refuses_all_in w/out --output-in-place w
  sed "s,HERE,$PWD,g" >spec.yaml <<'EOF'
version: 1
inputs: [/usr, /bin, /lib, /lib64]
temps: [{path: /layered, over: [HERE/low], changes: HERE/changes}]
EOF
  give
  refuses_all_in low --spec spec.yaml
  refuses_all_in layer --spec spec.yaml
  refuses_all_in changes --spec spec.yaml
}
@test "nothing of hermetic's own lies in an output, a layer or what changes, by a link" { as_both in_outputs; }

behind_mounts() {
  mkdir -p w alias w/shown outside
  touch w/f file
  tools_only
  give
  "${prefix[@]}" unshare --mount --map-root-user --propagation private true 2>/dev/null || skip 'no mounts here'
  export -f refuses_all_in options_in run
  "${prefix[@]}" unshare --mount --map-root-user --propagation private bash -c '
    set -e
    mount --bind w alias
    mount --bind outside w/shown
    mount --bind w/f file
    expect() {
      out=$("$HERMETIC_PROGRAM" run --spec tools.yaml "$@" --output-in-place w -- sh -c "echo ran >&2" 2>&1) && exit 1
      [[ $out == *"lies inside the "* && $out != *ran* ]] || { echo "$*: $out"; exit 1; }
    }
    for place in alias outside; do
      for option in --json --events --samples --evidence --keep-failed; do expect $option $place/x; done
    done
    for option in --json --events --samples; do expect $option file; done'
}
@test "nor behind a bind mount of one, or in one" { as_both behind_mounts; }

leads_on() {
  mkdir -p logs
  echo old >logs/real
  ln -sf logs/real link
  give
  for option in --json --events --samples; do
    "${prefix[@]}" "$HERMETIC_PROGRAM" run --quiet $option link -- true
    [ -L link ]
    [ "$(cat logs/real)" != old ]
    echo old >logs/real
  done
}
@test "a link is followed to where it leads and never replaced" { as_both leads_on; }

to_streams() {
  before=$(stat -c '%i %F %a' /dev/stdout /dev/stderr /dev/null /dev/fd)
  run -0 --separate-stderr "${prefix[@]}" "$HERMETIC_PROGRAM" run --json /dev/stdout -- true
  [[ $output == '{'*'"ending"'* ]]
  run -0 --separate-stderr "${prefix[@]}" "$HERMETIC_PROGRAM" run --events /dev/stderr -- true
  [[ ${stderr-} == *'"kind":"ended"'* ]]
  "${prefix[@]}" "$HERMETIC_PROGRAM" run --json /dev/fd/7 --samples /proc/self/fd/8 -- sleep 0.3 7>seven 8>eight
  grep -q '"ending"' seven
  [ -s eight ]
  "${prefix[@]}" "$HERMETIC_PROGRAM" run --json /dev/null --events /dev/null -- true
  [ "$before" = "$(stat -c '%i %F %a' /dev/stdout /dev/stderr /dev/null /dev/fd)" ]
  mkfifo pipe
  give
  cat pipe >taken 3>&- &
  tools_only
  "${prefix[@]}" "$HERMETIC_PROGRAM" run --spec tools.yaml --json pipe -- true
  wait $!
  grep -q '"ending"' taken
  [ -p pipe ]
  run ! "${prefix[@]}" "$HERMETIC_PROGRAM" run --json /dev/hermetic-test -- sh -c 'echo ran >&2'
  [[ $output != *ran* ]]
  [ ! -e /dev/hermetic-test ]
}
@test "pipes, devices and descriptors of the caller are written to as streams" { as_both to_streams; }

# The command has the place of its events by an alias, and would take its denial out of them.
keeps_denials() {
  mkdir -p w
  ln -sfn w alias
  run -2 "${prefix[@]}" "$HERMETIC_PROGRAM" run --output-in-place w --events alias/e.jsonl -- sh -c 'true >w/e.jsonl'
  [ ! -e w/e.jsonl ]
}
@test "the command cannot take its denials out of the record" { as_both keeps_denials; }

@test "in a folder that others can write to, theirs is not taken for ours, and their locks hold nobody up" {
  ((EUID == 0)) || skip 'only root has others'
  nobody_can || skip 'nobody may not execute the program'
  mkdir -m 1777 public
  mkdir -m 755 elsewhere
  # What versions before this one took for their own, and what this one makes.
  for name in .hermetic-evidence .hermetic-0-evidence-0123456789abcdef .hermetic-0-changes-0123456789abcdef; do
    "${nobody[@]}" ln -s "$PWD/elsewhere" "public/$name-link"
    "${nobody[@]}" mkdir "public/$name"
    "${nobody[@]}" flock "public/$name" sleep 30 3>&- &
  done
  "${nobody[@]}" ln -s "$PWD/elsewhere/planted" public/planted
  sleep 0.2
  timeout -s KILL 20 "$HERMETIC_PROGRAM" run --quiet --evidence public/ev -- true
  timeout -s KILL 20 "$HERMETIC_PROGRAM" verify-evidence public/ev
  timeout -s KILL 20 "$HERMETIC_PROGRAM" gc public
  for option in --json --events --samples --evidence --keep-failed; do
    run -2 "$HERMETIC_PROGRAM" run $option public/planted -- sh -c 'echo ran >&2'
    [[ $output == *'another user has made the link'* && $output != *ran* ]]
  done
  [ -z "$(find elsewhere -mindepth 1)" ]
  [ "$(stat -c %U public/.hermetic-evidence)" = nobody ]
  # shellcheck disable=SC2046 # a list of numbers
  kill $(jobs -p)
}

keeps_outputs() {
  mkdir -p other
  run -3 "${prefix[@]}" "$HERMETIC_PROGRAM" run --quiet --output w --keep-failed kept -- sh -c 'echo x >w/f; exit 3'
  [ "$(cat kept/0/f)" = x ]
  # What is kept replaces what was kept: an output must not be there.
  mkdir -p both/0
  echo precious >both/0/f
  run -2 "${prefix[@]}" "$HERMETIC_PROGRAM" run --output-in-place both/0 --keep-failed both -- sh -c 'exit 3'
  [[ $output == *'--keep-failed'*'is around the output'* ]]
  [ "$(cat both/0/f)" = precious ]
}
@test "failed outputs are kept where nothing else is" { as_both keeps_outputs; }

hides_keys() {
  "${prefix[@]}" "$HERMETIC_PROGRAM" key new key
  mkdir -p in low w shown
  ln -f key in/copy
  ln -f key low/copy
  ln -f key w/copy
  sed "s,HERE,$PWD,g" >layered.yaml <<'EOF'
version: 1
inputs: [/usr, /bin, /lib, /lib64]
temps: [{path: /layered, over: [HERE/low]}]
EOF
  local view
  tools_only
  for view in '--spec tools.yaml --input in' '--spec tools.yaml --output-in-place w' '--spec layered.yaml' '--spec tools.yaml --input key'; do
    # shellcheck disable=SC2086 # an option and its value
    run -2 "${prefix[@]}" "$HERMETIC_PROGRAM" run $view --evidence e --key key -- sh -c 'echo ran >&2'
    [[ $output == *'the command could read'*'the key that signs its own evidence'* && $output != *ran* ]] || {
      echo "$view: $output"
      return 1
    }
  done
  [ ! -e e ]
  rm in/copy low/copy w/copy
  "${prefix[@]}" "$HERMETIC_PROGRAM" run --spec tools.yaml --input in --evidence e --key key -- true
  "${prefix[@]}" "$HERMETIC_PROGRAM" verify-evidence e --key key.pub
  # A key that comes by a pipe has no name at all.
  "${prefix[@]}" bash -c '"$HERMETIC_PROGRAM" run --spec tools.yaml --evidence piped --key <(sleep 0.3; cat key) -- true'
  "${prefix[@]}" "$HERMETIC_PROGRAM" verify-evidence piped --key key.pub
  "${prefix[@]}" unshare --mount --map-root-user --propagation private true 2>/dev/null || return 0
  touch shown/key
  run -2 "${prefix[@]}" unshare --mount --map-root-user --propagation private bash -c '
    mount --bind key shown/key
    exec "$HERMETIC_PROGRAM" run --spec tools.yaml --input shown --evidence e2 --key key -- cat shown/key'
  [[ $output == *'the command could read'* ]]
}
@test "the key is found by hard link, bind mount and layer" { as_both hides_keys; }

# --- what a second look at these places found ---

one_place_each() {
  "${prefix[@]}" "$HERMETIC_PROGRAM" key new key
  cp key key.before
  mkdir sub
  touch x
  ln -s x soft
  ln x hard
  tools_only
  give
  local options
  for options in '--json n --events n' '--events x --samples soft' '--json x --events hard' '--json ./n --samples n' \
    '--evidence new --events new' '--evidence new/inner --keep-failed new' '--events key' '--json key' '--json tools.yaml' \
    '--key sub/../key --events key' '--key /dev/fd/8 --json key'; do
    # shellcheck disable=SC2086 # options and their values
    run -2 "${prefix[@]}" "$HERMETIC_PROGRAM" run --spec tools.yaml --key key $options -- sh -c 'echo ran >&2' 8<key
    [[ $output != *ran* && $output == *--* ]] || {
      echo "$options: $output"
      return 1
    }
  done
  cmp key key.before
  # Streams are another matter.
  "${prefix[@]}" "$HERMETIC_PROGRAM" run --spec tools.yaml --json /dev/null --events /dev/null --samples /dev/null -- true
  run -2 "${prefix[@]}" "$HERMETIC_PROGRAM" run --spec tools.yaml --json /dev/fd/7 --events both -- sh -c 'echo ran >&2' 7>both
  [[ $output == *'are one place'* && $output != *ran* ]]
  # A command that prints to the file would write its own events.
  for options in --json --events --samples; do
    "${prefix[@]}" "$HERMETIC_PROGRAM" run --spec tools.yaml $options x -- echo forged >>x 2>said && return 1
    grep -q 'the file behind standard output' said
    [ ! -s x ]
  done
  echo 'targets: {t: {command: [/bin/echo, ran], inputs: [/usr, /bin, /lib, /lib64]}}' | cat <(echo 'version: 1') - >hermetic.yaml
  cp hermetic.yaml hermetic.before
  run -2 "${prefix[@]}" "$HERMETIC_PROGRAM" run --events hermetic.yaml t
  [[ $output == *'is the spec: it would be overwritten'* && $output != *ran* ]]
  cmp hermetic.before hermetic.yaml
}
@test "each option has a place of its own, and none that of the key or the spec" { as_both one_place_each; }

said_and_not_written() {
  tools_only
  give
  local option
  for option in --json --events --samples --evidence --keep-failed; do
    run -2 "${prefix[@]}" "$HERMETIC_PROGRAM" run --spec tools.yaml $option '' -- sh -c 'echo ran >&2'
    [[ $output == *"$option has an empty name"* && $output != *ran* ]]
  done
  for option in '--json -' '--events -' '--samples -' '--json /dev/stdout' '--events /dev/fd/1'; do
    # shellcheck disable=SC2086 # an option and its value
    "${prefix[@]}" "$HERMETIC_PROGRAM" run --spec tools.yaml $option -- sh -c 'echo ran >&2' >&- 2>said && return 1
    grep -q 'not a descriptor that hermetic was given' said
    run ! grep ran said
  done
  # A command whose caller has closed them runs all the same.
  "${prefix[@]}" "$HERMETIC_PROGRAM" run --spec tools.yaml -- sh -c 'echo nobody reads this' <&- >&- 2>&-
}
@test "a record that nothing would be left of is refused before anything runs" { as_both said_and_not_written; }

printed_to_an_output() {
  mkdir -p w
  tools_only
  give
  "${prefix[@]}" "$HERMETIC_PROGRAM" run --spec tools.yaml --output-in-place w --json - -- sh -c 'echo ran >&2' >w/log 2>said && return 1
  grep -q "lies inside the output" said
  run ! grep ran said
}
@test "what is printed to a file is judged as that file" { as_both printed_to_an_output; }

around_outputs() {
  tools_only
  give
  local option
  for option in --json --events --samples --evidence --keep-failed; do
    run -2 "${prefix[@]}" "$HERMETIC_PROGRAM" run --spec tools.yaml --output new/deep $option new -- sh -c 'echo ran >&2'
    [[ $output == *"$option 'new'"*'is around the output'* && $output != *ran* ]]
  done
  [ ! -e new ]
}
@test "a place that an output will lie in is refused before anything runs" { as_both around_outputs; }

@test "what another user has put for the caller to find is not written to" {
  ((EUID == 0)) || skip 'only root has others'
  nobody_can || skip 'nobody may not execute the program'
  tools_only
  mkdir -m 700 ours
  for mode in 1777 0777 1775; do
    rm -rf public
    mkdir -m "$mode" public
    chgrp 65534 public
    "${nobody[@]}" sh -c 'umask 0
      echo planted >public/file; mkdir public/folder; mkfifo public/pipe
      ln -s "$PWD/ours/target" public/link; ln -s "$PWD/ours" public/way'
    for option in --json --events --samples --evidence --keep-failed; do
      for place in file folder pipe link way/file; do
        run -2 timeout 20 "$HERMETIC_PROGRAM" run --spec tools.yaml $option public/$place -- sh -c 'echo ran >&2' 3>&-
        [[ $output == *'another user has made '* && $output != *ran* ]] || {
          # What stands in the way for another reason is refused as well.
          [[ $option == --evidence && $place =~ ^(file|folder|pipe)$ && $output != *ran* ]] || {
            echo "$mode $option $place: $output"
            return 1
          }
        }
      done
    done
    run -2 "$HERMETIC_PROGRAM" learn --write public/file -- true
    [ "$(cat public/file)" = planted ]
    [ -z "$(find public/folder ours -mindepth 1)" ]
  done
  # In a directory of theirs a link leads to what is theirs, and to nothing else.
  mkdir theirs
  chown 65534:65534 theirs
  "${nobody[@]}" sh -c 'mkdir theirs/logs; ln -s logs theirs/here; ln -s "$PWD/ours/target" theirs/there; umask 0; echo old >theirs/old'
  run -2 "$HERMETIC_PROGRAM" run --spec tools.yaml --json theirs/there -- sh -c 'echo ran >&2'
  [[ $output == *"leads to what is not that user's"* && $output != *ran* ]]
  [ -z "$(ls -A ours)" ]
  "$HERMETIC_PROGRAM" run --spec tools.yaml --json theirs/here/file --quiet -- true
  [ -s theirs/logs/file ]
  # A file of root's is not for everybody because theirs was.
  "$HERMETIC_PROGRAM" run --spec tools.yaml --json theirs/old --quiet -- true
  [ "$(stat -c '%U %a' theirs/old)" = 'root 644' ]
}

# A pipe on a read-only mount is written to like any other: whoever reads it would get a forged record.
pipes_in_inputs() {
  mkdir -p in
  mkfifo in/pipe
  ln -s in/pipe pipe
  tools_only
  give
  local option
  for option in '--json in/pipe' '--events pipe' '--samples in/pipe' '--json /dev/fd/7'; do
    # shellcheck disable=SC2086 # an option and its value
    run -2 "${prefix[@]}" "$HERMETIC_PROGRAM" run --spec tools.yaml --input in $option -- sh -c 'echo forged >in/pipe' 7<>in/pipe
    [[ $output == *'lies inside the input'* ]]
  done
  mksocket='import socket; socket.socket(socket.AF_UNIX).bind("socket")'
  python3 -c "$mksocket" || return 0
  run -2 "${prefix[@]}" "$HERMETIC_PROGRAM" run --spec tools.yaml --json socket -- sh -c 'echo ran >&2'
  [[ $output == *'it is a socket'* && $output != *ran* ]]
}
@test "a pipe that the command could write to is no place" { as_both pipes_in_inputs; }

planted_fifos() {
  mkdir -p w
  tools_only
  give
  local uid
  uid=$("${prefix[@]}" id -u)
  "${prefix[@]}" "$HERMETIC_PROGRAM" run --spec tools.yaml --output-in-place w -- sh -c "cd '$PWD/w'
    for name in journal claimed; do mkdir .hermetic-$uid-\$name; mkfifo .hermetic-$uid-\$name/\$name; done"
  run timeout -s KILL 30 "${prefix[@]}" "$HERMETIC_PROGRAM" gc w
  ((status != 137))
  # The next run that prepares an output there looks at what is left, too.
  timeout -s KILL 30 "${prefix[@]}" "$HERMETIC_PROGRAM" run --spec tools.yaml --output w/new --quiet -- sh -c "echo x >'$PWD/w/new/f'"
  [ "$(cat w/new/f)" = x ]
}
@test "fifos that a command left in place of journals and claims hold nobody up" { as_both planted_fifos; }

# Nor may the command list it: such as /etc/ssl/private, which a gate takes from every step.
closed_exception() {
  mkdir -p in/closed
  touch in/open
  tools_only
  give
  chmod 000 in/closed
  "${prefix[@]}" "$HERMETIC_PROGRAM" run --spec tools.yaml --input in --except in/closed -- ls "$PWD/in/open"
  chmod 700 in/closed
}
@test "an exception that the caller may not list is one all the same" { as_both closed_exception; }

hides_streams() {
  "${prefix[@]}" "$HERMETIC_PROGRAM" key new key
  tools_only
  give
  run -2 "${prefix[@]}" "$HERMETIC_PROGRAM" run --spec tools.yaml --evidence e --key key -- cat <key
  [[ $output == *'as a standard stream'* && $output != *PRIVATE* ]]
  run -2 "${prefix[@]}" "$HERMETIC_PROGRAM" run --spec tools.yaml --evidence e --key /dev/stdin -- cat <key
  [[ $output == *'as a standard stream'* && $output != *PRIVATE* ]]
  # Nor can it put a key of its own in the place of it.
  sed "s,HERE,$PWD,g" >replaces.yaml <<'EOF'
version: 1
inputs: [/usr, /bin, /lib, /lib64]
outputs: [{path: HERE/key, type: file}]
EOF
  run -2 "${prefix[@]}" "$HERMETIC_PROGRAM" run --spec replaces.yaml --evidence e --key key -- sh -c "echo mine >'$PWD/key'"
  [[ $output == *'the command could replace'* ]]
  grep -q PRIVATE key
  [ ! -e e ]
}
@test "the key is no stream and no output of the command" { as_both hides_streams; }

keeps_no_lists() {
  command -v python3 >/dev/null || skip 'no python3'
  tools_only
  give
  local set='import os, struct; os.setxattr("x", "system.posix_acl_default", struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, 7, 2**32 - 1) for tag in (1, 4, 32)))'
  run "${prefix[@]}" "$HERMETIC_PROGRAM" run --spec tools.yaml --output w --keep-failed kept -- sh -c "cd '$PWD/w'; mkdir x; python3 -c '$set' && exit 3"
  ((status == 3)) || skip 'no access control lists here'
  [ -d kept/0/x ]
  python3 -c 'import os; assert "system.posix_acl_default" not in os.listxattr("kept/0/x")'
}
@test "what is kept decides nothing for files that come later" { as_both keeps_no_lists; }
