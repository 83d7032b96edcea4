#include "report/html_page.h"

#include <fmt/format.h>

#include "kvplan/version.h"

namespace kvplan {

namespace {

// Colours stand in variables, once for light and once for dark; a test computes their contrast.
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
.muted, caption, figcaption { color: var(--muted); }
.small { font-size: .875rem; }
.verdict { font-weight: 600; padding: .5rem .75rem; margin: 1rem 0; background: var(--panel); border-left: .3rem solid; }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
.verdict span { color: var(--text); font-weight: 400; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(10.5rem, 1fr)); gap: .75rem; margin: 1rem 0; }
.tile { background: var(--panel); padding: .6rem .75rem; }
.tile b { display: block; font-size: 1.2rem; font-variant-numeric: tabular-nums; }
.tile span { color: var(--muted); font-size: .875rem; }
.gpu { display: grid; grid-template-columns: 5.5rem 1fr 6.5rem; gap: .75rem; align-items: center; margin: .5rem 0; }
.gpu > :last-child { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar { position: relative; display: flex; height: 1.6rem; background: var(--panel); }
.bar i { display: block; height: 100%; box-shadow: inset -1px 0 var(--page); }
.bar u { position: absolute; top: -.3rem; bottom: -.3rem; width: 0; border-left: 2px dashed var(--text); }
.key { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: 0; margin: .5rem 0; list-style: none; font-size: .875rem; }
.key i { display: inline-block; width: .9rem; height: .9rem; margin-right: .4rem; vertical-align: -.1rem; }
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
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid var(--line); }
th { color: var(--muted); font-weight: 600; }
.n { text-align: right; font-variant-numeric: tabular-nums; } td.n { white-space: nowrap; }
td:first-child { overflow-wrap: anywhere; min-width: 9rem; } td code { display: block; min-width: 13rem; }
h1, code, .muted, .small { overflow-wrap: anywhere; }
code { font: .85em ui-monospace, "DejaVu Sans Mono", Menlo, monospace; }
details summary { cursor: pointer; padding: .35rem 0; }
footer { margin-top: 3rem; color: var(--muted); font-size: .875rem; }
.wide .gpu { grid-template-columns: 15rem 1fr 6.5rem; }
@media (max-width: 52rem) {
  body { padding: 1rem .75rem 2rem; }
  .gpu, .wide .gpu { grid-template-columns: 1fr auto; gap: .1rem .75rem; } .gpu .bar { grid-column: 1 / -1; grid-row: 2; }
  figure text { font-size: 19px; }
  table, tbody, tr, td { display: block; } thead { display: none; }
  tr { border-bottom: 1px solid var(--line); padding: .5rem 0; }
  td { border: 0; padding: .1rem 0; display: flex; gap: 1rem; justify-content: space-between; text-align: right; }
  td::before { content: attr(data-name); color: var(--muted); text-align: left; flex: none; }
  td:first-child { font-weight: 600; text-align: left; } td:first-child::before { content: none; }
  td > span { min-width: 0; } td.empty { display: none; } td.n { white-space: normal; }
  td code { min-width: 0; }
}
@media print { details > * { display: block; } }
)css";

// The length of the UTF-8 sequence at `at`, 0 where it is broken.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(text[i])); };
  const unsigned first = byte(at);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xC2 && first < 0xE0 ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xC0U) != 0x80U) return 0;
  // Overlong forms, surrogates, and beyond U+10FFFF.
  if ((first == 0xE0 && byte(at + 1) < 0xA0) || (first == 0xED && byte(at + 1) > 0x9F) ||
      (first == 0xF0 && byte(at + 1) < 0x90) || (first == 0xF4 && byte(at + 1) > 0x8F))
    return 0;
  return length;
}

}  // namespace

std::string html_escape(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    const char c = text[at];
    if (length == 0 || (length == 1 && ((c >= 0 && c < 0x20) || c == 0x7F))) {
      out += "\xEF\xBF\xBD";
      ++at;
      continue;
    }
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += text.substr(at, length);
    at += length;
  }
  return out;
}

std::string html_page(std::string_view title, std::string_view body) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n<title>";
  out += html_escape(title);
  out += "</title>\n<style>";
  out += kStyle;
  out += "</style>\n</head>\n<body>\n";
  out += body;
  out += fmt::format(
      "<footer>kvplan {}. 1 GiB is 2<sup>30</sup> bytes. Activations and runtime are estimates with a range; the "
      "cache is exact.</footer>\n</body>\n</html>\n",
      kVersion);
  return out;
}

std::string html_rows(const std::vector<HtmlColumn>& columns, const std::vector<std::vector<std::string>>& rows) {
  std::string out = "<table>\n<thead><tr>";
  for (const HtmlColumn& column : columns)
    out +=
        fmt::format("<th scope=\"col\"{}>{}</th>", column.is_number ? " class=\"n\"" : "", html_escape(column.title));
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows) {
    out += "<tr>";
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const bool empty = c >= row.size() || row[c].empty();
      const std::string_view style =
          columns[c].is_number ? (empty ? " class=\"n empty\"" : " class=\"n\"") : (empty ? " class=\"empty\"" : "");
      out += fmt::format("<td data-name=\"{}\"{}><span>{}</span></td>", html_escape(columns[c].title), style,
                         empty ? "" : row[c]);
    }
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table>\n";
}

}  // namespace kvplan
