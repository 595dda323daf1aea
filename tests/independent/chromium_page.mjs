// The page as Chromium shows it: nothing is loaded, nothing is run, nothing is wider than a telephone.
//
// Pictures of it are left in the build folder, to be looked at.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { cases, expect, finish, folder, has_program, print, skip } from "./checks.mjs";
import { Chromium } from "./chromium.mjs";

const program = ["chromium", "chromium-browser", "google-chrome"].find(has_program);
if (!program) skip("chromium is not installed");
const work = join(folder, "pages");
mkdirSync(work, { recursive: true });
const browser = new Chromium(program);

function write(name, page) {
  const file = join(work, name + ".html");
  writeFileSync(file, page);
  return pathToFileURL(file).href;
}

const width = () =>
  browser.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]");
const unfold = () => browser.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })");
const said = (method) => browser.events.filter((event) => event.method === method);

async function check_page(name, view, label) {
  const url = write(name, print("html", name));
  await browser.open(url, view);
  const requests = said("Network.requestWillBeSent").map((event) => event.params.request.url);
  expect(requests.length === 1 && requests[0] === url, `${label} loads nothing but itself`, requests.join(" "));
  const complaints = said("Log.entryAdded").map((event) => event.params.entry.text);
  expect(complaints.length === 0, `${label} gives no reason to complain`, complaints[0]);
  expect(said("Page.javascriptDialogOpening").length === 0, `${label} opens no dialog`);
  await unfold();
  const [needed, had] = await width();
  expect(needed <= had, `${label} is not wider than its window`, `${needed} > ${had}`);
  const verdict = await browser.evaluate("document.querySelector('h1').textContent");
  expect(/(Pass|Fail|Error)$/.test(verdict), `${label} begins with its verdict`, verdict);
  const seen = await browser.evaluate("document.querySelector('h1').getBoundingClientRect().bottom");
  expect(seen > 0 && seen < 500, `${label} shows its verdict without being moved`, seen);
  await browser.open(url, view);
  writeFileSync(join(work, label + ".png"), await browser.screenshot());
  return browser.evaluate("getComputedStyle(document.body).backgroundColor");
}

try {
  for (const name of cases) {
    const light = await check_page(name, { width: 1100 }, `${name}_light`);
    const dark = await check_page(name, { width: 1100, dark: true }, `${name}_dark`);
    expect(light !== dark, `${name} is light or dark as its reader wants`, `${light}, ${dark}`);
    await check_page(name, { width: 320 }, `${name}_telephone`);
  }

  const page = print("html", "sample");
  await browser.open(write("wide", page.replace("<h1>", '<svg width="900"></svg><h1>')), { width: 320 });
  const [needed, had] = await width();
  expect(needed > had, "a page that is too wide is seen", `${needed} <= ${had}`);

  // The last line of defence: should a script get in, the policy keeps it from running.
  const script = "<script>document.title = 'it ran';</script></main>";
  const title = () => browser.evaluate("document.title");
  await browser.open(write("script", page.replace("</main>", script)), { width: 320 });
  expect((await title()) !== "it ran", "a script is not run");
  expect(said("Log.entryAdded").length > 0, "the browser complains about a script");
  await browser.open(write("script_without_policy", page.replace(/<meta http-equiv[^>]*>/, "").replace("</main>", script)),
    { width: 320 });
  expect((await title()) === "it ran", "without the policy it is run");
} finally {
  await browser.close();
}
finish();
