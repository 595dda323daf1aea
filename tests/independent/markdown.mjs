// Markdown by another's renderer, and what it makes of it by a parser of HTML: no text of others becomes markup.
import { cases, expect, finish, load, print } from "./checks.mjs";

const parse5 = load("parse5");
const renderer = load("markdown-it")({ html: true, linkify: true });

function elements(markdown) {
  const found = [];
  const visit = (node) => {
    if (node.tagName) found.push(node);
    for (const child of node.childNodes ?? []) visit(child);
  };
  visit(parse5.parseFragment(renderer.render(markdown)));
  return found;
}
const text_of = (node) => (node.value ?? "") + (node.childNodes ?? []).map(text_of).join("");

const ours = new Set("h1 h2 p strong ul li code pre table thead tbody tr th td details summary".split(" "));
// The one kind of link is to a commit or a job, and the only attributes are its address and the language of a block.
const is_link = (node) => node.tagName === "a" && node.attrs.length === 1 && /^https:\/\/example\.org\/[\w./:?=&%+,;#~-]*$/.test(node.attrs[0].value);
const is_block = (node) => node.tagName === "code" && node.attrs.length === 1 && node.attrs[0].value === "language-text";
const strange = (markdown) =>
  elements(markdown).filter((node) => !is_link(node) && !is_block(node) && (!ours.has(node.tagName) || node.attrs.length !== 0))
    .map((node) => node.tagName);

for (const name of cases) {
  const found = strange(print("markdown", name));
  expect(found.length === 0, `${name} has no element that is not ours`, found.join(" "));
}

const steps = JSON.parse(print("sarif", "hostile")).runs[0].results.map((result) => result.properties.step);
const names = [...new Set(steps)].map((step) => step.slice(0, 150));
const all = elements(print("markdown", "hostile"));
const table = all.find((node) => node.tagName === "table");
const rows = all.filter((node) => node.tagName === "tr" && node.parentNode.parentNode === table);
expect(rows.length === 1 + names.length, "every step has its row", `${rows.length} rows, ${names.length} steps`);
rows.slice(1).forEach((row, i) => {
  const cells = row.childNodes.filter((node) => node.tagName === "td");
  expect(cells.length === 4, `row ${i} has four cells`, cells.length);
  // Those that failed come first, so the order is another.
  const place = names.findIndex((name) => text_of(cells[0]).startsWith(name));
  expect(place >= 0, `row ${i} names its step`, text_of(cells[0]).slice(0, 200));
  names.splice(place, 1);
  expect(/^(✓|✗|!|–) (pass|fail|error|skipped)$/.test(text_of(cells[1])), `row ${i} has its verdict`, text_of(cells[1]));
});
// One for each step, and those of the changes and of what is worth knowing.
const headings = all.filter((node) => node.tagName === "h2").length;
expect(headings === rows.length - 1 + 2, "no text makes a heading, and none hides one", headings);
const folded = all.filter((node) => node.tagName === "details").length;
expect(folded === rows.length - 1, "the evidence of each step is folded", folded);

expect(strange("a <img src=x> b").includes("img"), "an element of others is seen");
expect(strange("[a](b)").includes("a"), "a link is seen");
expect(strange("[a](https://example.com/)").includes("a"), "a link to elsewhere is seen");
expect(strange("www.example.org").includes("a"), "an address that is made a link is seen");
finish();
