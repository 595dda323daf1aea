#!/usr/bin/env bats
# action.yml, as far as it can be tried without GitHub: each step's script, with a server on this machine that has
# releases or has none.

# shellcheck disable=SC2030,SC2031 # each test is a shell of its own

bats_require_minimum_version 1.5.0

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  mkdir -p action/tools server temp
  cp "$HERMETIC_SOURCE_DIR/tools/action_setup" "$HERMETIC_SOURCE_DIR/tools/problem_matcher.json" action/tools/
  # In the place of minutes of building, which other tests do.
  printf '#!/bin/bash\necho "setup $*" >>"%s/built"\n' "$PWD" >action/tools/setup
  ln -s "$HERMETIC_PROGRAM" action/hermetic
  printf '#!/bin/bash\nexec "$@"\n' >sudo
  chmod 755 action/tools/setup sudo
  PATH=$PWD:$PATH
  export GITHUB_ACTION_PATH=$PWD/action GITHUB_OUTPUT=$PWD/output RUNNER_TEMP=$PWD/temp
  export HERMETIC_ACTION_REPOSITORY=owner/name HERMETIC_ACTION_REF=v1
  : >output
  name=hermetic-linux-$(uname -m)
  python3 -u -m http.server --bind 127.0.0.1 --directory server 0 >port 2>/dev/null 3>&- &
  server=$!
  for _ in $(seq 200); do
    if [ -s port ]; then break; fi
    sleep 0.05
  done
  GITHUB_SERVER_URL=http://127.0.0.1:$(sed -n 's/.* port \([0-9]*\) .*/\1/p' port)
  export GITHUB_SERVER_URL
}
teardown() { kill "$server"; }

# The script of the step with this name.
step() {
  awk -v name="    - name: $1" '
    $0 == name { here = 1; next }
    here && /^    - / { exit }
    here && text { print substr($0, 9) }
    here && /^      run: \|$/ { text = 1 }' "$HERMETIC_SOURCE_DIR/action.yml"
}
release() {
  mkdir -p server/owner/name/releases/download/v1
  cp "$HERMETIC_PROGRAM" "server/owner/name/releases/download/v1/$name"
  (cd server/owner/name/releases/download/v1 && sha256sum "$name" >"$name.sha256")
}

@test "the action uses the program of the release that it is named by" {
  release
  run -0 bash -e <(step 'Set hermetic up')
  [[ $output == *"hermetic: using $name of owner/name@v1"* ]]
  [ "$(cat output)" = "program=$RUNNER_TEMP/hermetic-release/$name" ]
  cmp "$RUNNER_TEMP/hermetic-release/$name" "$HERMETIC_PROGRAM"
  [ ! -e built ]
}

@test "the action builds the program where there is no release, and says so" {
  for HERMETIC_ACTION_REF in v1 ''; do
    rm -f built
    : >output
    run -0 bash -e <(step 'Set hermetic up')
    [[ $output == *'::notice title=hermetic::'*'hermetic is built from source, which takes some minutes'* ]]
    [ "$(cat output)" = "program=$GITHUB_ACTION_PATH/hermetic" ]
    [ "$(cat built)" = 'setup build' ]
  done
  [[ $output == *'the action was not named by a release'* ]]
}

@test "the action starts nothing that is not what its digest says" {
  release
  echo more >>"server/owner/name/releases/download/v1/$name"
  run -1 bash -e <(step 'Set hermetic up')
  [[ $output == *"::error title=hermetic::$name is not what $name.sha256 says: it is not used"* ]]
  rm "server/owner/name/releases/download/v1/$name"
  run -1 bash -e <(step 'Set hermetic up')
  [[ $output == *'cannot be fetched, though its digest can'* ]]
  [ ! -e built ]
  [ ! -s output ]
}

@test "the gate of the action is run by the program that was set up" {
  printf '#!/bin/bash\nprintf "%%s|" "$@"\n' >program
  chmod 755 program
  export HERMETIC_PROGRAM=$PWD/program GATE_POLICY=p.yml GATE_STEPS='a b' GATE_OUT=out GATE_JOBS=2
  run -0 bash -e <(step 'Run the gate')
  [ "$output" = 'gate|--policy|p.yml|--jobs|2|--step|a|--step|b|--out|out|' ]
  # shellcheck disable=SC2016 # as it stands there
  grep -qF 'HERMETIC_PROGRAM: ${{ steps.setup.outputs.program }}' "$HERMETIC_SOURCE_DIR/action.yml"
}
