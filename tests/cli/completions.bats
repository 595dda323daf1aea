#!/usr/bin/env bats
# The completions as the shells use them. That they know every option is tested by cli/help_pages.

# What bash offers for the last of the given words.
complete_in_bash() {
  bash -c 'source "$HERMETIC_SOURCE_DIR/completions/hermetic.bash"
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _hermetic; echo "${COMPREPLY[*]}"' bash "$@"
}

@test "bash completes commands" {
  [ "$(complete_in_bash hermetic pl)" = plan ]
  [ "$(complete_in_bash hermetic help ch)" = check ]
}

@test "bash completes options of the command that is typed" {
  [ "$(complete_in_bash hermetic plan --js)" = --json ]
  [ "$(complete_in_bash hermetic check --js)" = "" ]
}

@test "bash completes values" {
  [ "$(complete_in_bash hermetic plan --color al)" = always ]
  [ "$(complete_in_bash hermetic plan --memory '')" = "" ]
}

@test "bash completes files, and commands after --" {
  cd "$BATS_TEST_TMPDIR"
  touch spec-file.yaml
  [ "$(complete_in_bash hermetic check spec-f)" = spec-file.yaml ]
  [ "$(complete_in_bash hermetic plan --spec spec-f)" = spec-file.yaml ]
  [[ " $(complete_in_bash hermetic plan -- moun) " == *" mount "* ]]
}

@test "fish completes commands, options and values" {
  fish_says() { fish --no-config -c "source '$HERMETIC_SOURCE_DIR/completions/hermetic.fish'; complete -C '$1'"; }
  fish_says 'hermetic pl' | grep -q '^plan'
  fish_says 'hermetic plan --js' | grep -q '^--json'
  fish_says 'hermetic plan --color al' | grep -q '^always'
}

# zsh completes only on a terminal, which tmux is.
@test "zsh completes commands, options and values" {
  zsh -n "$HERMETIC_SOURCE_DIR/completions/_hermetic"
  local socket=$BATS_TEST_TMPDIR/tmux
  typing() { tmux -S "$socket" send-keys "$@"; }
  shows() { # pattern
    local tries
    for ((tries = 0; tries < 100; ++tries)); do
      if tmux -S "$socket" capture-pane -p | grep -qE -- "$1"; then return 0; fi
      sleep 0.1
    done
    tmux -S "$socket" capture-pane -p
    tmux -S "$socket" kill-server # or bats would wait for it
    return 1
  }
  tmux -S "$socket" -f /dev/null new-session -d -x 100 -y 20 -c "$BATS_TEST_TMPDIR" 'zsh -f'
  typing "PS1='> '; fpath=('$HERMETIC_SOURCE_DIR/completions' \$fpath); autoload -U compinit; compinit -u -D; clear" Enter
  shows '^> *$'
  typing 'hermetic pla' Tab '--js' Tab
  shows '^> hermetic plan --json'
  typing C-u 'hermetic plan --color al' Tab
  shows '^> hermetic plan --color always'
  tmux -S "$socket" kill-server
}
