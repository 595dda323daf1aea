// Canonical JSON (RFC 8785), byte for byte as the package canonicalize writes it.
import { expect, finish, load, print } from "./checks.mjs";

const canonicalize = load("canonicalize");
const lines = print("canonical").split("\n").slice(0, -1);
expect(lines.length >= 14 && lines.length % 2 === 0, "there are documents to compare", lines.length);
for (let i = 0; i + 1 < lines.length; i += 2) {
  const wanted = canonicalize(JSON.parse(lines[i]));
  expect(wanted === lines[i + 1], `document ${i / 2} is canonical`, `${lines[i + 1]}\nis not\n${wanted}`);
}

// What is not canonical is told apart, also beyond the first plane, where UTF-8 sorts otherwise.
const by_utf8 = '{"\ufb33":1,"\u{1f600}":2}';
expect(canonicalize(JSON.parse(by_utf8)) !== by_utf8, "the order of UTF-8 is not taken for that of UTF-16");
expect(canonicalize(JSON.parse('{"b":1,"a":2}')) !== '{"b":1,"a":2}', "unsorted keys are seen");
finish();
