#!/usr/bin/env bats
# ./hermetic and tools/setup: what a newcomer types first. The package manager and the build are stand-ins that write
# down what they were asked for; the real ones are what ./check itself came through.

# shellcheck disable=SC2016 # what is quoted is for the stand-ins

bats_require_minimum_version 1.5.0

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  mkdir -p bin tree/tools tree/src tree/cmake
  cp "$HERMETIC_SOURCE_DIR/hermetic" tree/
  touch tree/CMakeLists.txt tree/CMakePresets.json tree/src/a.cc
  stand_in bin/dpkg-query 'for package; do case $package in libfmt-dev | -* | *\ *) ;; *) printf "%s:installed " "$package" ;; esac; done'
  stand_in bin/apt-get 'echo "apt-get $*" >>"$BATS_TEST_TMPDIR/said"'
}

stand_in() { # file text
  printf '#!/bin/bash\n%s\n' "$2" >"$1"
  chmod 755 "$1"
}

@test "set-up installs what is missing, and only that" {
  ((EUID == 0)) || skip 'only root installs'
  PATH=$PWD/bin:$PATH run -0 "$HERMETIC_SOURCE_DIR/tools/setup" build
  [[ $output == 'hermetic: installing libfmt-dev' ]]
  [[ $(cat said) == 'apt-get install '*' libfmt-dev' && $(cat said) != *cmake* ]]
  stand_in bin/dpkg-query 'for package; do printf "%s:installed " "$package"; done'
  rm said
  PATH=$PWD/bin:$PATH run -0 "$HERMETIC_SOURCE_DIR/tools/setup" all
  [ -z "$output" ]
  [ ! -e said ]
}

@test "set-up that fails says so" {
  ((EUID == 0)) || skip 'only root installs'
  stand_in bin/apt-get 'echo "no route"; exit 100'
  PATH=$PWD/bin:$PATH run -125 "$HERMETIC_SOURCE_DIR/tools/setup" build
  [[ $output == *'no route'*'could not install libfmt-dev'* ]]
}

@test "set-up as a plain user names what is missing and changes nothing" {
  chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" 2>/dev/null || true
  cp "$HERMETIC_SOURCE_DIR/tools/setup" tree/tools/
  local as=()
  ((EUID != 0)) || as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  PATH=$PWD/bin:$PATH run -125 "${as[@]}" tree/tools/setup build
  [[ $output == *'missing Debian packages: libfmt-dev'*'apt-get install --no-install-recommends libfmt-dev'* ]]
  [ ! -e said ]
}

@test "./hermetic sets up, builds if something is newer, and becomes the program" {
  stand_in tree/tools/setup 'echo "setup $*" >>"$BATS_TEST_TMPDIR/said"'
  stand_in tree/tools/build 'echo "build $*" >>"$BATS_TEST_TMPDIR/said"
    mkdir -p "${0%/*}/../build/release"; cp "$BATS_TEST_TMPDIR/program" "${0%/*}/../build/release/hermetic"'
  stand_in program 'echo "program $*"; exit 7'
  run -7 tree/hermetic run -- true
  [ "$output" = 'program run -- true' ]
  [ "$(cat said)" = $'setup build\nbuild release hermetic_cli' ]
  rm said
  run -7 tree/hermetic again
  [ ! -e said ] # all is fresh
  touch -d '1 hour' tree/src/a.cc
  run -7 tree/hermetic again
  [ "$(cat said)" = $'setup build\nbuild release hermetic_cli' ]
  # What is not built is not run.
  stand_in tree/tools/build 'exit 125'
  run -125 tree/hermetic again
  [[ $output != *program* ]]
}

@test "a plain user comes to a tree in a directory that is closed to other users" {
  ((EUID == 0)) || skip 'a plain user runs the tests of its own tree'
  local nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups) open=$HERMETIC_SOURCE_DIR/tests/open_to_users.sh
  chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR"
  mkdir -p 'closed/a place/other' 'closed/a place/the tree/sub'
  chmod 700 closed 'closed/a place'
  echo content >'closed/a place/the tree/sub/file'
  echo secret >closed/secret
  export HERMETIC_SOURCE_DIR=$PWD/closed/a\ place/the\ tree
  run ! "${nobody[@]}" cat "$HERMETIC_SOURCE_DIR/sub/file" # the control
  cd "$HERMETIC_SOURCE_DIR/sub" || return
  run -0 "$open" "${nobody[@]}" bash -c 'pwd; cat file "$HERMETIC_SOURCE_DIR/sub/file"; ls ../.. ../../..'
  [ "$output" = "$PWD"$'\ncontent\ncontent\n../..:\nthe tree\n\n../../..:\na place' ]
  # What a test makes in the tree is there; nothing is left mounted, and the command's end is the test's.
  run -77 "$open" sh -c 'echo new >made; exit 77'
  [ "$(cat made)" = new ]
  [ "$(cat ../../../secret)" = secret ]
  run ! grep -F closed /proc/self/mountinfo
}
