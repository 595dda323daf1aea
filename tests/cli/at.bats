#!/usr/bin/env bats
# Trees that stand at another place inside than on the host, and roots of their own. As the caller and as nobody.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # what is quoted is for inside; each test is a shell of its own

bats_require_minimum_version 1.5.0
load both_users

setup_file() { chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" 2>/dev/null || true; }

setup() {
  chmod 755 "$BATS_TEST_TMPDIR"
  cd "$BATS_TEST_TMPDIR" || return
}

make_place() { :; }

give() { ((${#prefix[@]} == 0)) || chown -hR 65534:65534 .; }

hermetic() { "${prefix[@]}" "$HERMETIC_PROGRAM" "$@"; }

stand_where_options_say() {
  mkdir -p src/sub tools
  echo one >src/a
  echo tool >'tools/a:b'
  give
  run -0 hermetic run --input src:/w --input 'tools/a\:b:/opt/t\:x' --output out:/o --output-file report:/r --temp /s --dir /w -- \
    sh -c 'pwd; ls /w; cat a "/opt/t:x"; echo made >/o/file; echo told >/r; echo x >/s/x; echo y >/w/y || true'
  [[ $output == $'/w\na\nsub\none\ntool'*'Read-only file system'* ]]
  [ "$(cat out/file report)" = $'made\ntold' ]
  [ ! -e src/y ]
}
@test "inputs and outputs stand where the options say" { as_both stand_where_options_say; }

# The default would show the current directory: only the file does not.
takes_exceptions_inside() {
  mkdir -p src/sub
  echo secret >src/sub/key
  echo open >src/a
  sed "s,HERE,$PWD,g" >spec.yaml <<'END'
version: 1
command: ["true"]
inputs: [/usr, /bin, /lib, /lib64, {path: HERE/src, at: /w, except: [/w/sub]}]
END
  give
  run ! hermetic run --spec spec.yaml -- cat /w/sub/key
  [[ $output != *secret* ]]
  run ! hermetic run --spec spec.yaml -- cat "$PWD/src/sub/key"
  [[ $output != *secret* ]]
  run -0 hermetic check --why /w/sub/key --why /w/a --why "$PWD/src/a" spec.yaml
  [[ $output == *"/w/sub/key may not be read: an exception of input '$PWD/src' at '/w' (spec.yaml:3:"*"), on the host '$PWD/src/sub/key'"* ]]
  [[ $output == *"/w/a may be read: input '$PWD/src' at '/w' (spec.yaml:3:"*"), on the host '$PWD/src/a'"* ]]
  [[ $output != *"$PWD/src/a may be read: input"* ]]
  run ! hermetic run --spec spec.yaml --explain -- cat /w/sub/key
  [[ $output == *"/w/sub"*"an exception of input '$PWD/src' at '/w'"* ]]
}

@test "an exception of a tree with a place is a name inside" { as_both takes_exceptions_inside; }

changes_in_place() {
  mkdir -p state/keep src
  echo old >state/file
  echo kept >state/keep/file
  give
  run -0 hermetic run --input src:/w --output-in-place state:/state --except /state/keep --dir /w -- sh -c 'cat /state/file; echo new >/state/file; ! ls /state/keep 2>&1'
  [ "${lines[0]}" = old ]
  [ "$(cat state/file state/keep/file)" = $'new\nkept' ]
  run -2 hermetic run --input src:/w --output-in-place src:/o --dir /w -- true
  [[ $output == *'overlap on the host: both hold'* ]]
  mkdir src/out
  run -2 hermetic run --input src:/w --output src/out:/o --dir /w -- true
  [[ $output == *"overlap on the host: both hold '$PWD/src/out'"*"except '/w/out' from the input"* ]]
  run -2 hermetic run --input src:/w --output elsewhere:/w/out --dir /w -- true
  [[ $output == *"overlap inside: both hold '/w/out'"* ]]
}
@test "an output that is changed in place may stand elsewhere, and is no input there" { as_both changes_in_place; }

makes_places() {
  mkdir -p src/sub tool
  echo a >src/a
  echo t >tool/t
  ln -s sub src/link
  give
  run -0 hermetic run --input src:/w --input tool:/w/new/tool --input tool:/usr/local/of-the-test/tool --input tool/t:/etc/hosts --dir /w -- \
    sh -c 'ls; cat a new/tool/t /usr/local/of-the-test/tool/t /etc/hosts; test -e /usr/bin/env; readlink link'
  [ "$output" = $'a\nlink\nnew\nsub\na\nt\nt\nt\nsub' ]
  [ ! -e src/new ] && [ ! -e /usr/local/of-the-test ]
  run -2 hermetic run --input src:/w --input tool:/w/link/tool --dir /w -- true
  [[ $output == *"cannot stand at '/w/link/tool': '/w/link' of input '$PWD/src' at '/w'"*'is a symbolic link'* ]]
  run -2 hermetic run --input tool:/bin/tool -- true
  [[ $output == *"'/bin' is a link to '/usr/bin'"*"'/usr/bin/tool'"* ]] || [ ! -L /bin ]
  for place in /dev/null /dev/shm/x /proc/self /proc; do
    run -2 hermetic run --input "tool:$place" -- true
    [[ $output == *'cannot be declared'* ]]
  done
  run -2 hermetic run --output "out:/" -- true
  [[ $output == *'cannot be written'* ]]
}
@test "a place that is not there is made inside and never on the host" { as_both makes_places; }

copies() {
  mkdir -p src
  echo old >src/a
  give
  run -0 hermetic run --temp src:/c --dir /c -- sh -c 'cat a; echo new >a; cat a'
  [ "$output" = $'old\nnew' ]
  [ "$(cat src/a)" = old ]
}
@test "a temp at a place may start as a tree of the host" { as_both copies; }

starts_where_it_stands() {
  mkdir -p sub
  echo a >sub/a
  give
  run -0 hermetic run --input .:/w -- sh -c 'pwd; ls'
  [ "${lines[0]}" = /w ]
  cd sub || return
  run -0 hermetic run --input ..:/w -- sh -c 'pwd; ls'
  [ "$output" = $'/w/sub\na' ]
  run ! hermetic run --input ..:/w -- ls "$PWD"
  [[ $output != *$'\na'* ]]
}
@test "the current directory is entered where it stands" { as_both starts_where_it_stands; }

# sh, ls and cat with what they need, with links as a system has them.
make_root() {
  local program file
  mkdir -p image/usr/bin image/usr/lib image/usr/lib64 image/etc image/home
  ln -s usr/bin image/bin
  ln -s usr/lib image/lib
  ln -s usr/lib64 image/lib64
  ln -s /private/tmp image/tmp
  ln -s ../nowhere/resolv.conf image/etc/resolv.conf
  echo image >image/etc/issue
  for program in sh ls cat; do
    file=$(readlink -f "$(command -v $program)")
    cp "$file" "image/usr/bin/$program"
    for file in $(ldd "$file" | grep -o '/[^ ]*'); do
      mkdir -p "image/usr$(dirname "${file#/usr}")"
      cp -L "$file" "image/usr${file#/usr}"
    done
  done
  ln -s /usr/bin/cat image/usr/bin/show # absolute: leads to the image's
}

is_the_root() {
  make_root
  mkdir -p src
  echo one >src/a
  give
  run -0 hermetic run --root image --input src:/opt/tool --output out:/results -- sh -c 'pwd; cat /etc/issue /opt/tool/a; ls /; show /etc/passwd; echo r >/results/r; echo t >/tmp/t'
  [[ $output == $'/\nimage\none\nbin\ndev\netc\nhome\nlib\nlib64\nopt\nproc\nresults\nsys\ntmp\nusr\n'*builder:x:1000* ]]
  [ "$(cat out/r)" = r ]
  run ! hermetic run --root image -- sh -c 'echo x >/home/x'
  [[ $output == *'Read-only file system'* ]]
  run ! hermetic run --root image -- ls "$PWD"
  [ "$(ls image)" = $'bin\netc\nhome\nlib\nlib64\ntmp\nusr' ]
  run -2 hermetic run --root image --input src:/bin/x -- true
  [[ $output == *"'/bin' of input '$PWD/image' at '/'"*'is a symbolic link'* ]]
  run -127 hermetic run --root image -- sed p # the host has it
  printf 'version: 1\nroot: {path: $here/image, except: [/home]}\n' >spec.yaml
  run ! hermetic run --spec spec.yaml -- ls /home
  run -0 hermetic plan --root image -- sh
  [[ $output == *"/  on the host $PWD/image"* && $output == *"on the host $PWD/image/usr"* ]]
}
@test "a root is the command's whole file system" { as_both is_the_root; }

is_a_copied_root() {
  make_root
  mkdir -p src
  echo one >src/a
  give
  run -0 hermetic run --root-writable image --input src:/opt/tool --output out:/results -- sh -c '
    echo x >/home/x; echo i >/etc/issue; echo h >/etc/hosts; cat /home/x /etc/issue /etc/hosts /opt/tool/a; echo n >/usr/bin/new; echo r >/results/r; ls /dev/null'
  [ "$output" = $'x\ni\nh\none\n/dev/null' ]
  [ "$(cat out/r image/etc/issue)" = $'r\nimage' ]
  [ -z "$(ls image/home)" ] && [ ! -e image/usr/bin/new ] && [ ! -e image/opt ]
  run ! hermetic run --root-writable image --input src:/opt/tool -- sh -c 'echo x >/opt/tool/a'
  [[ $output == *'Read-only file system'* ]]
  run ! hermetic run --root-writable image --input src:/opt/tool -- sh -c 'echo x >/dev/x'
  printf 'version: 1\nroot: {path: $here/image, writable: true}\n' >spec.yaml
  run -0 hermetic run --spec spec.yaml -- sh -c 'echo x >/x; cat /x'
}
@test "a copied root may be changed and is thrown away" { as_both is_a_copied_root; }

two_checkouts() {
  local checkout
  for checkout in one two; do
    mkdir "$checkout"
    echo 'const char *where = __FILE__;' >"$checkout/where.c"
  done
  give
  for checkout in one two; do
    run -0 hermetic run --input "$checkout:/w" --output "$checkout-out:/out" --dir /w -- cc -c -g /w/where.c -o /out/where.o
  done
  cmp one-out/where.o two-out/where.o
}
@test "two checkouts at one place give the same bytes" { as_both two_checkouts; }

names_both_in_evidence() {
  mkdir src
  echo a >src/a
  give
  run -0 hermetic run --input src:/w --dir /w --evidence evidence -- cat /w/a
  grep -rq '"path": *"/w"' evidence
  grep -rq "\"source\": *\"$PWD/src\"" evidence
}
@test "evidence says where an input stands, and where it comes from" { as_both names_both_in_evidence; }

keeps_own_places() {
  mkdir src
  give
  run -2 hermetic run --input src:/w --output-in-place src/../src:/w2 --dir /w -- true
  mkdir state
  give
  for option in "--json state/x" "--events state/x" "--evidence state/x"; do
    # shellcheck disable=SC2086 # an option and its value
    run -2 hermetic run --output-in-place state:/o --dir / $option -- true
    [[ $output == *'lies inside the '* ]]
  done
}
@test "what hermetic writes is kept from a tree that stands elsewhere" { as_both keeps_own_places; }

@test "learn tells what was used of a tree that stands elsewhere from what was not" {
  echo used >"$BATS_TEST_TMPDIR/used"
  echo not >"$BATS_TEST_TMPDIR/not"
  printf 'version: 1\ncommand: [cat, /w/used]\ninputs: [/usr, /bin, /lib, /lib64, %s, %s]\n' \
    "{path: $BATS_TEST_TMPDIR/used, at: /w/used}" "{path: $BATS_TEST_TMPDIR/not, at: /w/not}" >"$BATS_TEST_TMPDIR/spec.yaml"
  run -0 "$HERMETIC_PROGRAM" learn --diff "$BATS_TEST_TMPDIR/spec.yaml"
  [[ $output == *'input /w/not: nothing in it was used'* && $output != *'input /w/used'* ]]
}
