// What hermetic signs, by sigstore's code: every envelope of the evidence that a run and a gate leave, and what is in it
// by the specifications of in-toto and SLSA.
import { execFileSync, spawnSync } from "node:child_process";
import { createPublicKey } from "node:crypto";
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cannot, expect, finish, load } from "./checks.mjs";

const canonicalize = load("canonicalize");
const { crypto, dsse } = load("@sigstore/core");
const { bundleFromJSON } = load("@sigstore/bundle");
const { toSignedEntity, toTrustMaterial, Verifier } = load("@sigstore/verify");

const program = process.env.HERMETIC_PROGRAM;
const work = mkdtempSync(join(tmpdir(), "hermetic-dsse-"));
process.on("exit", () => rmSync(work, { recursive: true, force: true }));
const workspace = join(work, "workspace");
mkdirSync(workspace);
const hermetic = (...words) =>
  spawnSync(program, words, { cwd: workspace, encoding: "utf8", timeout: 120000, maxBuffer: 1 << 26 });

if (hermetic("run", "--quiet", "--", "true").status !== 0) cannot("nothing can be run in a sandbox here");
execFileSync(program, ["key", "new", join(work, "key")]);
execFileSync(program, ["key", "new", join(work, "other")]);
const key = createPublicKey(readFileSync(join(work, "key.pub"), "utf8"));
const other = createPublicKey(readFileSync(join(work, "other.pub"), "utf8"));

const run = hermetic("run", "--quiet", "--output", "out", "--evidence", join(work, "run"), "--key", join(work, "key"),
  "--", "sh", "-c", "echo made >out/file; mkdir out/folder");
expect(run.status === 0, "the run passes", run.stderr);
// One passes, one fails, and one is denied: refused by the sandbox, so that nothing is sent.
writeFileSync(join(work, "policy.yml"), `schema_version: "1"
scope: {default_shell: bash}
hermetic_steps:
  - {id: good, command: "true"}
  - {id: bad, command: exit 7}
  - {id: cheat, command: "exec 3<>/dev/tcp/127.0.0.1/9 || true"}
`);
const gate = hermetic("gate", "--policy", join(work, "policy.yml"), "--out", join(work, "gate"), "--sha", "1234",
  "--key", join(work, "key"));
expect(gate.status === 1, "the gate fails", gate.stderr);

const envelopes = ["run", "gate"].flatMap((name) =>
  ["attestations.intoto.jsonl", "volatile.intoto.jsonl"].flatMap((file) =>
    readFileSync(join(work, name, file), "utf8").split("\n").slice(0, -1).map((line) => ({ name, line }))));
expect(envelopes.length === 4 + 8, "there are all statements", envelopes.length);

// Exactly the members that a specification has: "name" must be there, "name?" may be.
function has_members(what, object, ...members) {
  const is_object = typeof object === "object" && object !== null && !Array.isArray(object);
  expect(is_object, `${what} is an object`, JSON.stringify(object));
  if (!is_object) return;
  const known = members.map((name) => name.replace("?", ""));
  for (const name of Object.keys(object)) expect(known.includes(name), `${what} may have '${name}'`);
  for (const name of members) if (!name.endsWith("?")) expect(name in object, `${what} has '${name}'`);
}
const is_list = (what, list) => expect(Array.isArray(list), `${what} is a list`, JSON.stringify(list));
const is_text = (what, text) => expect(typeof text === "string" && text !== "", `${what} is a text`, text);
const is_uri = (what, text) => expect(/^[a-z][a-z0-9+.-]*:./.test(text), `${what} is a URI`, text);

function check_descriptor(what, descriptor) {
  has_members(what, descriptor, "name?", "uri?", "digest?", "content?", "downloadLocation?", "mediaType?", "annotations?");
  expect(["uri", "digest", "content"].some((name) => name in descriptor), `${what} says what it is`);
  for (const [algorithm, value] of Object.entries(descriptor.digest ?? {})) {
    is_text(`the algorithm of ${what}`, algorithm);
    expect(algorithm === "gitCommit" || /^[0-9a-f]{64}$/.test(value), `the digest of ${what} is one`, value);
  }
}
function check_provenance(predicate) {
  has_members("provenance", predicate, "buildDefinition", "runDetails");
  const { buildDefinition: definition, runDetails: details } = predicate;
  has_members("buildDefinition", definition, "buildType", "externalParameters", "internalParameters?", "resolvedDependencies?");
  is_uri("buildType", definition.buildType);
  for (const dependency of definition.resolvedDependencies ?? []) check_descriptor("a dependency", dependency);
  has_members("runDetails", details, "builder", "metadata?", "byproducts?");
  has_members("builder", details.builder, "id", "version?", "builderDependencies?");
  is_uri("builder.id", details.builder.id);
  has_members("metadata", details.metadata ?? {}, "invocationId?", "startedOn?", "finishedOn?");
  for (const product of details.byproducts ?? []) check_descriptor("a byproduct", product);
}
function check_trace(predicate) {
  has_members("runtime-trace", predicate, "monitor", "monitoredProcess", "monitorLog", "metadata?");
  has_members("monitor", predicate.monitor, "type", "configSource?", "tracePolicy?");
  is_uri("monitor.type", predicate.monitor.type);
  if (predicate.monitor.configSource) check_descriptor("configSource", predicate.monitor.configSource);
  has_members("monitoredProcess", predicate.monitoredProcess, "hostID", "type", "event");
  is_uri("hostID", predicate.monitoredProcess.hostID);
  is_uri("the type of monitoredProcess", predicate.monitoredProcess.type);
  is_text("event", predicate.monitoredProcess.event);
  has_members("monitorLog", predicate.monitorLog, "process?", "network?", "fileAccess?");
  const logs = Object.values(predicate.monitorLog);
  expect(logs.length > 0, "something is logged");
  for (const log of logs) is_list("a log", log);
}
function check_result(predicate) {
  has_members("test-result", predicate, "result", "configuration", "url?", "passedTests?", "warnedTests?", "failedTests?");
  expect(["PASSED", "WARNED", "FAILED"].includes(predicate.result), "the result is one", predicate.result);
  is_list("configuration", predicate.configuration);
  for (const descriptor of predicate.configuration) check_descriptor("a configuration", descriptor);
  for (const name of ["passedTests", "warnedTests", "failedTests"])
    for (const test of predicate[name] ?? []) is_text(`a test of ${name}`, test);
}
const predicates = {
  "https://slsa.dev/provenance/v1": check_provenance,
  "https://in-toto.io/attestation/runtime-trace/v0.1": check_trace,
  "https://in-toto.io/attestation/test-result/v0.1": check_result,
  "urn:hermetic:evidence:v1": (predicate) => has_members("evidence", predicate, "stable", "list"),
};

