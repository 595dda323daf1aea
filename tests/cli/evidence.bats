#!/usr/bin/env bats
# What a run leaves for others to check: hermetic run --evidence, verify-evidence, diff and key.

bats_require_minimum_version 1.5.0

setup() {
  mkdir -p "$BATS_TEST_TMPDIR/w/source"
  cd "$BATS_TEST_TMPDIR/w" || return
  echo first >source/main.c
  echo second >source/other.c
}

hermetic() { "$HERMETIC_PROGRAM" "$@"; }

# A run with an input, an output and something that it may not do.
leave() {
  local folder=$1
  shift
  hermetic run --quiet --input "$PWD/source" --output out --evidence "$folder" "$@" \
    -- sh -c 'cat source/main.c >out/copy; echo said; echo complained >&2'
}

@test "two equal runs have the same identity, and the same stable files to the byte" {
  hermetic key new "$BATS_TEST_TMPDIR/key"
  leave ../first --key ../key
  leave ../second --key ../key
  hermetic diff ../first ../second | grep -q 'the runs are the same'
  for file in manifest.json inputs.json attestations.intoto.jsonl report.md report.sarif junit.xml process_tree.json \
    stdout.txt stderr.txt; do
    cmp "../first/$file" "../second/$file"
  done
  [ "$(hermetic verify-evidence ../first | sed -n 's/^identity *sha256:\([0-9a-f]*\).*/\1/p')" = \
    "$(sha256sum <../first/manifest.json | cut -d' ' -f1)" ]
  [ "$(cat ../first/stdout.txt)" = said ]
  [ "$(cat ../first/stderr.txt)" = complained ]
  # Times, pids, the host and what was used are in one place only.
  grep -q '"usage":{.*"peak_memory_bytes":' ../first/volatile.json
  run ! cmp -s ../first/volatile.json ../second/volatile.json
}

@test "the command's streams and exit code stay what they are" {
  run --separate-stderr -3 hermetic run --evidence ../e -- sh -c 'echo out; echo err >&2; exit 3'
  [ "$output" = out ]
  # shellcheck disable=SC2154 # run sets it
  [ "$stderr" = err ]
  [ "$(cat ../e/stdout.txt)" = out ]
  hermetic verify-evidence ../e
}

@test "a reader that goes away ends the command as ever" {
  run -0 bash -c "timeout 60 '$HERMETIC_PROGRAM' run --quiet --evidence ../e -- yes | head -n 1"
  [ "$output" = y ]
  hermetic verify-evidence ../e
}

@test "whatever is changed, added or taken away is found" {
  leave ../e
  hermetic verify-evidence ../e
  for file in ../e/*; do
    cp -a ../e ../copy
    printf ' ' >>"../copy/${file##*/}"
    run -1 hermetic verify-evidence ../copy
    rm "../copy/${file##*/}"
    run -1 hermetic verify-evidence ../copy
    rm -r ../copy
  done
  touch ../e/new
  run -1 hermetic verify-evidence ../e
  [[ $output == *'new was added'* ]]
  rm ../e/new
  ln -s /etc/passwd ../e/link
  run ! hermetic verify-evidence ../e
}

@test "a key signs, another does not, and who has none cannot forge" {
  hermetic key new ../key
  hermetic key new ../other
  leave ../e --key ../key
  hermetic verify-evidence ../e --key ../key.pub
  run -1 hermetic verify-evidence ../e --key ../other.pub
  [[ $output == *'not signed by the key'* ]]
  leave ../unsigned
  hermetic verify-evidence ../unsigned
  run -1 hermetic verify-evidence ../unsigned --key ../key.pub
  # All digests put right, the signatures kept: only the key tells.
  cp -a ../e ../forged
  echo 'other words' >../forged/stdout.txt
  python3 - ../forged <<'FORGE'
import base64, hashlib, json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
canonical = lambda document: json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
listing = json.loads((folder / "volatile.json").read_text())
listing["files"]["stdout.txt"] = "sha256:" + hashlib.sha256((folder / "stdout.txt").read_bytes()).hexdigest()
(folder / "volatile.json").write_text(canonical(listing))
envelope = json.loads((folder / "volatile.intoto.jsonl").read_text())
statement = json.loads(base64.b64decode(envelope["payload"]))
statement["subject"][0]["digest"]["sha256"] = hashlib.sha256((folder / "volatile.json").read_bytes()).hexdigest()
envelope["payload"] = base64.b64encode(canonical(statement).encode()).decode()
(folder / "volatile.intoto.jsonl").write_text(canonical(envelope) + "\n")
FORGE
  hermetic verify-evidence ../forged
  run -1 hermetic verify-evidence ../forged --key ../key.pub
}

