#!/usr/bin/env bats
# The pages for users do what they say. Every block "```sh run" of a page is run, in the order of the page and in one shell, in
# an empty directory with hermetic in PATH; a block "```text" after it is what it prints. A block "```python run" is a script.

setup() {
  mkdir "$BATS_TEST_TMPDIR/bin" "$BATS_TEST_TMPDIR/page" "$BATS_TEST_TMPDIR/parts"
  ln -s "$HERMETIC_PROGRAM" "$BATS_TEST_TMPDIR/bin/hermetic"
  PATH=$BATS_TEST_TMPDIR/bin:/usr/local/bin:/usr/bin:/bin # a page says nothing of the caller's own programs
  unset "${!HERMETIC_@}" HERMETIC
  cd "$BATS_TEST_TMPDIR/page" || return
}

# Writes parts/N.sh for each block that is run, and parts/N.text for what it is to print.
take_apart() {
  awk -v parts="$BATS_TEST_TMPDIR/parts" '
    /^```python run$/ {
      file = sprintf("%s/%02d.sh", parts, ++number)
      print "/usr/bin/python3 -B - <<\\END_OF_SCRIPT" > file
      script = 1
      next
    }
    /^```sh run$/ { file = sprintf("%s/%02d.sh", parts, ++number); printf "" > file; next }
    /^```text$/ && number > 0 { file = sprintf("%s/%02d.text", parts, number); printf "" > file; next }
    /^```/ {
      if (script) print "END_OF_SCRIPT" > file
      if (file != "") close(file)
      file = script = ""
      next
    }
    file != "" { print > file }
  ' "$1"
}

run_page() {
  take_apart "$1"
  local part script=$BATS_TEST_TMPDIR/script
  echo 'set -eo pipefail' >"$script"
  for part in "$BATS_TEST_TMPDIR"/parts/*.sh; do
    # Not in a subshell: the next block goes on where this one has changed to.
    printf '{\n%s\n} >"%s" 2>&1\n' "$(cat "$part")" "${part%.sh}.out" >>"$script"
  done
  bash "$script" || {
    tail -n +1 "$BATS_TEST_TMPDIR"/parts/*.out
    echo "a block of $1 failed: the last one above"
    return 1
  }
  for part in "$BATS_TEST_TMPDIR"/parts/*.text; do
    [[ -e $part ]] || continue
    diff -u --label "what $1 says" --label "what was printed" "$part" "${part%.text}.out"
  done
}

@test "README.md" {
  source_dir=$(dirname "$BATS_TEST_DIRNAME")/..
  cp -r "$source_dir/examples" .
  rm -rf examples/hello/out
  ln -s "$BATS_TEST_TMPDIR/bin/hermetic" hermetic
  run_page "$source_dir/README.md"
  [[ -x examples/hello/out/hello ]]
}

@test "docs/guide/getting-started.md" {
  run_page "$BATS_TEST_DIRNAME/../../docs/guide/getting-started.md"
}

@test "docs/guide/builds.md" {
  run_page "$BATS_TEST_DIRNAME/../../docs/guide/builds.md"
}

@test "docs/guide/gate.md" {
  unset GITHUB_ACTIONS GITHUB_SHA CI_COMMIT_SHA
  run_page "$BATS_TEST_DIRNAME/../../docs/guide/gate.md"
}

@test "docs/guide/learn.md" {
  export PATH=$BATS_TEST_TMPDIR/bin:/usr/local/bin:/usr/bin:/bin
  unset LIBRARY_PATH
  run_page "$BATS_TEST_DIRNAME/../../docs/guide/learn.md"
}

@test "docs/guide/tasks.md" {
  run_page "$BATS_TEST_DIRNAME/../../docs/guide/tasks.md"
}

@test "docs/guide/limits.md" {
  run_page "$BATS_TEST_DIRNAME/../../docs/guide/limits.md"
}

@test "docs/guide/network.md" {
  run_page "$BATS_TEST_DIRNAME/../../docs/guide/network.md"
}

@test "docs/guide/python.md" {
  HERMETIC_LIBRARY=$(dirname "$(readlink -f "$BATS_TEST_TMPDIR/bin/hermetic")")/libhermetic.so.0
  if grep -q '__[at]san_init' "$HERMETIC_LIBRARY"; then skip 'a library with a sanitizer needs a program with it'; fi
  export HERMETIC_LIBRARY PYTHONPATH=$BATS_TEST_DIRNAME/../../bindings/python
  run_page "$BATS_TEST_DIRNAME/../../docs/guide/python.md"
}

@test "docs/guide/troubleshooting.md" {
  run_page "$BATS_TEST_DIRNAME/../../docs/guide/troubleshooting.md"
}

@test "every page of the guide is run here" {
  grep -q 'docs/guide/cpp.md' "$BATS_TEST_DIRNAME/../package/install_test.sh" # compiles it
  for page in "$BATS_TEST_DIRNAME"/../../docs/guide/*.md; do
    [[ $page == */cpp.md ]] || grep -q "^@test \"docs/guide/${page##*/}\"" "$BATS_TEST_FILENAME"
  done
}

@test "a page that says what is not so is found" {
  printf '%s\n' '```sh run' 'echo one' '```' '```text' two '```' >wrong.md
  run run_page wrong.md
  [ "$status" -ne 0 ]
  printf '%s\n' '```sh run' false '```' >fails.md
  rm -f "$BATS_TEST_TMPDIR"/parts/*
  run run_page fails.md
  [ "$status" -ne 0 ]
}
