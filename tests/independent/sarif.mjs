// SARIF by Microsoft's own validator. It ends with 0 whatever it finds: what counts is what it writes.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cases, cannot, expect, file_of, finish, folder, print } from "./checks.mjs";

const program = file_of("@microsoft/sarif-multitool-linux/Sarif.Multitool");
if (process.arch !== "x64") cannot("the validator is a program for x86-64");
const work = join(folder, "sarif");
mkdirSync(work, { recursive: true });

function findings(documents) {
  const files = Object.entries(documents).map(([name, text]) => {
    const file = join(work, name + ".sarif");
    writeFileSync(file, text);
    return file;
  });
  const output = join(work, "findings.json");
  rmSync(output, { force: true });
  const result = spawnSync(
    program,
    ["validate", ...files, "--rule-kind", "Sarif;Ghas", "--output", output, "--log", "ForceOverwrite"],
    { encoding: "utf8", timeout: 100_000, env: { ...process.env, DOTNET_SYSTEM_GLOBALIZATION_INVARIANT: "1" } },
  );
  expect(/Analysis completed successfully/.test(result.stdout), "the validator came to its end",
    `${result.stdout}${result.stderr}${result.error ?? ""}`);
  return JSON.parse(readFileSync(output, "utf8")).runs.flatMap((run) => run.results ?? []);
}

const documents = Object.fromEntries(cases.map((name) => [name, print("sarif", name)]));
// There is no page about the tool that a reader could be sent to.
const has_no_page = (finding) => finding.message.id === "Warning_ProvideToolnformationUri";
for (const finding of findings(documents)) {
  expect(has_no_page(finding), "nothing is found", JSON.stringify([finding.ruleId, finding.message, finding.locations]));
}

const hostile = JSON.parse(documents.hostile);
const results = hostile.runs[0].results;
const prints = new Set(results.map((result) => result.partialFingerprints["hermeticBreach/v1"]));
expect(results.length >= 24 && prints.size === results.length, "every result has a fingerprint of its own",
  `${results.length} results, ${prints.size} fingerprints`);

const bad = structuredClone(hostile);
delete bad.runs[0].results[0].message.text;
bad.runs[0].results[1].ruleIndex = 999;
bad.runs[0].results[2].locations[0].physicalLocation.region.startLine = 0;
delete bad.runs[0].tool.driver.name;
const found = new Set(findings({ broken: JSON.stringify(bad) }).map((finding) => finding.ruleId));
found.delete("SARIF2005");
expect(found.size >= 3, "a broken log is found out", [...found].join(" "));
finish();
