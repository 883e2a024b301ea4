import { createHash } from 'node:crypto';

export const STYLE = `
.bars { display: block; width: 100%; height: 7rem; padding: .9rem 1rem; }
.bars .axis { stroke: var(--edge); stroke-width: 1; vector-effect: non-scaling-stroke; }
.bars rect { fill: var(--quiet); }
.bars .succeeded { fill: var(--good); } .bars .failed { fill: var(--bad); }
.bars .cancelled { fill: none; stroke: var(--quiet); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.bars .active { fill: var(--link); }
.bars .mark { stroke: var(--link); stroke-width: 2; vector-effect: non-scaling-stroke; }
.bars .mark.warn { stroke: var(--warn); } .bars .mark.quiet { stroke: var(--quiet); stroke-dasharray: 3 3; }
.bars .median { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 5 4; vector-effect: non-scaling-stroke; }
.bars .blind { fill: var(--warn-bg); } .bars .published { fill: var(--link); }
.bars.spark { height: 1.4rem; padding: 0; border-bottom: 1px solid var(--line); margin: .3rem 0 .1rem; } .spark path { stroke-width: 7; stroke: var(--good); } .spark .failed { stroke: var(--bad); }
.strip { height: 4.5rem; padding: .5rem 1rem; } .strip a { cursor: pointer; }
.tiles { display: grid; gap: .6rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 12rem), 1fr)); }
ul.tiles li { padding: 0; border: 1px solid var(--line); border-left: 3px solid var(--good); border-radius: .5rem; background: var(--sheet); }
ul.tiles .bad { border-left-color: var(--bad); } ul.tiles .warn { border-left-color: var(--warn); }
.tiles a { display: block; padding: .5rem .8rem; color: inherit; text-decoration: none; } .tiles a:hover { color: var(--link); }
.tiles span { display: block; }
.watch > summary { margin: 2rem 0 0; cursor: pointer; font-weight: 650; }
.between, .beside { display: flex; flex-wrap: wrap; gap: 0 1rem; } .between { justify-content: space-between; }
.sheet > .between, .sheet > .beside { padding: 0 1rem .7rem; }
.beside > :first-child::after { content: ' –'; }
h1 a { color: inherit; text-decoration-color: var(--edge); text-decoration-thickness: 1px; text-underline-offset: .2em; }
h1 a:hover { color: var(--link); }
.bars a:hover rect, .bars a:focus-visible rect { fill: var(--ink); }
.marks { white-space: nowrap; letter-spacing: .12em; font-size: .8125rem; }
.marks .succeeded { color: var(--good); } .marks .failed { color: var(--bad); font-weight: 700; }
thead th { overflow-wrap: normal; }
.whole { white-space: nowrap; }
main > dl:first-child { margin-top: 1.25rem; }
.figures { grid-template-columns: repeat(auto-fit, minmax(max(9rem, 18%), 1fr)); gap: .6rem; padding: 0; margin-top: 1rem; }
.figures div { padding: .7rem 1rem; border: 1px solid var(--line); border-radius: .6rem; background: var(--sheet); } .figures dd { font-size: 1.3rem; margin: 0; }
.ratio { display: flex; flex-wrap: wrap; gap: .2rem 1.5rem; }
:root {
  color-scheme: light dark;
  --paper: #f6f7f8; --sheet: #fff; --line: #e3e6e9; --edge: #858e96; --ink: #1b2126; --soft: #5c6770;
  --good: #177544; --warn: #8a5808; --bad: #c02b2b; --quiet: #5a646d;
  --good-bg: #e4f4eb; --warn-bg: #fbf0d9; --bad-bg: #fce8e7; --quiet-bg: #eceff1; --link: #1f5fa8;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181b; --sheet: #1c2125; --line: #2e353b; --edge: #6c767e; --ink: #e4e8eb; --soft: #9da8b0;
    --good: #6fd09b; --warn: #e6b45c; --bad: #ff8f87; --quiet: #a5b0b8;
    --good-bg: #1c3a2b; --warn-bg: #3f3116; --bad-bg: #4a2422; --quiet-bg: #2d343a; --link: #86b7f0;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif;
  overflow-wrap: anywhere;
}
.skip { position: absolute; left: -99rem; }
.skip:focus { left: .5rem; top: .5rem; z-index: 1; background: var(--sheet); padding: .4rem .8rem; border-radius: .4rem; }
.heard { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.top { background: var(--sheet); border-bottom: 1px solid var(--line); }
.bar { max-width: 74rem; margin: 0 auto; padding: .35rem 1.25rem; display: flex; flex-wrap: wrap; gap: .35rem 1.25rem; align-items: center; justify-content: space-between; }
.bar ul { display: flex; flex-wrap: wrap; gap: 0 .25rem; margin-left: -.55rem; }
.bar li { padding: 0; border: 0; }
.bar li a { display: block; padding: .35rem .55rem; border-radius: .4rem; color: var(--soft); font-size: .875rem; text-decoration: none; }
.bar li a:hover { color: var(--ink); background: var(--quiet-bg); }
.bar li a[aria-current] { color: var(--ink); font-weight: 650; box-shadow: inset 0 -2px var(--link); border-radius: .4rem .4rem 0 0; }
.search { display: flex; gap: .4rem; flex: 0 1 19rem; min-width: 0; }
.search input { min-width: 0; padding: .25rem .6rem; font-size: .875rem; }
.search button { flex: none; padding: .25rem .7rem; font-weight: 500; }
main, header, footer { max-width: 74rem; margin: 0 auto; padding: 0 1.25rem; }
a { color: var(--link); }
a.plain, a.what { color: inherit; text-decoration-color: var(--edge); text-underline-offset: .2em; }
a.plain:hover, a.what:hover { color: var(--link); }
a.text.good { color: var(--good); } a.text.bad { color: var(--bad); } a.text.warn { color: var(--warn); }
header { padding-top: 1.5rem; }
.brand { margin: 0 0 1rem; color: var(--soft); font-size: .875rem; display: flex; gap: .25rem 1rem; flex-wrap: wrap; }
.brand b { color: var(--ink); }
.brand span:last-child { margin-left: auto; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0; font-weight: 650; letter-spacing: -.01em; }
.headline { display: flex; align-items: baseline; justify-content: space-between; gap: 0 1rem; flex-wrap: wrap; } .headline > a { padding: .3rem 0; }
h2 { font-size: 1rem; margin: 2rem 0 .6rem; font-weight: 650; display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 .75rem; }
h2 a, h2 .small { font-size: .8125rem; font-weight: 400; } h2 a { margin-left: auto; white-space: nowrap; }
h3 { font-size: 1rem; margin: 0; font-weight: 650; }
p { margin: 0; }
.lead { color: var(--soft); margin-top: .35rem; }
.soft { color: var(--soft); }
.small { font-size: .8125rem; }
time { white-space: nowrap; }
.notice { margin-top: 1rem; padding: .6rem .9rem; border-radius: .5rem; background: var(--bad-bg); color: var(--bad); }
.notice a { color: inherit; } .notice.good { background: var(--good-bg); color: var(--good); display: flex; flex-wrap: wrap; gap: .3rem 1rem; align-items: center; } .notice .actions { margin: 0; }
input[type=checkbox] { width: 1.05rem; height: 1.05rem; vertical-align: -.15rem; margin: 0 .3rem 0 0; accent-color: var(--link); }
.chosen { display: none; position: sticky; bottom: 0; gap: .6rem; flex-wrap: wrap; padding: .7rem 1rem; border: 1px solid var(--edge); border-radius: .6rem .6rem 0 0; background: var(--sheet); }
main:has([form=chosen]:checked) .chosen { display: flex; } .chosen button { padding: .35rem .7rem; font-size: .8125rem; }
.sheet { background: var(--sheet); border: 1px solid var(--line); border-radius: .6rem; overflow: hidden; }
.empty { padding: 1.1rem 1rem; color: var(--soft); }
.pill {
  display: inline-block; padding: .05rem .5rem; border-radius: 1rem; font-size: .75rem; font-weight: 600;
  line-height: 1.5; white-space: nowrap;
}
.pill.good { color: var(--good); background: var(--good-bg); } .pill[hidden] { display: none; }
.pill.warn { color: var(--warn); background: var(--warn-bg); }
.pill.bad { color: var(--bad); background: var(--bad-bg); }
.pill.quiet { color: var(--quiet); background: var(--quiet-bg); }
.text.good { color: var(--good); } .text.warn { color: var(--warn); } .text.bad { color: var(--bad); }
ul { list-style: none; margin: 0; padding: 0; }
li { padding: .7rem 1rem; border-top: 1px solid var(--line); }
li:first-child { border-top: 0; }
.alert { border-left: 3px solid var(--quiet); }
.alert.bad { border-left-color: var(--bad); } .alert.warn { border-left-color: var(--warn); }
.alert:has(> .places) { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 0 1rem; align-items: baseline; }
.alert > .places, .alert > .about, .alert > .day, .alert > .actions { grid-column: 1 / -1; }
.alert .places { margin: 0; }
@media (min-width: 62rem) {
  .alert:has(> .actions) { grid-template: "title day stamp" auto "places day actions" auto "about about about" auto / minmax(0, 1fr) 14.5rem 18rem; }
  .wall .alert:has(> .actions) { grid-template: "title stamp" auto "places day" auto "about about" auto / minmax(0, 1fr) 14.5rem; }
  .alert:has(> .actions) > .places { grid-area: places; } .alert:has(> .actions) > .stamp { grid-area: stamp; text-align: right; }
  .alert > .day { grid-area: day; align-self: start; } .alert > .day .spark { margin-top: 0; } .alert > .actions { grid-area: actions; justify-content: end; margin: 0; }
  .brief .about { display: flex; gap: 0 1rem; } .brief .about > .message { flex: 0 1 auto; min-width: 0; } .brief .about > p { flex: none; }
  .brief .columns .row > div { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
}
header:has(+ .brief) { padding-top: .9rem; } .brief h2 { margin: 1rem 0 .4rem; } .brief li { padding: .45rem 1rem; } .brief .strip { height: 3.6rem; } .brief ul.tiles li { padding: 0; } 
.brief .message { -webkit-line-clamp: 1; margin-top: .1rem; } .brief .places { flex-wrap: nowrap; gap: 0 .75rem; } .brief .places li { min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; padding: 0; } .brief .places .more { flex: none; } .brief + footer { padding-top: 1rem; padding-bottom: 1rem; }
.brief .watch > summary { margin-top: 1rem; } .brief summary .row { display: inline-grid; width: calc(100% - 1.5rem); } .brief .tiles { grid-template-columns: 1fr 1fr; }
.row { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 0 1rem; align-items: baseline; }
.row > :last-child { text-align: right; }
.row h3, .alert > div > h3 { display: inline; }
.row h3, .alert > div > h3, .what { margin-right: .35rem; }
.message {
  font: .8125rem/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
  color: var(--soft); margin-top: .25rem;
  display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 3; overflow: hidden;
}
.note { white-space: pre-line; overflow-wrap: anywhere; margin-top: .25rem; }
.regions { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 21rem), 1fr)); }
.region { padding: .9rem 1rem; }
.region > p { margin-top: .3rem; }
.text.quiet { color: var(--quiet); }
table { border-collapse: collapse; width: 100%; margin-top: .7rem; font-size: .875rem; }
th { font-weight: 400; color: var(--soft); text-align: left; padding: .25rem .75rem .25rem 0; }
thead th { font-size: .75rem; padding-top: 0; }
td { padding: .25rem 0 .25rem .75rem; text-align: right; font-variant-numeric: tabular-nums; }
thead th + th { text-align: right; padding: 0 0 .25rem .75rem; }
tbody tr { border-top: 1px solid var(--line); }
table.data { margin: 0; font-size: .9375rem; }
.data th, .data td { padding: .55rem .75rem; text-align: left; vertical-align: baseline; }
.data td { overflow-wrap: break-word; } .data bdi { overflow-wrap: anywhere; }
.data th:first-child { padding-left: 1rem; } .data td:last-child { padding-right: 1rem; }
.data tbody th { color: var(--ink); min-width: 11rem; }
.data thead th { padding: .5rem .75rem .4rem; }
.data thead th + th { text-align: left; padding: .5rem .75rem .4rem; }
.data .number, .data thead th + th.number { text-align: right; font-variant-numeric: tabular-nums; }
.data tbody tr:first-child { border-top: 1px solid var(--line); }
@media (max-width: 44rem) {
  .data, .data tbody, .data tbody tr { display: block; }
  .data thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .data tbody tr { padding: .6rem 1rem; }
  .data tbody tr:first-child { border-top: 0; }
  .data tbody th, .data td, .data .number { display: block; padding: .1rem 0; text-align: left; }
  .data td.number { display: inline-block; padding-right: .9rem; }
  .data tbody th:first-child { padding-left: 0; } .data td:last-child { padding-right: 0; }
  .data td::before { content: attr(data-title) ": "; color: var(--soft); font-size: .8125rem; }
  .data td:empty { display: none; }
}
.line { display: flex; gap: .5rem; margin: 1rem 0 .6rem; max-width: 40rem; }
.line input { min-width: 0; height: 2.3rem; } .line button { flex: none; }
.chip { padding: .1rem .6rem; border: 1px solid var(--edge); border-radius: 1rem; font-size: .8125rem; color: inherit; text-decoration: none; background: var(--sheet); }
.presets { margin-top: 1.1rem; } .presets [aria-current] { border-color: var(--link); color: var(--link); }
.filters { margin-bottom: 1rem; } .filters summary { font-weight: 400; font-size: .8125rem; color: var(--soft); }
.filter { display: grid; gap: .6rem .75rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 8.25rem), 1fr)); margin: .75rem 0 0; align-items: end; }
.filter label { display: block; font-size: .75rem; color: var(--soft); margin-bottom: .15rem; }
.filter input, .filter select, .filter .buttons > * { height: 2.1rem; }
.filter input, .filter select { padding: .3rem .5rem; font-size: .875rem; width: 100%; }
.filter .buttons { margin: 0; white-space: nowrap; }
@media (min-width: 44rem) { .filter .buttons { grid-column: span 2; flex-wrap: nowrap; } }
.filter .main { padding: .3rem .9rem; }
.pager { display: flex; gap: .6rem; margin-top: 1rem; }
dl { margin: 0; display: grid; grid-template-columns: minmax(7rem, max-content) minmax(0, 1fr); gap: .35rem 1.25rem; padding: .9rem 1rem; }
dt { color: var(--soft); font-size: .875rem; }
dd { margin: 0; }
pre { margin: 0; padding: .9rem 1rem; white-space: pre-wrap; font: .8125rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
@media (max-width: 30rem) { dl { grid-template-columns: minmax(0, 1fr); gap: 0; } dd { margin-bottom: .5rem; } }
.columns { display: grid; gap: 0 1.5rem; grid-template-columns: 1fr; }
@media (min-width: 62rem) { .columns { grid-template-columns: 3fr 2fr; } }
.columns > section { min-width: 0; }
.columns .message { -webkit-line-clamp: 1; }
@media (max-width: 36rem) {
  h1 { font-size: 1.5rem; }
  header { padding-top: .8rem; }
  h2 { margin-top: 1.2rem; }
  .brand { margin-bottom: .3rem; }
  .bar nav { width: 100%; }
  .bar li a { padding: .25rem .4rem; }
  .strip { height: 3.5rem; }
  .tiles { grid-template-columns: 1fr 1fr; }
  .brief .day, .brief .sheet > li:nth-child(n + 4), .brief .tiles li:nth-child(n + 3) { display: none; }
  .brief .places:not(:has(.more)) { flex-wrap: wrap; } .brief .places:not(:has(.more)) li { padding: .1rem 0; }
  .brief .about .message { -webkit-line-clamp: 2; } .brief .columns .row { display: block; } .brief .columns .row > div { display: inline; }
  .brand span:last-child { margin-left: 0; }
  .row.stack { grid-template-columns: minmax(0, 1fr); }
  .row.stack > :last-child { text-align: left; }
}
.after { margin-top: .9rem; }
.inline { display: inline; font-size: 1rem; margin: 0 .35rem 0 0; }
.narrow, header:has(+ .narrow) { max-width: 44rem; }
main.narrow { padding-top: 1.25rem; padding-bottom: 2.5rem; }
main.narrow > * + * { margin-top: 1rem; }
.fields { padding: 1rem 1.1rem 1.1rem; overflow: visible; }
.fields > label, .fields label { display: block; font-weight: 600; font-size: .875rem; margin: .8rem 0 .25rem; }
.fields > label:first-of-type { margin-top: 0; }
.fields label .soft { font-weight: 400; }
.fields .small { margin-top: .3rem; }
.fields > details + label:first-of-type { margin-top: .9rem; }
fieldset { border: 0; margin: 0 0 1rem; padding: 0; min-width: 0; }
legend { font-weight: 600; font-size: .875rem; padding: 0; }
.fields .choice { display: flex; gap: .6rem; align-items: baseline; font-weight: 400; font-size: .9375rem; margin: .35rem 0; }
.fields .choice input { width: auto; height: auto; flex: none; }
.pair { display: grid; gap: 0 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 13rem), 1fr)); }
input, textarea, select, button, .button {
  font: inherit; color: var(--ink); background: var(--paper); border: 1px solid var(--edge); border-radius: .4rem;
}
input, textarea, select { width: 100%; padding: .45rem .6rem; }
.fields input, .fields select { height: 2.5rem; }
textarea, code, #cron { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; font-size: .875rem; }
textarea { resize: vertical; }
::placeholder { color: var(--soft); opacity: 1; }
button, .button { display: inline-flex; align-items: center; padding: .3rem .8rem; cursor: pointer; font-weight: 600; font-size: .875rem; text-decoration: none; line-height: 1.4; }
button.plain { padding: 0; border: 0; background: none; color: var(--link); font-weight: 400; font-size: inherit; text-decoration: underline; }
button.plain[aria-pressed="true"] { font-weight: 600; }
button.small[aria-pressed="true"] { border-color: var(--link); color: var(--link); box-shadow: inset 0 0 0 1px var(--link); }
button:hover, .button:hover { border-color: var(--ink); }
button.main { background: var(--link); border-color: var(--link); color: var(--sheet); padding: .45rem 1.1rem; }
.buttons { display: flex; flex-wrap: wrap; gap: .6rem; margin-top: 1.1rem; }
.actions .button, button.small { padding: .15rem .6rem; font-size: .8125rem; font-weight: 500; }
.actions { display: flex; flex-wrap: wrap; gap: .5rem; margin-top: .5rem; }
ol { list-style: none; margin: 0; padding: 0; }
.way li { display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); gap: 0 1rem; }
.way b { font-weight: 600; font-size: .875rem; color: var(--soft); }
@media (max-width: 30rem) { .way li { grid-template-columns: minmax(0, 1fr); } }
.places { display: flex; flex-wrap: wrap; gap: 0 1.5rem; margin-top: .3rem; }
.places li { padding: .1rem 0; border: 0; }
.pills { margin-top: 1rem; }
.matchers { font-weight: 600; }
details { margin-top: .9rem; } li > details { margin: 0; }
summary { cursor: pointer; font-size: .875rem; font-weight: 600; }
a:focus-visible, button:focus-visible, input:focus-visible, textarea:focus-visible, select:focus-visible, summary:focus-visible {
  outline: 2px solid var(--link); outline-offset: 2px;
}
html:has(.wall) { font-size: clamp(15px, 1vw, 30px); } .wall { font-size: 1rem; } .wall main, .wall header, .wall footer { max-width: none; }
.wall h1 { font-size: 2.6rem; } .wall h2 { margin-top: 1.2rem; }
.stale { display: none; max-width: 60rem; margin-inline: auto; } [data-stale] .stale { display: block; } [data-stale] :is(header, main) { filter: grayscale(1); opacity: .5; }
.wall .actions, .wall a[href*="api/"], .wall footer { display: none; }
dialog { max-width: 26rem; border: 1px solid var(--line); border-radius: .6rem; background: var(--sheet); color: var(--ink); padding: 1.25rem; }
dialog::backdrop { background: rgb(0 0 0 / .4); }
dialog h2 { margin: 0; }
dialog dl { grid-template-columns: auto 1fr; padding: .9rem 0; }
@media (min-width: 62rem) { .even { grid-template-columns: 1fr 1fr; } }
.even .number { white-space: nowrap; } .even > :nth-child(3) { grid-column: 1 / -1; }
footer { color: var(--soft); font-size: .8125rem; padding-top: 2rem; padding-bottom: 2.5rem; }
@media print {
  html { font-size: 11px; } body { background: none; font-size: 1rem; } .top, .skip, .actions, button { display: none; }
  main, header, footer { max-width: none; padding: 0; } h2 { margin: 1.2rem 0 .4rem; } .columns { grid-template-columns: 1fr 1fr; }
  .data th, .data td, .data thead th + th { padding: .2rem .75rem; } a { color: inherit; text-decoration: none; } tr, svg { break-inside: avoid; }
}
`;

/** The only style that the page may use, for its content security policy. */
export const STYLE_HASH = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;