function is_signed(envelope, by = key) {
  const text = dsse.preAuthEncoding(envelope.payloadType, Buffer.from(envelope.payload, "base64"));
  return crypto.verify(text, by, Buffer.from(envelope.signatures[0].sig, "base64"));
}
function other_letter(text, place = 10) {
  return text.slice(0, place) + (text[place] === "A" ? "B" : "A") + text.slice(place + 1);
}
const tampered = {
  payload: (envelope) => (envelope.payload = other_letter(envelope.payload)),
  payloadType: (envelope) => (envelope.payloadType = "application/json"),
  signature: (envelope) => (envelope.signatures[0].sig = other_letter(envelope.signatures[0].sig)),
};

const counts = {};
const results = {};
for (const { name, line } of envelopes) {
  const envelope = JSON.parse(line);
  expect(canonicalize(envelope) === line, "an envelope is canonical");
  has_members("an envelope", envelope, "payload", "payloadType", "signatures");
  expect(envelope.payloadType === "application/vnd.in-toto+json", "the type is that of in-toto", envelope.payloadType);
  expect(envelope.signatures.length === 1, "it is signed once");
  expect(is_signed(envelope), "the signature is right");
  expect(!is_signed(envelope, other), "it is that of no other key");
  for (const [what, change] of Object.entries(tampered)) {
    const copy = JSON.parse(line);
    change(copy);
    expect(!is_signed(copy), `another ${what} is refused`);
  }
  const payload = Buffer.from(envelope.payload, "base64").toString("utf8");
  const statement = JSON.parse(payload);
  expect(canonicalize(statement) === payload, "a payload is canonical", payload.slice(0, 200));
  has_members("a statement", statement, "_type", "subject", "predicateType", "predicate");
  expect(statement._type === "https://in-toto.io/Statement/v1", "it is a statement of version 1", statement._type);
  expect(statement.subject.length > 0, "it is about something");
  for (const subject of statement.subject) {
    check_descriptor("a subject", subject);
    expect("digest" in subject, "a subject has a digest");
  }
  expect(statement.predicateType in predicates, "its predicate is known", statement.predicateType);
  predicates[statement.predicateType]?.(statement.predicate);
  counts[`${name} ${statement.predicateType}`] = (counts[`${name} ${statement.predicateType}`] ?? 0) + 1;
  if ("result" in statement.predicate) results[name] = statement.predicate;
}
for (const type of Object.keys(predicates)) {
  expect(counts[`run ${type}`] === 1, `a run has one ${type}`, counts[`run ${type}`]);
  const wanted = /provenance|trace/.test(type) ? 3 : 1;
  expect(counts[`gate ${type}`] === wanted, `the gate has ${wanted} of ${type}`, counts[`gate ${type}`]);
}
expect(results.run?.result === "PASSED", "the run is attested to have passed", JSON.stringify(results.run));
expect(results.gate?.result === "FAILED", "the gate is attested to have failed", JSON.stringify(results.gate));
expect(`${results.gate?.passedTests}` === "good" && `${results.gate?.failedTests}` === "bad,cheat",
  "each step is attested", JSON.stringify(results.gate));

// As a whole bundle, for tools that know nothing else. No log and no time: the key is all there is.
const trust = toTrustMaterial(
  { mediaType: "", tlogs: [], certificateAuthorities: [], ctlogs: [], timestampAuthorities: [] },
  () => ({ publicKey: key, validFor: () => true }));
const verifier = new Verifier(trust, { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 });
function is_verified(envelope) {
  const bundle = bundleFromJSON({
    mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
    verificationMaterial: { publicKey: { hint: envelope.signatures[0].keyid }, tlogEntries: [] },
    dsseEnvelope: envelope,
  });
  try {
    verifier.verify(toSignedEntity(bundle));
    return true;
  } catch (error) {
    expect(error.code === "SIGNATURE_ERROR", "it is refused for its signature", `${error}`);
    return false;
  }
}
expect(is_verified(JSON.parse(envelopes[0].line)), "sigstore verifies a bundle");
for (const [what, change] of Object.entries(tampered)) {
  const copy = JSON.parse(envelopes[0].line);
  change(copy);
  expect(!is_verified(copy), `sigstore refuses another ${what}`);
}
finish();
