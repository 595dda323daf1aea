# A network with a name server and a web server, which exists for one command: no other address is ever reached.

# in_world USER COMMAND...: as the caller, or as nobody if that is root.
in_world() {
  local user=$1 folder=$BATS_TEST_TMPDIR/world-$1 as=() map=(--user --map-root-user)
  shift
  mkdir -p "$folder"
  if [ "$user" = nobody ]; then
    chown 65534:65534 "$folder"
    as=(setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent)
  elif ((EUID == 0)); then
    map=()
  fi
  "${as[@]}" unshare "${map[@]}" --net --mount -- /usr/bin/python3 "$BATS_TEST_DIRNAME/network_world.py" "$folder" "$@"
}

# The caller and, if that is root, nobody.
world_users() {
  echo caller
  if ((EUID == 0)) && setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$HERMETIC_PROGRAM"; then echo nobody; fi
}

# A folder for a user, with a repository in it.
make_user_folder() {
  chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" 2>/dev/null || true
  mkdir -p "$BATS_TEST_TMPDIR/$1"
  cd "$BATS_TEST_TMPDIR/$1" || return
  git init --quiet .
  if [ "$1" = nobody ]; then chown -R 65534:65534 .; fi
}
