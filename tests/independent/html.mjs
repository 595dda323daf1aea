// The page by a parser that tells each error of the standard, and by a validator of what may stand where.
import { createHash } from "node:crypto";
import { cases, expect, finish, load, print } from "./checks.mjs";

const parse5 = load("parse5");
const { HtmlValidate } = load("html-validate");
const validator = new HtmlValidate({
  extends: ["html-validate:standard"],
  rules: {
    "long-title": "off", // the title is that of the report
    "no-trailing-whitespace": "off", // captured output is as it was
    "no-inline-style": "error",
    "require-csp-nonce": "off",
  },
});

function parsed(page) {
  const errors = [];
  const found = [];
  const visit = (node) => {
    if (node.tagName) found.push(node);
    for (const child of node.childNodes ?? []) visit(child);
  };
  visit(parse5.parse(page, { onParseError: (error) => errors.push(error.code), sourceCodeLocationInfo: true }));
  return { errors, found };
}

const ours = new Set(
  ("html head meta title style body main header footer section h1 h2 h3 p span b br bdi a code pre ol ul li dl dt dd " +
    "details summary div figure svg path table thead tbody tr th td button script").split(" "),
);
const attributes = new Set(
  ("lang charset http-equiv content name class id href aria-hidden aria-labelledby aria-label role open tabindex " +
    "viewBox preserveAspectRatio vector-effect d hidden type rel").split(" "),
);

function strange(page) {
  const problems = [];
  for (const node of parsed(page).found) {
    if (!ours.has(node.tagName)) problems.push(`<${node.tagName}>`);
    for (const { name, value } of node.attrs) {
      if (!attributes.has(name)) problems.push(`attribute ${name}`);
      if (name === "href" && !/^(#step-\d+|https?:\/\/[\w./:?=&%+,;#~-]+)$/.test(value)) problems.push(`link ${value}`);
      if (name === "class" && !/^[a-z ]+$/.test(value)) problems.push(`class ${value}`);
    }
  }
  return problems;
}

for (const name of cases) {
  const page = print("html", name);
  const { errors, found } = parsed(page);
  expect(errors.length === 0, `${name} has no error of syntax`, errors.slice(0, 5).join(" "));
  expect(strange(page).length === 0, `${name} has nothing that is not ours`, strange(page).slice(0, 5).join(", "));
  expect(found.filter((node) => node.tagName === "style").length === 1, `${name} has one style sheet`);
  const scripts = found.filter((node) => node.tagName === "script");
  expect(scripts.length === 1 && scripts[0].attrs.length === 0, `${name} has one script`);
  const text = scripts[0]?.childNodes[0]?.value ?? "";
  const hash = createHash("sha256").update(text).digest("base64");
  const policy = found.find((node) => node.attrs.some(({ name: key }) => key === "http-equiv"));
  const content = policy?.attrs.find(({ name: key }) => key === "content").value ?? "";
  expect(/^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; script-src 'sha256-[A-Za-z0-9+/]{43}='; base-uri 'none'; form-action 'none'$/
    .test(content) && content.includes(`script-src 'sha256-${hash}'`), `${name} has a strict policy`, content);
  const report = await validator.validateString(page);
  const messages = report.results.flatMap((result) => result.messages);
  expect(messages.length === 0, `${name} is valid`,
    messages.slice(0, 5).map((m) => `${m.line}: ${m.ruleId}: ${m.message}`).join("\n"));
}

const page = print("html", "sample");
expect(parsed(page.replace("<h1>", '<h1 id="a" id="b">')).errors.length > 0, "an error of syntax is seen by the parser");
expect(strange(page.replace("<h1>", "<iframe></iframe><h1>")).length > 0, "an element of others is seen");
expect(strange(page.replace("<h1>", '<h1 onclick="x">')).length > 0, "an attribute of others is seen");
const nested = await validator.validateString(page.replace("<h1>", "<h1><p>x</p>"));
expect(!nested.valid, "what must not stand there is seen by the validator");
finish();
