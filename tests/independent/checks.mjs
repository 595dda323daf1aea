// What the checks of this folder share: the packages, the printed reports, and how a check ends.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

export const folder = join(process.env.HERMETIC_BINARY_DIR, "independent");
export const cases = ["sample", "hostile", "empty"];

export function skip(reason) {
  console.error(`skipped: ${reason}`);
  process.exit(77);
}

// As everywhere: what cannot run here fails where everything must work.
export function cannot(reason) {
  if (process.env.HERMETIC_MUST_WORK !== "1") skip(reason);
  console.error(`cannot run: ${reason}`);
  process.exit(1);
}

const require = createRequire(join(folder, "from_here.cjs"));

export function load(name) {
  if (!existsSync(join(folder, "installed"))) cannot("the packages are not installed");
  return require(name);
}

export function file_of(name) {
  if (!existsSync(join(folder, "installed"))) cannot("the packages are not installed");
  return join(folder, "node_modules", name);
}

export function has_program(name) {
  return spawnSync("sh", ["-c", `command -v ${name}`]).status === 0;
}

export function print(form, name = "") {
  return execFileSync(process.env.HERMETIC_PRINT_REPORT, [form, name], {
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
}

let checked = 0;
let failed = 0;

export function expect(holds, what, details = "") {
  ++checked;
  if (holds) return;
  ++failed;
  console.error(`failed: ${what}${details === "" ? "" : `: ${details}`}`);
}

export function finish() {
  console.log(`${checked} checks, ${failed} failed`);
  process.exit(failed === 0 && checked > 0 ? 0 : 1);
}
