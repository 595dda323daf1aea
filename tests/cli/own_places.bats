#!/usr/bin/env bats
# Where hermetic writes for itself: no command gets there, by whatever name, and no link leads it elsewhere. As the caller
# and as nobody.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # what is quoted is for inside; each test is a shell of its own

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
  "${prefix[@]}" "$HERMETIC_PROGRAM" run --json pipe -- true
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
  [[ $output == *'--keep-failed'*'lies inside the output'* ]]
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