@test "openssl agrees about every signature" {
  hermetic key new ../key
  leave ../e --key ../key
  cat ../e/*.intoto.jsonl >../lines
  [ "$(wc -l <../lines)" -eq 4 ]
  while read -r line; do
    python3 - "$line" <<'UNPACK'
import base64, json, sys
envelope = json.loads(sys.argv[1])
payload = base64.b64decode(envelope["payload"])
kind = envelope["payloadType"].encode()
open("../signed", "wb").write(b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload))
open("../signature", "wb").write(base64.b64decode(envelope["signatures"][0]["sig"]))
UNPACK
    openssl pkeyutl -verify -pubin -inkey ../key.pub -rawin -in ../signed -sigfile ../signature
    printf x >>../signed
    run ! openssl pkeyutl -verify -pubin -inkey ../key.pub -rawin -in ../signed -sigfile ../signature
  done <../lines
}

@test "the key is never within the command's reach" {
  hermetic key new key
  run -2 hermetic run --evidence ../e --key key -- cat key
  [[ $output == *'the command could read'*'the key that signs its own evidence'* ]]
  HERMETIC_SIGNING_KEY=$(cat key) run -2 hermetic run --evidence ../e --pass-env HERMETIC_SIGNING_KEY -- env
  mv key ../key
  HERMETIC_SIGNING_KEY=$(cat ../key) run -0 hermetic run --evidence ../e -- env
  [[ $output != *PRIVATE* ]]
  hermetic verify-evidence ../e --key key.pub
  chmod 644 ../key
  run -2 hermetic run --evidence ../e2 --key ../key -- true
  [[ $output == *'can be read by others'* ]]
  [ ! -e ../e2 ]
  run -125 hermetic key new ../key
  [[ $output == *'never overwritten'* ]]
}

@test "a folder that is there is refused, and nothing half done is left" {
  mkdir ../e
  run -2 hermetic run --output-file ran --evidence ../e -- touch ran
  [ ! -e ran ]
  run -2 hermetic run --output out --evidence out/e -- true
  [[ $output == *'lies inside the output'* ]]
  run -125 hermetic run --evidence ../e3 --input /no/such/thing -- true || true
  [ ! -e ../e3 ]
  [ -z "$(find .. -name '.hermetic-evidence')" ]
}

@test "diff says what differs, and why" {
  leave ../a
  echo changed >source/main.c
  echo more >source/new.c
  leave ../b
  run -1 hermetic diff ../a ../b
  [[ $output == *"the input $PWD/source differs: main.c has changed"* ]]
  [[ $output == *'new.c is new'* ]]
  [[ $output == *'the outputs differ'* ]]
  hermetic run --quiet --output out --evidence ../c -- sh -c 'head -c 8 /dev/urandom >out/x'
  hermetic run --quiet --output out --evidence ../d -- sh -c 'head -c 8 /dev/urandom >out/x'
  run -1 hermetic diff ../c ../d
  [[ $output == *'the command is not reproducible'* ]]
  run -1 hermetic diff ../a ../c
  [[ $output == *'the command is another'* ]]
  run -1 hermetic diff ../a ../b --json
  [[ $output == *'"same": false'* ]]
  run -2 hermetic diff ../a ../none
}

@test "no secret of the caller or of the command is in the folder" {
  export GITHUB_TOKEN=squeamish-ossifrage-42 DB_PASSWORD=correct-horse-battery
  # shellcheck disable=SC2016 # expanded inside
  hermetic run --quiet --pass-env GITHUB_TOKEN --evidence ../e \
    -- sh -c 'echo "$GITHUB_TOKEN"; echo "x $1" >&2; sh -c "true $GITHUB_TOKEN"; cat /none/$GITHUB_TOKEN; true' \
    sh correct-horse-battery || true
  grep -q redacted ../e/stdout.txt
  run ! grep -r -e squeamish-ossifrage -e correct-horse ../e
  # Not even as a digest, which would tell a weak one to whoever tries.
  run ! grep -r "$(printf %s "$GITHUB_TOKEN" | sha256sum | cut -d' ' -f1)" ../e
}

@test "a run that tried what is not allowed is told with its chain and its rule" {
  run ! hermetic run --quiet --on-violation fail --evidence ../e \
    -- python3 -c 'import socket; socket.socket().connect(("127.0.0.1", 9))'
  grep -q 'connect to 127.0.0.1:9/tcp was denied' ../e/report.md
  grep -q '"violations":\[{"act":"connect".*"subject":"127.0.0.1:9/tcp"}\]' ../e/manifest.json
  python3 -c 'import json; assert len(json.load(open("../e/report.sarif"))["runs"][0]["results"]) == 1'
  hermetic verify-evidence ../e
}
