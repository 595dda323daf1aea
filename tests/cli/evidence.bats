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
  for file in manifest.json inputs.json attestations.intoto.jsonl report.sarif process_tree.json \
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

@test "every file is there that the reference names" {
  leave ../e
  for file in manifest.json events.jsonl stdout.txt stderr.txt process_tree.json usage.json report.md report.html \
    attestations.intoto.jsonl report.sarif junit.xml inputs.json volatile.json volatile.intoto.jsonl; do
    [ -s "../e/$file" ]
  done
  [ "$(find ../e -type f | wc -l)" -eq 14 ]
}

@test "the builder differs between runs that were enforced and those that were not" {
  printf 'version: 1\ncommand: [true]\nallow_unsandboxed: true\n' >spec.yaml
  builder() { head -n 1 "$1/attestations.intoto.jsonl" | python3 -c 'import base64, json, sys
print(json.loads(base64.b64decode(json.loads(sys.stdin.read())["payload"]))["predicate"]["runDetails"]["builder"]["id"])'; }
  leave ../e
  [ "$(builder ../e)" = urn:hermetic:builder:enforced:v1 ]
  HERMETIC=off hermetic run --spec spec.yaml --evidence ../off
  [ "$(builder ../off)" = urn:hermetic:builder:degraded:v1 ]
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
  [ -z "$(find .. -name '.hermetic-*')" ]
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
  echo >"named-$DB_PASSWORD"
  # shellcheck disable=SC2016 # expanded inside
  hermetic run --quiet --pass-env GITHUB_TOKEN --evidence ../e \
    -- sh -c 'echo "$GITHUB_TOKEN"; echo "x $1" >&2; sh -c "true $GITHUB_TOKEN"; cat /none/$GITHUB_TOKEN; true' \
    sh correct-horse-battery || true
  grep -q redacted ../e/stdout.txt
  grep -q 'named-\[redacted:DB_PASSWORD\]' ../e/inputs.json
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

# Puts the digests of a folder right after it was changed, as whoever forges would; signatures cannot be.
put_right() {
  python3 - "$1" <<'RIGHT'
import base64, hashlib, json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
canonical = lambda document: json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
digest = lambda name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
listing = json.loads((folder / "volatile.json").read_text())
stable = "manifest.json" if (folder / "manifest.json").exists() else "report.json"
kept = ("volatile.json", "volatile.intoto.jsonl")
names = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]
def change(line):
    envelope = json.loads(line)
    statement = json.loads(base64.b64decode(envelope["payload"]))
    for subject in statement["subject"]:
        if subject["name"] in names:
            subject["digest"]["sha256"] = digest(subject["name"])
    details = statement["predicate"].get("runDetails")
    if details:
        details["metadata"]["invocationId"] = "sha256:" + statement["subject"][0]["digest"]["sha256"]
    envelope["payload"] = base64.b64encode(canonical(statement).encode()).decode()
    return canonical(envelope) + "\n"
attested = folder / "attestations.intoto.jsonl"
attested.write_text("".join(change(line) for line in attested.read_text().splitlines()))
listing["files"] = {name: "sha256:" + digest(name) for name in names if name not in kept}
listing["stable_digest"] = "sha256:" + digest(stable)
(folder / "volatile.json").write_text(canonical(listing))
bound = folder / "volatile.intoto.jsonl"
bound.write_text("".join(change(line) for line in bound.read_text().splitlines()))
RIGHT
}

@test "a statement that is left out is missed, whoever signed the others" {
  hermetic key new ../key
  leave ../e --key ../key
  # What binds the list of files to the key is gone: every file could be another.
  cp -a ../e ../unbound
  : >../unbound/volatile.intoto.jsonl
  run -1 hermetic verify-evidence ../unbound --key ../key.pub
  cp -a ../e ../forged
  echo 'other words' >../forged/stdout.txt
  put_right ../forged
  : >../forged/volatile.intoto.jsonl
  cp ../e/attestations.intoto.jsonl ../forged
  run -1 hermetic verify-evidence ../forged --key ../key.pub
  [[ $output == *'volatile.intoto.jsonl has no complete line'* ]]
  # Without a key as well: hermetic would not have written it.
  leave ../plain
  for line in 1 2 3; do
    rm -rf ../less
    cp -a ../plain ../less
    sed -i "${line}d" ../less/attestations.intoto.jsonl
    put_right ../less
    run -1 hermetic verify-evidence ../less
    rm -rf ../more
    cp -a ../plain ../more
    sed -n "${line}p" ../plain/attestations.intoto.jsonl >>../more/attestations.intoto.jsonl
    put_right ../more
    run -1 hermetic verify-evidence ../more
  done
  rm -rf ../right
  cp -a ../plain ../right
  put_right ../right
  hermetic verify-evidence ../right
}

@test "a manifest that contradicts itself does not hold" {
  run -3 hermetic run --quiet --evidence ../e -- sh -c 'exit 3'
  sed -i 's/"passed":false/"passed":true/' ../e/manifest.json
  python3 - ../e/attestations.intoto.jsonl <<'PASS'
import base64, json, pathlib, sys
file = pathlib.Path(sys.argv[1])
canonical = lambda document: json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
lines = []
for line in file.read_text().splitlines():
    envelope = json.loads(line)
    statement = json.loads(base64.b64decode(envelope["payload"]))
    if "result" in statement["predicate"]:
        statement["predicate"]["result"] = "PASSED"
    envelope["payload"] = base64.b64encode(canonical(statement).encode()).decode()
    lines.append(canonical(envelope) + "\n")
file.write_text("".join(lines))
PASS
  put_right ../e
  run -1 hermetic verify-evidence ../e
  [[ $output == *'manifest.json contradicts itself'* ]]
}

@test "whatever is in a folder, those who read it do not fall over" {
  leave ../e
  cp -a ../e ../bad
  python3 -c 'print("{\"a\":" + "[" * 200000 + "]" * 200000 + "}", end="")' >../deep
  while IFS= read -r document; do
    if [ "$document" = deep ]; then cp ../deep ../bad/manifest.json; else printf %s "$document" >../bad/manifest.json; fi
    run -1 hermetic verify-evidence ../bad
    run hermetic diff ../bad ../e
    [ "$status" -le 2 ] || { echo "$document: $status"; false; }
  done <<'EOF'
deep
{}
{"a":1e400}
{"a":18446744073709551616}
{"inputs":{"a":1}}
{"inputs":5}
{"a":"\ud800"}
{"a":1,"a":1}
EOF
  # Said in the words of whoever wrote it, but not to the terminal.
  cp ../e/manifest.json ../bad/manifest.json
  printf '[{"path":1,"entries":7}]' >../bad/inputs.json
  printf '{"inputs":[{"path":"/x"}]}' >../bad/manifest.json
  run -1 hermetic diff ../bad ../e
  printf '{"payload":"%s","payloadType":"application/vnd.in-toto+json","signatures":[]}\n' \
    "$(base64 -w0 <../deep)" >../bad/attestations.intoto.jsonl
  run -1 hermetic verify-evidence ../bad
  rm ../bad/stdout.txt
  mkfifo ../bad/stdout.txt
  run ! timeout 60 hermetic verify-evidence ../bad
  [ "$status" -ne 124 ]
}

# How many are being made in ../keep.
in_the_making() { find ../keep -path '*/.hermetic-*-evidence-*/tree/events.jsonl' | wc -l; }

@test "what a killed run leaves is collected by the next, and by gc; what is alive stays" {
  mkdir ../keep
  "$HERMETIC_PROGRAM" run --quiet --evidence ../keep/alive -- sleep 60 >/dev/null 2>&1 3>&- &
  alive=$!
  "$HERMETIC_PROGRAM" run --quiet --evidence ../keep/dead -- sleep 60 >/dev/null 2>&1 3>&- &
  dead=$!
  for _ in $(seq 600); do [ "$(in_the_making)" -eq 2 ] && break || sleep 0.1; done
  [ "$(in_the_making)" -eq 2 ]
  [ -z "$(find ../keep -mindepth 1 -maxdepth 1 -perm /077)" ]
  kill -KILL "$dead"
  wait "$dead" || true
  # Its sandbox takes a moment to be gone.
  for i in $(seq 100); do
    hermetic run --quiet --evidence "../keep/next$i" -- true
    [ "$(in_the_making)" -eq 1 ] && break
  done
  [ "$(in_the_making)" -eq 1 ]
  kill -KILL "$alive"
  wait "$alive" || true
  for _ in $(seq 100); do
    run -0 hermetic gc ../keep
    [[ $output == *removed*evidence-* ]] && break
    sleep 0.1
  done
  [[ $output == *removed*evidence-* ]]
  [ -z "$(find ../keep -name '.hermetic-*')" ]
  hermetic verify-evidence ../keep/next1
}

@test "a file of terabytes that are not there keeps nobody waiting" {
  truncate -s 8T probe 2>/dev/null || skip 'no such file can be made here'
  rm probe
  run ! timeout 120 "$HERMETIC_PROGRAM" run --quiet --output out --evidence ../e -- truncate -s 8T out/x
  [ "$status" -ne 124 ]
  [[ $output == *'too large for a digest'* ]]
  [ ! -e ../e ]
  # Nor whoever checks.
  leave ../good
  truncate -s 8T ../good/stdout.txt
  run ! timeout 120 "$HERMETIC_PROGRAM" verify-evidence ../good
  [ "$status" -ne 124 ]
}
