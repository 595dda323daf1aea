#!/usr/bin/env bats
# hermetic on a terminal: the shell, job control, the window's size, the status line. tmux is the terminal.

setup() {
  directory=$(mktemp -d)
  socket=$directory/tmux
  # shellcheck disable=SC2016  # for the shell in the terminal
  tmux -S "$socket" -f /dev/null new-session -d -x 80 -y 12 -c "$directory" 'env -i TERM=screen PATH="$PATH" PS1="outer> " sh -i'
  # What is typed before the prompt is there would be echoed in front of it.
  shows '^outer> *$'
}

teardown() {
  tmux -S "$socket" kill-server || true
  rm -rf "$directory"
}

type_line() { tmux -S "$socket" send-keys "$1" Enter; }
press() { tmux -S "$socket" send-keys "$1"; }
screen() { tmux -S "$socket" capture-pane -p; }

# Waits until the screen shows the pattern; fails with the screen after ten seconds.
shows() {
  local tries=0
  until screen | grep -qE -- "$1"; do
    if ((++tries > 100)); then
      echo "the screen does not show '$1':"
      screen
      return 1
    fi
    sleep 0.1
  done
}

@test "the shell has a terminal of its own, with the size of the window" {
  type_line "'$HERMETIC_PROGRAM' shell"
  shows 'hermetic:'
  type_line 'tty; stty size'
  shows '^/dev/pts/0'
  shows '^12 80'
  tmux -S "$socket" resize-window -x 70 -y 10
  # It travels to the shell inside as a signal.
  # shellcheck disable=SC2016  # for that shell
  type_line 'until [ "$(stty size)" = "10 70" ]; do sleep 0.05; done; stty size'
  shows '^10 70'
}

@test "Ctrl-Z, fg and Ctrl-C belong to the shell inside" {
  type_line "'$HERMETIC_PROGRAM' shell"
  shows 'hermetic:'
  type_line "sh -c 'echo run''ning; exec sleep 100'"
  shows '^running'
  press C-z
  shows 'Stopped'
  type_line 'fg'
  sleep 0.5
  press C-c
  shows '\^C'
  type_line 'echo code=$?'
  shows 'code=130'
  type_line 'exit 7'
  shows '^outer> *$'
  type_line 'echo outer=$?; stty -a | grep -o " icanon"'
  shows '^outer=7'
  shows '^ icanon'
}

@test "a run that lasts shows one status line, which is gone afterwards" {
  type_line "'$HERMETIC_PROGRAM' run -- sleep 3"
  shows '^hermetic: [12]s  sleep'
  shows '^outer> *$'
  sleep 0.2
  if screen | grep '^hermetic: '; then return 1; fi
}

@test "--quiet shows no status line" {
  type_line "'$HERMETIC_PROGRAM' run --quiet -- sh -c 'sleep 2; echo do''ne'"
  sleep 1.7
  if screen | grep '^hermetic: '; then return 1; fi
}

@test "Ctrl-C ends a run and leaves nothing" {
  local seconds=4321.$$  # the same test may run for another build
  type_line "'$HERMETIC_PROGRAM' run -- sh -c 'echo run''ning; exec sleep $seconds'"
  shows '^running'
  press C-c
  type_line 'echo code=$?'
  shows 'code=130'
  if pgrep -f "^sleep $seconds\$"; then return 1; fi
}
