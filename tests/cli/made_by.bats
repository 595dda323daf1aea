#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # what is quoted is expanded in a shell of its own; run sets $output and $stderr
#
# Outputs that the command makes itself (made_by: command): not there when it starts, and alone published.

bats_require_minimum_version 1.5.0
load both_users

setup() {
  export PATH=/usr/local/bin:/usr/bin:/bin
  chmod 755 "$BATS_RUN_TMPDIR" "$BATS_SUITE_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" 2>/dev/null || true
  mkdir "$BATS_TEST_TMPDIR/work"
  cd "$BATS_TEST_TMPDIR/work" || return 1
  make_place
}

make_place() {
  mkdir src
  echo source >src/main.c
  echo secret >.env
  echo list >list
  ln -s src link
  ((EUID != 0)) || [[ $PWD != */nobody ]] || chown -R 65534:65534 .
}

hermetic() { "${prefix[@]}" "$HERMETIC_PROGRAM" "$@"; }

write_spec() { # script [line of the spec]...
  printf '%s\n' "$1" >script
  chmod 644 script
  {
    printf 'version: 1\ncommand: [sh, -e, "%s"]\ndirectory: $here\n' "$PWD/script"
    printf 'inputs:\n  - /usr\n  - /bin\n  - /lib\n  - /lib64\n  - /etc/ld.so.cache\n'
    printf '  - path: $here\n    except: [$here/.env, $here/b, $here/made, $here/work]\n'
    printf 'outputs:\n  - {path: $here/b, made_by: command}\n  - {path: $here/made, type: file, made_by: command}\n'
    printf '%s\n' "${@:2}"
  } >hermetic.yaml
  chmod 644 hermetic.yaml
}

# All that lies in the folder, but for what may be published.
picture() { find . -path ./b -prune -o -name made -prune -o -printf '%p %y %m %s %l\n' | sort; }
nothing_is_left() { ! compgen -G '.hermetic-*' && ! compgen -G '../.hermetic-*'; }

@test "what the command makes is not there before it, and is published" { as_both makes; }
makes() {
  write_spec '[ ! -e b ] && [ ! -e made ]; mkdir b; cd b; cp ../src/main.c x; echo 1 >tmp; mv tmp ../made; chmod 750 .'
  run -0 hermetic run --spec hermetic.yaml
  [ "$(cat b/x)" = source ]
  [ "$(cat made)" = 1 ]
  [ "$(stat -c %a b)" = 750 ]
  # Once more: what is on the host now does not show, and is replaced.
  "${prefix[@]}" sh -c 'echo old >b/old; echo old >made'
  run -0 hermetic run --spec hermetic.yaml
  [ ! -e b/old ]
  [ "$(cat made)" = 1 ]
  nothing_is_left
}

@test "nothing else that is made beside it is published, and nothing there is changed" { as_both strays; }
strays() {
  write_spec 'mkdir b; echo >made; echo stray >stray; mkdir dir; ln -s / root; ln b/../made hard; [ ! -e .env ]; echo mine >.env
    [ -L link ]; rm link; ln -s /etc link
    mkdir -p new/deep; mv new b/new; mv stray b/../stray2
    ! echo >src/main.c; ! echo >src/new; ! rm -r src; ! mv src gone; ! mv list gone; ! rm list; ! ln list hard2
    ! rmdir src; ! chmod 777 src; ! mv made src/made; ! ln -f made list
    mkdir src2; ! mv -T src2 src; rm -rf src2'
  local before after
  before=$(picture)
  run -0 hermetic run --spec hermetic.yaml
  after=$(picture)
  [ "$before" = "$after" ]
  [ "$(cat .env list src/main.c)" = "$(printf 'secret\nlist\nsource')" ]
  [ -d b/new/deep ]
  nothing_is_left
}

@test "a link, a device, another type, or nothing at all is no result" { as_both no_results; }
no_results() {
  local script before
  for script in 'mkdir b; ln -s /etc/passwd made' 'ln -s src b; echo >made' 'mkdir b; mkfifo made' 'mkdir b; mkdir made' \
    'echo >b; echo >made' 'mkdir b' 'echo >made' ':' 'mkdir b; cp /bin/true made; chmod 4755 made' \
    'mkdir b; mkfifo b/pipe; echo >made' 'mkdir b; echo >made; exit 3'; do
    write_spec "$script"
    before=$(find . -printf '%p %y %m %s %l\n' | sort)
    echo "# $script"
    run hermetic run --spec hermetic.yaml
    [ "$status" -ne 0 ]
    [[ $script == *'exit 3' ]] || [[ $output == *"'$PWD/"* ]]
    [ "$before" = "$(find . -printf '%p %y %m %s %l\n' | sort)" ]
    nothing_is_left
  done
}

