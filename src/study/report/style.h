// How a report looks, and the few lines of script that bring out one policy while the pointer is on
// it. The page reads the same without the script.
#pragma once

#include <string_view>

namespace trainyard {

constexpr std::string_view kReportStyle = R"(:root {
  color-scheme: light dark;
  --paper: #ffffff; --text: #1d2329; --muted: #5b6570; --rule: #e3e7eb; --soft: #f5f7f9;
  --accent: #0072b2;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #15191e; --text: #e4e8ec; --muted: #9aa5b0; --rule: #2c333b; --soft: #1d2329;
    --accent: #4ba6e0;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2.5rem 2rem 4rem; max-width: 1400px;
  background: var(--paper); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 1rem; font-weight: 650; }
h2 { font-size: 1.15rem; margin: 2.75rem 0 .75rem; font-weight: 650; }
p { margin: .5rem 0; }
.facts, .terms { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.25rem; margin: 0; }
.facts dt, .terms dt { color: var(--muted); }
.facts dd, .terms dd { margin: 0; overflow-wrap: anywhere; }
code { font: .88em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.facts code { background: var(--soft); padding: .1rem .4rem; border-radius: 4px; }
.warning { border-left: 3px solid #d55e00; padding: .25rem .75rem; background: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .93rem; font-variant-numeric: tabular-nums; }
th, td { padding: .45rem .6rem; text-align: right; }
td span { white-space: nowrap; display: block; }
td span + span { color: var(--muted); font-size: .87em; font-weight: 400; line-height: 1.2; }
thead th { color: var(--muted); font-weight: 500; font-size: .87rem; vertical-align: bottom;
  border-bottom: 1.5px solid var(--muted); }
tbody td, tbody th { border-bottom: 1px solid var(--rule); }
tbody th { font-weight: 600; min-width: 8rem; overflow-wrap: anywhere; }
th:first-child { text-align: left; padding-left: 0; }
tbody tr:hover { background: var(--soft); }
.best { font-weight: 700; color: var(--accent); }
.shade1 { background: #d55e0040; } .shade2 { background: #0072b240; } .shade3 { background: #cc79a760; }
.swatch { display: inline-block; width: .7em; height: .7em; border-radius: 2px; margin-right: .5em;
  background: var(--colour); print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.note { color: var(--muted); font-size: .87rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(370px, 100%), 1fr));
  gap: 1.5rem 1.75rem; align-items: start; }
figure { margin: 0; max-width: 620px; break-inside: avoid; }
figcaption a { color: var(--accent); white-space: nowrap; }
@media print { figcaption a { display: none; } }
figcaption { color: var(--muted); font-size: .84rem; line-height: 1.4; margin: .15rem 0 0 54px; }
@page { size: landscape; margin: 14mm; }
@media print {
  html { font-size: 11px; }
  body { padding: 0; max-width: none; font-size: 1rem; }
  .scroll { overflow: visible; }
  th, td { padding: .3rem .45rem; }
  .charts { grid-template-columns: repeat(3, 1fr); gap: 1rem; }
  h2 { break-after: avoid; }
}
@media (max-width: 600px) {
  body { padding: 1.25rem 1rem 3rem; }
  .facts, .terms { grid-template-columns: 1fr; gap: 0; }
  .facts dd, .terms dd { margin-bottom: .5rem; }
}
)";

constexpr std::string_view kReportScript =
    R"(const all = document.querySelectorAll('[data-series]');
for (const one of all) {
  const dim = (other) => other.dataset.series !== one.dataset.series;
  one.addEventListener('mouseenter', () => all.forEach((o) => o.classList.toggle('dim', dim(o))));
  one.addEventListener('mouseleave', () => all.forEach((o) => o.classList.remove('dim')));
}
)";

}  // namespace trainyard
