#!/bin/bash
# The checks of style refuse what they are there to refuse: each is run on a broken copy of the tree.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch"/{tools,src,man,pages}
cp "$HERMETIC_SOURCE_DIR"/tools/* "$scratch/tools/"
cp "$HERMETIC_SOURCE_DIR"/.clang-format "$scratch/"

must_pass() {
  "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; echo "refused: $*" >&2; exit 1; }
}
must_fail() {
  if "$@" >"$scratch/log" 2>&1; then echo "accepted: $*" >&2; exit 1; fi
}

printf 'int main() { return 0; }\n' >"$scratch/src/main.cc"
must_pass "$scratch/tools/format" --check
printf 'int  main( ) {return 0;}\n' >"$scratch/src/main.cc"
must_fail "$scratch/tools/format" --check
must_pass "$scratch/tools/format"
must_pass "$scratch/tools/format" --check

must_pass "$scratch/tools/lint_scripts"
# shellcheck disable=SC2016  # the sample is to be broken
printf '#!/bin/sh\nrm $1\n' >"$scratch/tools/broken"
must_fail "$scratch/tools/lint_scripts"

# A program with one option more than the man pages and completions know.
cp -r "$HERMETIC_SOURCE_DIR/completions" "$scratch/"
cp "$HERMETIC_SOURCE_DIR"/man/*.scd "$scratch/man/"
cat >"$scratch/program" <<'PROGRAM'
#!/bin/sh
case $1 in
  --help) printf 'commands:\n  plan      Shows it.\n' ;;
  *) printf 'usage: hermetic plan [OPTION]...\n\noptions:\n  --new PATH      a thing\n' ;;
esac
PROGRAM
chmod +x "$scratch/program"
must_fail "$scratch/tools/help_pages" --check "$scratch/program"
must_pass "$scratch/tools/help_pages" "$scratch/program"
must_pass "$scratch/tools/help_pages" --check "$scratch/program"
grep -q -- '--new' "$scratch/completions/hermetic.bash" "$scratch/man/hermetic-plan.1.scd"
rm "$scratch"/man/*.scd

export HERMETIC_SOURCE_DIR=$scratch
man_pages=${BASH_SOURCE[0]%/*}/man_pages.sh
printf 'a(1)\n\n# NAME\n\na - b\n' >"$scratch/man/a.1.scd"
must_fail "$man_pages" "$scratch/pages"
scdoc <"$scratch/man/a.1.scd" >"$scratch/pages/a.1"
must_pass "$man_pages" "$scratch/pages"
printf '.TH\n.XX\n' >"$scratch/pages/a.1"
must_fail "$man_pages" "$scratch/pages"
