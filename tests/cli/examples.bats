#!/usr/bin/env bats
# The entries of examples/, as their pages say. examples/hello is on the first page: cli/docs runs it.

bats_require_minimum_version 1.5.0

setup() {
  cp -r "$HERMETIC_SOURCE_DIR/examples" "$BATS_TEST_TMPDIR"
  cd "$BATS_TEST_TMPDIR" || return
}

hermetic() { "$HERMETIC_PROGRAM" "$@"; }

# The commands of a page, each on its own.
run_page() { # name
  local line count=0
  while IFS= read -r line; do
    eval "$line" >/dev/null
    ((++count))
  done < <(sed -n 's/^    //p' "examples/$1/README.md")
  ((count > 0))
}

@test "examples/targets" {
  run_page targets
  [ "$(hermetic run --quiet --spec examples/targets/hermetic.yaml greet)" = 'hello from builder' ]
  [ "$(hermetic run --quiet --spec examples/targets/hermetic.yaml greet-politely)" = 'good morning from builder' ]
  # Where there are no control groups, a limit of memory is only observed.
  [ "$(hermetic run --quiet --give-up memory-limit --give-up cpu-time-limit --give-up processes-limit \
    --spec examples/targets/hermetic.yaml count)" = 100 ]
}

@test "examples/limits" {
  run_page limits
  [ "$(hermetic run --quiet --spec examples/limits/hermetic.yaml)" = 'within all limits' ]
  run -124 hermetic run --quiet --spec examples/limits/hermetic.yaml --timeout 300ms -- sleep 60
}

@test "examples/network" {
  run_page network
  local target
  for target in none loopback allow-list; do hermetic run --quiet --spec examples/network/hermetic.yaml "$target"; done
  # Nothing of it is reached: the names lead nowhere in an empty network.
  local around=(unshare --net)
  ((EUID == 0)) || around=(unshare --user --map-root-user --net)
  run -0 "${around[@]}" "$HERMETIC_PROGRAM" run --quiet --spec examples/network/hermetic.yaml loopback -- \
    python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); socket.create_connection(s.getsockname())'
  run -1 "${around[@]}" "$HERMETIC_PROGRAM" run --quiet --spec examples/network/hermetic.yaml none -- \
    python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); socket.create_connection(s.getsockname())'
}
