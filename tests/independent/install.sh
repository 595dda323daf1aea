#!/bin/bash
# Installs the packages of package-lock.json into the build folder, once for each state of that file. Nothing of them
# is run while they are installed. Where they cannot be had it skips, and so does every test that needs them.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
folder=$HERMETIC_BINARY_DIR/independent

cannot() {
  echo "independent: $1" >&2
  [[ ${HERMETIC_MUST_WORK-} == 1 ]] && exit 1
  exit 77
}

state=$(cat "$here/package.json" "$here/package-lock.json" | sha256sum)
if [[ -f $folder/installed && $(<"$folder/installed") == "$state" ]]; then exit 0; fi
mkdir -p "$folder"
rm -f "$folder/installed"
command -v npm >/dev/null || cannot 'npm is not installed; tools/setup test installs it'
cp "$here/package.json" "$here/package-lock.json" "$folder"
log=$folder/npm.log
if ! (cd "$folder" && timeout 200 npm ci --ignore-scripts --no-audit --no-fund --omit=peer --prefer-offline \
  >"$log" 2>&1 </dev/null); then
  cat "$log" >&2
  # A package that is not what the lock says is no matter of the network.
  if grep -q EINTEGRITY "$log"; then exit 1; fi
  cannot 'the packages could not be installed'
fi
chmod u+x "$folder/node_modules/@microsoft/sarif-multitool-linux/Sarif.Multitool"
echo "$state" >"$folder/installed"
