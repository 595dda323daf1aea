#!/usr/bin/env bats
# shellcheck disable=SC2016 # what is quoted is expanded in a shell of its own
#
# hermetic gc as its users see it. That outputs are put right from any state is tested by tests/faults.

bats_require_minimum_version 1.5.0

# A script in a mount namespace of its own, with /var/tmp and /tmp that nobody else uses.
apart() { # script
  local unshare=(unshare --mount)
  ((EUID == 0)) || unshare=(unshare --user --map-root-user --mount)
  "${unshare[@]}" bash -euo pipefail -c '
    exec 9<"$HERMETIC_PROGRAM" # which may lie in what is covered now
    program=/proc/$$/fd/9
    mount -t tmpfs none /var/tmp
    mount -t tmpfs none /tmp
    mount -t tmpfs none /sys/fs/cgroup
    mkdir /var/tmp/w
    cd /var/tmp/w
    hermetic() { "$program" "$@"; }
    start() { # leaves the pid of a run in $run
      "$program" run --quiet --output out -- sh -c "echo x >out/ready; exec sleep 1000" &
      run=$!
      for ((i = 0; i < 200; ++i)); do
        if compgen -G "/var/tmp/.hermetic-*/tree/ready" >/dev/null; then return; fi
        sleep 0.05
      done
      return 1
    }
    run=
    stop() {
      if [ -z "$run" ]; then return; fi
      kill -KILL "$run"
      wait "$run" || true
      run=
    }
    trap stop EXIT
  '"$1"
}

@test "there may be nothing to do" {
  run -0 apart 'hermetic gc'
  [ "$output" = "nothing was left behind" ]
  run -0 apart 'hermetic gc --json'
  [ "$output" = '{"leftovers":[]}' ]
}

@test "what a killed run has left is put right" {
  run -0 apart 'start; stop; hermetic gc; ls -A /var/tmp'
  [[ ${lines[-2]} == "removed    /var/tmp/.hermetic-"* ]]
  [ "${lines[-1]}" = w ]
}

@test "what a living run uses is not touched" {
  run -0 apart 'start; hermetic gc; ls -d /var/tmp/.hermetic-*/tree/ready; stop'
  [ "${lines[0]}" = "nothing was left behind" ]
  [[ ${lines[1]} == */tree/ready ]]
}

@test "directories are looked through if they are named, and only then" {
  run -0 apart 'mkdir -p "d/.hermetic-$EUID-abcdef/tree"; hermetic gc; hermetic gc d; hermetic gc d'
  [ "${lines[0]}" = "nothing was left behind" ]
  [[ ${lines[1]} == "removed    d/.hermetic-"* ]]
  [ "${lines[2]}" = "nothing was left behind" ]
}

@test "what cannot be put right is kept, and the exit code says so" {
  local script='mkdir -p "d/.hermetic-$EUID-abcdef"; echo /no/journal >"d/.hermetic-$EUID-abcdef/claimed"; hermetic gc d'
  run -125 apart "$script"
  [[ $output == "kept "*"d/.hermetic-"*": the journal in '/no/journal' is not there"* ]]
  run -125 apart "$script --json"
  [[ $output == *'"fate":"kept"'* ]]
}

@test "the control group of a killed run is removed" {
  if ((EUID != 0)) || ! "$HERMETIC_PROGRAM" doctor | grep -q '^enforced *memory-limit'; then
    skip "no control group is ours here"
  fi
  "$HERMETIC_PROGRAM" run --quiet --memory 400M -- sleep 4712.5 &
  local run=$! i
  groups() { find /sys/fs/cgroup -maxdepth 5 -name "hermetic-$UID-$run-*" 2>/dev/null; }
  for ((i = 0; i < 200; ++i)); do
    if [ -n "$(groups)" ]; then break; fi
    sleep 0.05
  done
  [ -n "$(groups)" ]
  "$HERMETIC_PROGRAM" gc >/dev/null
  [ -n "$(groups)" ] # it lives
  kill -KILL "$run"
  wait "$run" || true
  # Its processes need a moment to be gone.
  for ((i = 0; i < 200; ++i)); do
    "$HERMETIC_PROGRAM" gc >/dev/null
    if [ -z "$(groups)" ]; then break; fi
    sleep 0.05
  done
  [ -z "$(groups)" ]
}

@test "JSON names what was found" {
  run -0 apart 'mkdir "/tmp/.hermetic-$EUID-abcdef"; hermetic gc --json | tee /tmp/found; python3 -m json.tool /tmp/found >/dev/null'
  [[ $output == '{"leftovers":[{"detail":"","fate":"removed","path":"/tmp/.hermetic-'*'-abcdef"}]}' ]]
}

@test "bad usage is refused" {
  run -2 "$HERMETIC_PROGRAM" gc --all
  run -2 "$HERMETIC_PROGRAM" gc -- true
  run -125 apart 'hermetic gc /no/such/directory'
  [[ $output == *"cannot open '/no/such/directory'"* ]]
}

@test "what a killed doctor has left is removed" {
  # Killed as soon as it has made its directory; if it was done before that, there is nothing to remove. What it
  # has started ends with it, but not before it, and until then the directory is in use.
  run -0 apart '
    for ((i = 0; i < 200; ++i)); do
      "$program" doctor >/dev/null 2>&1 &
      run=$!
      while kill -0 $run 2>/dev/null; do
        if compgen -G "/var/tmp/.hermetic-*/trial" >/dev/null; then break; fi
      done
      stop
      if compgen -G "/var/tmp/.hermetic-*/trial" >/dev/null; then break; fi
    done
    compgen -G "/var/tmp/.hermetic-*/trial" >/dev/null
    while compgen -G "/var/tmp/.hermetic-*/trial" >/dev/null; do hermetic gc; done
    ls -A /var/tmp'
  [[ $output == *"removed    /var/tmp/.hermetic-"* ]]
  [ "${lines[-1]}" = w ]
}
