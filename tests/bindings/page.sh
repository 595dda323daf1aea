#!/bin/bash
# page.sh PAGE INCLUDE LIBRARY: each block "```c run" of the page is a program that compiles without warnings, and
# prints what the block "```text" after it says.
set -euo pipefail
page=$1 include=$2 library=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
awk -v parts="$scratch" '
  /^```c run$/ { file = sprintf("%s/%02d.c", parts, ++number); next }
  /^```text$/ && number > 0 { file = sprintf("%s/%02d.text", parts, number); next }
  /^```/ { if (file != "") close(file); file = ""; next }
  file != "" { print > file }
' "$page"
count=0
cd "$scratch"
for source in [0-9]*.c; do
  "${CC:-cc}" -std=c11 -Wall -Wextra -Wpedantic -Werror -I "$include" "$source" "$library" \
    "-Wl,-rpath,${library%/*}" -o "${source%.c}"
  "./${source%.c}" >"${source%.c}.out"
  diff -u --label "what $page says" --label "what was printed" "${source%.c}.text" "${source%.c}.out"
  count=$((count + 1))
done
[[ $count -gt 0 ]]