@test "a failed run leaves what was made where it is asked to" { as_both kept; }
kept() {
  write_spec 'mkdir b; echo 1 >b/x; echo stray >stray; exit 3'
  run -3 hermetic run --spec hermetic.yaml --keep-failed kept
  [ "$(cat kept/0/x)" = 1 ]
  [ "$(find kept -mindepth 1 | sort | tr '\n' ' ')" = 'kept/0 kept/0/x kept/1 ' ]
  nothing_is_left
}

@test "a temp that the command makes is thrown away" { as_both temps; }
temps() {
  write_spec 'mkdir b; echo >made; mkdir work; echo 1 >work/x; mv work/x b/x' 'temps:' '  - {path: $here/work, made_by: command}'
  "${prefix[@]}" mkdir work
  "${prefix[@]}" touch work/of-the-host
  run -0 hermetic run --spec hermetic.yaml
  [ -e b/x ]
  [ -e work/of-the-host ]
  [ ! -e work/x ]
}

@test "where nothing can be made the spec is refused before anything runs" {
  write_spec ':'
  cp hermetic.yaml good.yaml
  refused() { # text words...
    run -2 hermetic check hermetic.yaml
    [[ $output == *"$1"* ]]
    cp good.yaml hermetic.yaml
  }
  touch made
  sed -i 's/type: file, made_by/type: file, publish: in_place, made_by/' hermetic.yaml
  refused 'it is changed in place'
  sed -i 's|here/b, made_by|here/b, except: [$here/b/x], made_by|' hermetic.yaml
  refused 'it has exceptions'
  sed -i 's/made_by: command/made_by: nobody/' hermetic.yaml
  refused "'made_by'"
  echo 'strict_outputs: true' >>hermetic.yaml
  refused 'strict_outputs'
  echo '  - {path: /made-in-root, made_by: command}' >>hermetic.yaml
  refused "nothing can be made in '/'"
  sed -i 's|^directory:.*|directory: $here/b|' hermetic.yaml
  refused 'does not exist when the command starts'
  ln -s work/src ../result
  echo "  - {path: $BATS_TEST_TMPDIR/result, made_by: command}" >>hermetic.yaml
  refused 'it is a link'
  mkdir ../many
  seq 4200 | (cd ../many && xargs touch)
  sed -i "s|^inputs:|&\n  - {path: $BATS_TEST_TMPDIR/many, except: [$BATS_TEST_TMPDIR/many/x]}|" hermetic.yaml
  echo "  - {path: $BATS_TEST_TMPDIR/many/x, made_by: command}" >>hermetic.yaml
  refused 'has too many entries to show them'
  sed -i 's|, .here/work\]|, $here/work, $here/other]|' hermetic.yaml
  printf '  - {path: $here/other, except: [$here/other/x]}\n  - {path: $here/other/x, made_by: command}\n' >>hermetic.yaml
  refused 'belongs to the output'
}

@test "no tree of another place stands beside what the command makes" {
  mkdir ../beside
  cd ../beside || return
  printf 'version: 1\ncommand: [true]\ninputs: [/usr, {path: $here, except: [$here/b]}, %s]\noutputs: [%s]\n' \
    '{path: /etc/debian_version, at: $here/sub/x}' '{path: $here/b, made_by: command}' >hermetic.yaml
  run -2 hermetic check hermetic.yaml
  [[ $output == *'nothing can be made by the command in'*'stands there'* ]]
}

@test "a tree may stand in a directory beside what the command makes" {
  mkdir -p ../beside/c
  cd ../beside || return
  printf 'version: 1\ncommand: [sh, -c, "mkdir %s/b; touch %s/c/b/x"]\ninputs: [/usr, /bin, /lib, /lib64, %s]\n' \
    "$PWD" "$PWD" '{path: $here, except: [$here/b, $here/c/b]}' >hermetic.yaml
  printf 'outputs: [{path: $here/b, made_by: command}]\ntemps: [$here/c/b]\n' >>hermetic.yaml
  run -0 hermetic run --spec hermetic.yaml
  [ -d b ]
  [ ! -e c/b ]
}

@test "the plan shows what the command makes" {
  write_spec ':'
  run -0 hermetic plan --spec hermetic.yaml
  [[ $output == *'b  output, made by the command'* ]]
  run -0 --separate-stderr hermetic plan --spec hermetic.yaml --json
  [[ $output == *'"made_in"'* ]]
  run -0 hermetic check hermetic.yaml --why "$PWD/b/x" --why "$PWD/src/x" --why "$PWD/stray"
  echo "$output"
  [[ $output == *"$PWD/b/x"*may*written* ]]
}
