#!/bin/sh
# man_pages.sh FOLDER: every page that was built has a source, and mandoc finds nothing to say about it.
# (scdoc puts an empty paragraph after every heading; that one message is not counted.)
set -eu
pages=$1
status=0
for source in "$HERMETIC_SOURCE_DIR"/man/*.scd; do
  page=$pages/$(basename "$source" .scd)
  if ! [ -s "$page" ]; then
    echo "$page was not made from $source" >&2
    status=1
  elif mandoc -T lint -W warning "$page" 2>&1 | grep -v 'skipping paragraph macro' >&2; then
    status=1
  fi
done
exit $status
