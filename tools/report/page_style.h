// The style sheet of the page: light and dark as the reader's system says, and from the width of a phone on.
#pragma once

#include <string_view>

namespace dedupfs::tools {

inline constexpr std::string_view kPageStyle = R"(
:root {
  color-scheme: light dark;
  --page: #f4f4f1; --card: #fdfdfc; --ink: #15191e; --quiet: #565f69; --line: #dcdcd6;
  --one: #2166c0; --two: #c2571a; --gain: #dfe7f1; --good: #11703f; --warn: #8a5800; --bad: #b3261e;
  --c-files: #2166c0; --c-snapshots: #1b8f76; --c-bases: #7a52c7; --c-garbage: #c2571a; --c-index: #b08900; --c-other: #7d8790;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171a; --card: #1d2125; --ink: #eceef0; --quiet: #a3acb5; --line: #343a41;
    --one: #6aa5f0; --two: #ef9155; --gain: #2b3745; --good: #5fcf95; --warn: #e7b04f; --bad: #ff8a80;
    --c-files: #6aa5f0; --c-snapshots: #4cc3a5; --c-bases: #ad8ff0; --c-garbage: #ef9155; --c-index: #d9b64a; --c-other: #8d97a0;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1rem; }
header { margin: 1rem 0 1.5rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.125rem; margin: 0 0 .5rem; }
h3 { font-size: .9375rem; margin: 1.25rem 0 .25rem; }
p { margin: .25rem 0 .75rem; max-width: 44rem; }
.quiet, .legend, small { color: var(--quiet); font-size: .875rem; }
section { background: var(--card); border: 1px solid var(--line); border-radius: .75rem; padding: 1.25rem; margin: 0 0 1rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: 1rem; margin: 0 0 1rem; }
.figures div { background: var(--card); border: 1px solid var(--line); border-radius: .75rem; padding: .875rem 1.25rem; }
.figures b { display: block; font-size: 1.5rem; font-weight: 600; line-height: 1.25; white-space: nowrap; }
.figures span { color: var(--quiet); font-size: .875rem; }
.steps { display: grid; grid-template-columns: max-content minmax(0, 1fr) max-content; gap: .375rem .75rem; align-items: center; }
.steps .track { position: relative; height: 1.125rem; }
.steps .track i { position: absolute; top: 0; bottom: 0; border-radius: .1875rem; min-width: 2px; }
.steps .total i { background: var(--one); }
.steps .saved i { background: var(--gain); outline: 1px dashed var(--one); outline-offset: -1px; }
.steps .added i { background: var(--two); }
.steps .strong, .steps .value { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
.steps .strong { font-weight: 600; }
.parts { display: flex; height: 1.5rem; border-radius: .375rem; overflow: hidden; gap: 2px; margin: .5rem 0; }
.parts i { min-width: 2px; }
.legend span { display: inline-block; margin: 0 1rem .125rem 0; white-space: nowrap; }
.legend i.key, .legend i.part { display: inline-block; width: .75rem; height: .75rem; border-radius: .1875rem; margin-right: .375rem; vertical-align: -.0625rem; }
.legend i.key.one { background: var(--one); } .legend i.key.two { background: var(--two); }
.legend i.key.ahead { background: none; border-top: 2px dashed var(--quiet); height: 0; vertical-align: .25rem; border-radius: 0; }
.files { background: var(--c-files); } .snapshots { background: var(--c-snapshots); } .bases { background: var(--c-bases); }
.garbage { background: var(--c-garbage); } .index { background: var(--c-index); } .other { background: var(--c-other); }
.chart { display: grid; grid-template-columns: max-content minmax(0, 1fr); column-gap: .5rem; margin: 1rem 0; }
.chart svg { width: 100%; height: 11rem; display: block; overflow: visible; }
.chart .scale { display: flex; flex-direction: column; justify-content: space-between; text-align: right; margin: -.625rem 0; }
.chart .times { grid-column: 2; display: flex; justify-content: space-between; margin-top: .375rem; }
.chart .scale, .chart .times { color: var(--quiet); font-size: .8125rem; font-variant-numeric: tabular-nums; }
.chart .grid { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
.chart .line { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
.chart .area { opacity: .14; }
.chart .line.one { stroke: var(--one); } .chart .area.one { fill: var(--one); }
.chart .line.two { stroke: var(--two); } .chart .area.two { fill: var(--two); }
.chart .line.ahead { stroke: var(--quiet); stroke-dasharray: 5 4; }
.chart .tip { fill: transparent; } .chart .tip:hover { fill: var(--quiet); fill-opacity: .18; }
table { border-collapse: collapse; width: 100%; font-size: .9375rem; font-variant-numeric: tabular-nums; margin: .5rem 0; }
th, td { text-align: right; padding: .3125rem 0 .3125rem .75rem; border-bottom: 1px solid var(--line); vertical-align: top; white-space: nowrap; }
th { font-size: .8125rem; font-weight: 500; color: var(--quiet); white-space: normal; }
th:first-child, td:first-child { text-align: left; padding-left: 0; white-space: normal; overflow-wrap: anywhere; width: 40%; }
.share { display: block; height: .3125rem; margin-top: .25rem; border-radius: .1875rem; background: var(--gain); overflow: hidden; }
.share span { display: block; height: 100%; background: var(--one); }
.state { font-weight: 600; } .good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); }
dl { display: grid; grid-template-columns: minmax(7rem, max-content) minmax(0, 1fr); gap: .25rem 1rem; margin: .5rem 0; }
dt { color: var(--quiet); } dd { margin: 0; overflow-wrap: anywhere; }
details { margin-top: .5rem; } summary { cursor: pointer; color: var(--one); }
footer { color: var(--quiet); font-size: .875rem; margin: 1.5rem 0; }
@media (max-width: 34rem) {
  main { padding: .75rem; } section { padding: 1rem; } .minor { display: none; }
  .steps { grid-template-columns: max-content minmax(0, 1fr) max-content; font-size: .875rem; gap: .375rem .5rem; }
  .figures { grid-template-columns: 1fr 1fr; gap: .75rem; } .figures div { padding: .75rem; } .figures b { font-size: 1.25rem; }
  th, td { padding-left: .5rem; } table { font-size: .875rem; }
}
@media print { body { background: none; } section, .figures div { break-inside: avoid; } }
)";

}  // namespace dedupfs::tools
