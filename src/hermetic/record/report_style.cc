#include "hermetic/record/report_style.h"

namespace hermetic {
namespace {

// Colours only repeat what words and signs say. Names of others are set in one direction and may
// break anywhere: no text makes the page wider than the screen.
constexpr std::string_view kStyle = R"css(
:root {
  color-scheme: light dark;
  --paper: #fbfaf7; --panel: #ffffff; --ink: #1d1c1a; --soft: #615d56; --line: #dfdbd2;
  --code: #f2f0ea; --accent: #2f5f8f; --accent-tint: #d9e5f0;
  --pass: #17643a; --pass-tint: #e6f2ea; --fail: #a4211b; --fail-tint: #fbe9e6;
  --error: #85480a; --error-tint: #faeedd; --skipped: #55524c; --skipped-tint: #eeece6;
  --sans: ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans",
    "DejaVu Sans", sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", Menlo, Consolas,
    "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #131416; --panel: #1b1d20; --ink: #e9e7e2; --soft: #a5a199; --line: #34373c;
    --code: #24272b; --accent: #86b7e8; --accent-tint: #223a52;
    --pass: #7bd3a0; --pass-tint: #15291d; --fail: #ff9389; --fail-tint: #351a18;
    --error: #f0b566; --error-tint: #302313; --skipped: #b3afa6; --skipped-tint: #25272a;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 var(--sans); overflow-wrap: anywhere;
}
main { max-width: 58rem; margin: 0 auto; padding: clamp(1rem, 4vw, 3rem) clamp(1rem, 4vw, 2rem); }
h1, h2, h3, p, ol, ul, dl, dd, figure, pre { margin: 0; padding: 0; }
ol, ul { list-style: none; }
a { color: inherit; text-decoration-color: var(--soft); text-underline-offset: .18em; }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
code, pre {
  font-family: var(--mono); font-size: .875em; direction: ltr; unicode-bidi: isolate;
  font-variant-ligatures: none;
}
bdi { unicode-bidi: isolate; }
.soft { color: var(--soft); }
.pass { --tone: var(--pass); --tint: var(--pass-tint); }
.fail { --tone: var(--fail); --tint: var(--fail-tint); }
.error { --tone: var(--error); --tint: var(--error-tint); }
.skipped { --tone: var(--skipped); --tint: var(--skipped-tint); }

.verdict {
  background: var(--tint); border-top: .375rem solid var(--tone); border-radius: .25rem;
  padding: clamp(1.25rem, 4vw, 2.25rem);
}
.verdict .title { color: var(--soft); font-weight: 600; }
.verdict h1 {
  color: var(--tone); font-size: clamp(2.75rem, 9vw, 4.5rem); line-height: 1.05;
  letter-spacing: -.03em; margin: .1em 0 .3em;
}
.verdict h1 .sign { font-weight: 400; padding-right: .12em; }
.verdict .summary { font-size: 1.1875rem; line-height: 1.4; font-weight: 600; }
.verdict .assurance { margin-top: .35rem; max-width: 66ch; text-wrap: pretty; }
.facts {
  display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .3rem 1.25rem;
  font-size: .9375rem;
}
.facts dt { color: var(--soft); }
.verdict .facts { margin-top: 1.35rem; }

h2 { font-size: 1.375rem; line-height: 1.25; letter-spacing: -.012em; }
h3 {
  font-size: .8125rem; line-height: 1.4; letter-spacing: .06em; text-transform: uppercase;
  color: var(--soft); margin: 2rem 0 .6rem;
}
section > h2 { margin-bottom: .7rem; }
section { margin-top: clamp(2.25rem, 6vw, 3.5rem); }
.badge {
  display: inline-block; min-width: 6.25rem; padding: .1rem .55rem; border-radius: 1rem;
  background: var(--tint); color: var(--tone); font-size: .875rem; font-weight: 650;
  white-space: nowrap;
}
.steps { margin-top: .9rem; border-top: 1px solid var(--line); }
.steps li {
  display: grid; grid-template-columns: max-content minmax(0, 1fr) max-content;
  gap: .15rem 1rem; align-items: baseline; padding: .65rem 0; border-bottom: 1px solid var(--line);
}
.steps a { font-weight: 600; }
.steps .time { color: var(--soft); font-variant-numeric: tabular-nums; font-size: .9375rem; }
.steps .why { grid-column: 2 / -1; color: var(--soft); font-size: .9375rem; }

.step { border-top: 2px solid var(--ink); padding-top: 1.1rem; }
.step > header .badge { min-width: 0; }
.step > header { display: flex; flex-wrap: wrap; gap: .5rem .9rem; align-items: center; }
.step > header h2 code { font-size: 1em; }
.step .about { margin-top: .4rem; max-width: 66ch; color: var(--soft); }
.step .reason {
  margin-top: .9rem; padding: .6rem .9rem; background: var(--tint); color: var(--tone);
  border-left: .25rem solid var(--tone); font-weight: 600;
}
.step > .facts { margin-top: 1rem; }

.breaches { display: grid; gap: .9rem; }
.breaches > li {
  background: var(--panel); border: 1px solid var(--line); border-left: .25rem solid var(--fail);
  border-radius: .25rem; padding: .9rem 1.1rem;
}
.breaches .message { font-weight: 650; }
.breaches .rule { color: var(--fail); font-size: .875rem; display: block; font-weight: 600; }
.times { color: var(--soft); font-weight: 400; white-space: nowrap; }
.breaches .facts { margin-top: .65rem; font-size: .9375rem; }
.chain li + li { margin-top: .15rem; }
.chain .soft { font-size: .875rem; }

.timeline { background: var(--panel); border: 1px solid var(--line); border-radius: .25rem;
  padding: .9rem 1.1rem .7rem; }
.timeline .row {
  display: grid; grid-template-columns: 8.5rem minmax(0, 1fr); gap: .25rem 1rem;
  align-items: center;
}
.timeline .row + .row { margin-top: .5rem; }
.timeline .label { font-size: .875rem; line-height: 1.3; }
.timeline .label b { display: block; font-weight: 600; }
.timeline .label span { color: var(--soft); font-variant-numeric: tabular-nums; }
.timeline svg { display: block; width: 100%; height: 3.25rem; overflow: visible;
  border-bottom: 1px solid var(--line); }
.timeline .area { fill: var(--accent-tint); }
.timeline .curve { fill: none; stroke: var(--accent); stroke-width: 1.5; stroke-linejoin: round; }
.timeline .axis {
  display: flex; justify-content: space-between; margin: .3rem 0 0 9.5rem; color: var(--soft);
  font-size: .8125rem; font-variant-numeric: tabular-nums;
}

.gantt .row { grid-template-columns: 15rem minmax(0, 1fr); }
.gantt .row + .row { margin-top: .15rem; }
.gantt .label span { padding-left: .3rem; white-space: nowrap; }
.gantt svg { height: .8rem; }
.gantt .bar { fill: var(--tone); }
.gantt .axis { margin-left: 16rem; }

table { width: 100%; border-collapse: collapse; font-size: .9375rem; margin-top: .9rem; }
th { text-align: left; color: var(--soft); font-weight: 600; font-size: .875rem; }
th, td { padding: .45rem .9rem .45rem 0; border-bottom: 1px solid var(--line);
  vertical-align: baseline; }
.remedy { display: flex; flex-wrap: wrap; gap: .3rem .7rem; align-items: center; }
.copy {
  font: inherit; font-size: .8125rem; color: var(--accent); background: var(--code);
  border: 1px solid var(--line); border-radius: .25rem; padding: .1rem .6rem; cursor: pointer;
}
.copy:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.copy[hidden] { display: none; }

details > summary { cursor: pointer; padding: .15rem 0; }
.fold { border-bottom: 1px solid var(--line); }
.fold > summary { padding: .55rem 0; font-weight: 600; }
.fold > .body { padding: .2rem 0 1rem; }
.tree ul { padding-left: 1rem; border-left: 1px solid var(--line); margin-left: .3rem; }
.tree ul ul ul ul ul ul { padding-left: 0; border-left-style: dotted; margin-left: 0; }
.tree li { padding: .1rem 0; }
.tree .lone { display: block; padding: .15rem 0 .15rem 1rem; }
.tree .became { color: var(--soft); font-size: .875rem; }

.rows { border-top: 1px solid var(--line); }
.rows > li { padding: .55rem 0; border-bottom: 1px solid var(--line); }
.rows .note { color: var(--soft); font-size: .875rem; }
.rows .digest { display: block; color: var(--soft); font-size: .78125rem; }
.strength { font-size: .875rem; font-weight: 650; color: var(--tone); white-space: nowrap; }
.controls { display: flex; flex-wrap: wrap; gap: .4rem; }
.controls li { background: var(--code); border-radius: .25rem; padding: .2rem .6rem;
  font-size: .9375rem; }
.controls b { color: var(--tone); font-weight: 650; }
.notes li { padding-left: 1.1rem; text-indent: -1.1rem; }
.notes li::before { content: "–"; display: inline-block; width: 1.1rem; text-indent: 0;
  color: var(--soft); }
.notes + p, .controls + p, .rows + p { margin-top: .5rem; }
pre {
  background: var(--code); border-radius: .25rem; padding: .8rem 1rem; line-height: 1.5;
  white-space: pre-wrap; overflow-wrap: anywhere; max-height: 28rem; overflow-y: auto;
}
footer { margin-top: 3.5rem; padding-top: 1rem; border-top: 1px solid var(--line);
  color: var(--soft); font-size: .875rem; }

@media (max-width: 36rem) {
  .facts { grid-template-columns: minmax(0, 1fr); gap: 0; }
  .facts dd + dt { margin-top: .5rem; }
  .steps li { grid-template-columns: minmax(0, 1fr) max-content; }
  .steps li > .badge { grid-column: 1 / -1; justify-self: start; min-width: 0; }
  .steps .why { grid-column: 1 / -1; }
  .timeline .row { grid-template-columns: minmax(0, 1fr); }
  .timeline .label b { display: inline; padding-right: .4rem; }
  .timeline .axis { margin-left: 0; }
  .gantt .row { grid-template-columns: minmax(0, 1fr); }
  th, td { padding-right: .5rem; }
  .tree ul { padding-left: .55rem; margin-left: .15rem; }
  .breaches > li, .timeline { padding: .75rem .8rem; }
}
@media print {
  body { background: none; font-size: 10pt; }
  main { max-width: none; padding: 0; }
  pre { max-height: none; }
  .breaches > li, .timeline { break-inside: avoid; }
}
)css";

}  // namespace

std::string_view report_style() { return kStyle; }

}  // namespace hermetic
