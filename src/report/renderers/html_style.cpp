#include "report/renderers/renderers.h"

namespace kvplan {

namespace {

// Colours are variables, defined for light and for dark; a test computes their contrast.
constexpr std::string_view kStyle = R"css(
:root {
  color-scheme: light dark;
  --page: #ffffff; --panel: #f4f5f7; --text: #1a1d21; --muted: #555c66; --line: #c9ced6;
  --good: #17662f; --bad: #a8201a; --warn: #7a4b00;
  --s1: #2563b0; --s2: #1d7d4f; --s3: #b35c00; --s4: #8a3fa0; --s5: #a3264b; --s6: #0f7386;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171b; --panel: #1e2329; --text: #e8eaed; --muted: #a6aeb9; --line: #434b56;
    --good: #6fd38d; --bad: #ff8f86; --warn: #f0b95a;
    --s1: #6aa7ee; --s2: #55c08a; --s3: #f0a050; --s4: #c78bdb; --s5: #f07f9f; --s6: #54bfd2;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 68rem; background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; overflow-wrap: break-word;
}
h1 { font-size: 1.5rem; line-height: 1.2; margin: 0 0 .25rem; }
h2 { font-size: 1.1rem; margin: 2.25rem 0 .75rem; }
p { margin: .25rem 0; max-width: 48rem; }
.muted, figcaption { color: var(--muted); }
.strong { font-weight: 600; }
.small { font-size: .875rem; }
.verdict { padding: .5rem .75rem; margin: 1rem 0; background: var(--panel); border-left: .3rem solid; }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
.verdict span { color: var(--text); }
.bars { display: grid; grid-template-columns: fit-content(15rem) minmax(6rem, 1fr) auto auto; gap: .5rem .75rem; align-items: center; }
.bars > div { display: contents; }
.bars .v { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bars .r { color: var(--muted); white-space: nowrap; }
.head > * { color: var(--muted); font-size: .875rem; }
.scale { position: relative; height: 1.3rem; }
.scale span { position: absolute; bottom: 0; white-space: nowrap; }
.bar { position: relative; display: flex; height: 1.6rem; background: var(--panel); }
.bar i { display: block; height: 100%; box-shadow: inset -1px 0 var(--page); }
.bar u { position: absolute; top: -.25rem; bottom: -.25rem; width: 0; border-left: 2px dashed var(--text); }
.bar u.card { border-left: 1px dotted var(--muted); }
.key { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: 0; margin: .5rem 0; list-style: none; font-size: .875rem; }
.key i { display: inline-block; width: .9rem; height: .9rem; margin-right: .4rem; vertical-align: -.1rem; }
.key u { display: inline-block; height: .9rem; margin-right: .4rem; vertical-align: -.1rem; border-left: 2px dashed var(--text); }
.key u.card { border-left: 1px dotted var(--muted); }
figure .key svg { display: inline-block; width: 1.6rem; height: .6rem; margin-right: .4rem; vertical-align: .1rem; }
.p1 { background: var(--s1); } .p2 { background: var(--s2); } .p3 { background: var(--s3); } .p4 { background: var(--s4); }
.l1 { stroke: var(--s1); } .l2 { stroke: var(--s2); } .l3 { stroke: var(--s3); } .l4 { stroke: var(--s4); }
.l5 { stroke: var(--s5); } .l6 { stroke: var(--s6); }
.l2 { stroke-dasharray: 7 3; } .l3 { stroke-dasharray: 2 3; } .l4 { stroke-dasharray: 9 3 2 3; }
.l5 { stroke-dasharray: 4 2; } .l6 { stroke-dasharray: 12 4; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1.5rem; }
figure { margin: 0; } figure svg { display: block; width: 100%; height: auto; max-width: 40rem; }
figure text { font-size: 13px; fill: var(--muted); } figure text.strong { fill: var(--text); }
.curve { fill: none; stroke-width: 2.25; } .grid { stroke: var(--line); stroke-width: 1; }
.limit { stroke: var(--bad); stroke-width: 2; stroke-dasharray: 8 4; } .mark { stroke: var(--muted); stroke-width: 1; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
table.facts { width: auto; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid var(--line); }
th { color: var(--muted); font-weight: 600; }
.n { text-align: right; font-variant-numeric: tabular-nums; } td.n { white-space: nowrap; }
td:first-child { overflow-wrap: anywhere; min-width: 9rem; } td code { display: block; min-width: 13rem; }
h1, code, .muted, .small { overflow-wrap: anywhere; }
code { font: .85em ui-monospace, "DejaVu Sans Mono", Menlo, monospace; }
details { margin: .75rem 0; } details summary { cursor: pointer; padding: .35rem 0; font-weight: 600; }
footer { margin-top: 3rem; color: var(--muted); font-size: .875rem; }
@media (max-width: 52rem) {
  body { padding: 1rem .75rem 2rem; }
  .bars { display: block; }
  .bars > div { display: grid; grid-template-columns: 1fr auto auto; gap: .1rem .75rem; margin: .5rem 0; }
  .bars .bar, .bars .scale { grid-column: 1 / -1; grid-row: 2; }
  figure text { font-size: 19px; }
  table, tbody, tr, td { display: block; } thead { display: none; } table.facts { width: 100%; }
  tr { border-bottom: 1px solid var(--line); padding: .5rem 0; }
  td { border: 0; padding: .1rem 0; display: flex; gap: 1rem; justify-content: space-between; text-align: right; }
  td::before { content: attr(data-name); color: var(--muted); text-align: left; flex: none; max-width: 50%; }
  td:first-child { font-weight: 600; text-align: left; } td:first-child::before { content: none; }
  td > span { min-width: 0; } td.empty { display: none; } td.n { white-space: normal; }
  td code { min-width: 0; }
  .facts tr { display: flex; flex-wrap: wrap; gap: 0 1rem; justify-content: space-between; }
  .facts td { display: block; text-align: left; } .facts td:first-child { font-weight: 400; min-width: 0; }
}
@media print { details > * { display: block; } }
)css";

}  // namespace

std::string_view html_style() {
  return kStyle;
}

}  // namespace kvplan
