#!/bin/sh
# separate_debug.sh FILE DIRECTORY: moves the debugging symbols of FILE to DIRECTORY/.build-id, where gdb looks for
# them by the build ID of FILE once DIRECTORY is installed as lib/debug.
set -eu
file=$1
id=$(readelf -n "$file" | sed -n 's/^ *Build ID: //p')
[ -n "$id" ] || { echo "$file has no build ID" >&2; exit 1; }
rest=${id#??}
symbols=$2/.build-id/${id%"$rest"}/$rest.debug
rm -rf "$2"
mkdir -p "${symbols%/*}"
objcopy --only-keep-debug --compress-debug-sections "$file" "$symbols"
objcopy --strip-all "$file"
