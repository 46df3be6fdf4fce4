#include "tools/report/style.h"

#include "llvm/Support/Base64.h"
#include "llvm/Support/SHA256.h"

#include <string>

namespace tilewright::report {

// Category colours: Okabe and Ito, "Color universal design" (2008), with greys that differ in
// lightness for launch and tail.
std::string_view styleSheet() {
  return R"css(
:root{color-scheme:light dark;--bg:#fff;--fg:#1c2127;--soft:#59636e;--line:#e2e6ea;--panel:#f6f8f9;
--accent:#0b5cad;--warn-bg:#fff4dc;--warn-fg:#6b4700;--grid:#eceff2;--roof:#3d4852;
--tensor:#0072b2;--fma:#56b4e9;--shared:#e69f00;--l2:#009e73;--dram:#d55e00;--latency:#cc79a7;
--launch:#3d4852;--tail:#9aa5b1;--other:#c9d1d9}
@media screen and (prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e3e7eb;--soft:#98a3ae;
--line:#2c333a;--panel:#1b2026;--accent:#6cb2f5;--warn-bg:#3a2d0f;--warn-fg:#f5cf7d;--grid:#232930;
--roof:#aeb8c2;--tensor:#3f9bd8;--fma:#8bcdf2;--shared:#e9ac27;--l2:#1fb489;--dram:#e8793a;
--latency:#d795b9;--launch:#d5dce3;--tail:#7c8894;--other:#4d5762}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--fg);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
header,main,footer{max-width:1320px;margin:0 auto}
body{padding:0 28px}
header{padding-top:36px}
h1{font-size:27px;line-height:1.2;margin:0 0 4px;letter-spacing:-.01em}
h2{font-size:22px;line-height:1.25;margin:0;letter-spacing:-.01em}
h2#models{margin:30px 0 10px}
h3{font-size:16px;margin:32px 0 10px}
h4{font-size:13px;margin:0 0 6px;color:var(--soft);font-weight:600}
p{margin:6px 0;max-width:78ch}
a{color:var(--accent);text-decoration:none}
a:hover,a:focus{text-decoration:underline}
code,.mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;
font-size:.88em}
.lede,.note,.sub{color:var(--soft)}
.note,.sub{font-size:13px}
section.model,section.evaluation,section.calibration,section.comparison{border-top:1px solid var(--line);margin-top:44px;padding-top:28px}
.facts{display:flex;flex-wrap:wrap;margin:18px 0 6px;padding:0;gap:14px 40px}
.facts div{min-width:96px}
.facts dt{font-size:13px;color:var(--soft)}
.facts dd{margin:0;font-size:23px;line-height:1.25;font-weight:600;letter-spacing:-.01em;
font-variant-numeric:tabular-nums}
.facts dd small{display:block;font-size:13px;font-weight:400;color:var(--soft);letter-spacing:0}
.warn{background:var(--warn-bg);color:var(--warn-fg);border-radius:4px;padding:1px 7px;
font-size:13px;font-weight:600;display:inline-block}
p.warn{font-weight:400;padding:7px 12px;display:block}
.facts dd small.warn{width:fit-content;margin-top:2px;color:var(--warn-fg)}
.legend{display:flex;flex-wrap:wrap;gap:4px 20px;list-style:none;margin:8px 0 14px;padding:0;
font-size:13px}
.swatch{display:inline-block;width:11px;height:11px;border-radius:2px;margin-right:6px;
vertical-align:-1px}
svg.swatch rect{rx:2px}
svg.bar{display:inline-block;vertical-align:middle}
svg.wide{width:100%}
.scroll{overflow-x:auto}
.scroll:focus-visible,summary:focus-visible,a:focus-visible,button:focus-visible{
outline:2px solid var(--accent);outline-offset:2px}
table{border-collapse:collapse;font-size:13.5px;font-variant-numeric:tabular-nums;width:100%}
th,td{text-align:left;vertical-align:baseline;padding:6px 14px 6px 0}
th:last-child,td:last-child{padding-right:0}
thead th,thead th.num{font-weight:600;color:var(--soft);font-size:12.5px;line-height:1.3;
vertical-align:bottom;white-space:normal;border-bottom:1px solid var(--fg)}
tbody th{font-weight:600}
.num{text-align:right;white-space:nowrap}
table.plain{width:auto}
table.plain td,table.plain tbody th,table.records td,table.records tbody th{
border-bottom:1px solid var(--line)}
table.records tfoot th,table.records tfoot td{font-weight:600;border-top:1px solid var(--fg)}
table.kernels tbody{border-bottom:1px solid var(--line)}
table.kernels tr.main td,table.kernels tr.main th{padding-bottom:0}
table.kernels tr.more td{padding-top:1px;padding-bottom:7px}
table.kernels tr.main th{min-width:150px;max-width:230px}
table.kernels tr.main td.plan{min-width:270px}
table.kernels td.limiter{white-space:nowrap}
table.kernels .mono{overflow-wrap:break-word}
thead button{all:unset;cursor:pointer;font:inherit;color:inherit}
thead button:hover{color:var(--accent)}
th[aria-sort=ascending] button::after{content:" ↑"}
th[aria-sort=descending] button::after{content:" ↓"}
details summary{cursor:pointer;color:var(--soft);font-size:13px}
details[open]>summary{margin-bottom:8px}
summary b{font-weight:400;color:var(--fg)}
button.tools{font:inherit;font-size:13px;color:var(--accent);background:none;border:1px solid var(--line);
border-radius:4px;padding:2px 10px;cursor:pointer;margin:0 0 8px}
.inner{display:flex;flex-wrap:wrap;gap:18px 48px;padding:12px 16px;margin-bottom:6px;
background:var(--panel);border-radius:6px}
.inner>*{min-width:0;max-width:100%}
.inner dl{margin:0;display:grid;grid-template-columns:max-content auto;gap:2px 16px;font-size:13px}
.inner dt{color:var(--soft)}
.inner dd{margin:0;font-variant-numeric:tabular-nums}
.ops{flex-basis:100%;font-size:13px;overflow-wrap:anywhere}
figure{margin:8px 0}
figcaption{font-size:13px;color:var(--soft);margin:4px 0}
figcaption strong{color:var(--fg)}
.panels{display:flex;flex-wrap:wrap;gap:10px 26px}
.panel{max-width:476px}
svg text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif;fill:var(--fg);
font-variant-numeric:tabular-nums;white-space:pre}
svg.chart{display:block;width:100%;min-width:760px;height:auto}
svg.scatter,svg.terms{max-width:100%;height:auto}
svg text.soft,svg text.axis-title{fill:var(--soft)}
svg text.strong{font-weight:700}
svg text.roof-label{fill:var(--soft)}
svg text.dot-label{paint-order:stroke;stroke:var(--bg);stroke-width:3px;stroke-linejoin:round}
.grid{stroke:var(--grid);fill:none}
.axis{stroke:var(--soft);fill:none}
.rail{fill:var(--panel)}
.roof{stroke:var(--roof);stroke-width:2;stroke-linecap:round}
.ceiling{stroke:var(--roof);stroke-dasharray:5 4}
.leader,.mark{stroke:var(--soft)}
.mark{stroke:var(--fg);stroke-width:1.5}
.dot{fill-opacity:.72;stroke:var(--bg);stroke-width:1.2}
.band{fill:var(--tensor);fill-opacity:.13}
.equal{stroke:var(--fg);fill:none}
.edge{stroke:var(--fg);fill:none;stroke-dasharray:4 3}
.points{stroke:var(--tensor);stroke-width:3;stroke-linecap:round;stroke-opacity:.75;fill:none}
.c-tensor{fill:var(--tensor)}.c-fma{fill:var(--fma)}.c-shared{fill:var(--shared)}
.c-l2{fill:var(--l2)}.c-dram{fill:var(--dram)}.c-latency{fill:var(--latency)}
.c-launch{fill:var(--launch)}.c-tail{fill:var(--tail)}.c-other{fill:var(--other)}
.c-share{fill:var(--soft)}.c-rest{fill:var(--line)}
.ramp6{fill:color-mix(in srgb,var(--l2) 78%,var(--bg))}.ramp5{fill:color-mix(in srgb,var(--l2) 60%,var(--bg))}
.ramp4{fill:color-mix(in srgb,var(--l2) 44%,var(--bg))}.ramp3{fill:color-mix(in srgb,var(--l2) 31%,var(--bg))}
.ramp2{fill:color-mix(in srgb,var(--l2) 20%,var(--bg))}.ramp1{fill:color-mix(in srgb,var(--l2) 11%,var(--bg))}
.ramp0{fill:var(--panel)}
td.ramp6{background:color-mix(in srgb,var(--l2) 78%,var(--bg))}td.ramp5{background:color-mix(in srgb,var(--l2) 60%,var(--bg))}
td.ramp4{background:color-mix(in srgb,var(--l2) 44%,var(--bg))}td.ramp3{background:color-mix(in srgb,var(--l2) 31%,var(--bg))}
td.ramp2{background:color-mix(in srgb,var(--l2) 20%,var(--bg))}td.ramp1{background:color-mix(in srgb,var(--l2) 11%,var(--bg))}
table.heat{width:auto;font-size:12px;border-collapse:separate;border-spacing:2px}
table.heat th,table.heat td{padding:2px 6px;text-align:right;border:0;min-width:34px;border-radius:2px}
table.heat thead th{font-size:12px;white-space:nowrap}
table.heat td.no{color:var(--soft);background:var(--panel);text-align:center}
table.heat td.own{outline:2px solid var(--fg);outline-offset:-2px;font-weight:700}
dl.why{grid-template-columns:max-content minmax(0,70ch)!important;margin-top:6px!important}
.edge-arc{stroke:var(--soft);fill:none;stroke-opacity:.55}.edge-head{fill:var(--soft)}
svg.graph{max-width:1320px}
.spread{stroke:var(--tensor);stroke-width:3;stroke-opacity:.55;fill:none}
.median{stroke:var(--fg);stroke-width:2.5;fill:none}
svg.residual{max-width:100%;height:auto}
table.compare{width:auto}th.indent{padding-left:22px;font-weight:400}th.strong{font-weight:700}
footer{border-top:1px solid var(--line);margin-top:48px;padding-top:16px;padding-bottom:40px;
font-size:13px;color:var(--soft)}
@media print{@page{margin:14mm}body{font-size:9.5pt}body{padding:0}header,main,footer{max-width:none}
section.model,section.evaluation,section.calibration,section.comparison{break-before:page;border:0;margin:0;padding:0}
figure,tbody,.facts{break-inside:avoid}.scroll{overflow:visible}.tools{display:none}
svg.chart{min-width:0}table{font-size:7.5pt}thead th,thead th.num{font-size:7pt}
th,td{padding-right:6px}
table .sub,table .warn,table summary,.legend,figcaption,.note{font-size:7pt}.swatch{width:8px;height:8px}
table svg.bar{width:40px}td.num svg.bar{display:none}table.kernels tr.main th{min-width:80px}
table.kernels tr.main td.plan{min-width:140px}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
)css";
}

std::string_view script() {
  return R"js(
(() => {
  const key = (cell) => {
    const text = cell.dataset.v ?? cell.textContent;
    const number = Number(text);
    return text !== "" && !Number.isNaN(number) ? number : text;
  };
  const compare = (a, b) => {
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return typeof a === "number" ? a - b : a.localeCompare(b);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (!head.hasAttribute("data-sort")) return;
      const button = document.createElement("button");
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const first = head.dataset.sort === "down" ? "descending" : "ascending";
        const other = first === "descending" ? "ascending" : "descending";
        const order = head.getAttribute("aria-sort") === first ? other : first;
        for (const h of heads) h.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", order);
        const sign = order === "ascending" ? 1 : -1;
        // A table either has one body with a row a record, or a body a record.
        const single = table.tBodies.length === 1 ? table.tBodies[0] : null;
        const records = [...(single ? single.rows : table.tBodies)].map((record) => {
          const row = single ? record : record.rows[0];
          return [key(row.cells[column]), record];
        });
        records.sort((a, b) => sign * compare(a[0], b[0]));
        for (const [, record] of records) (single ?? table).append(record);
      });
    });
    const details = table.querySelectorAll("details");
    if (details.length > 1) {
      const all = document.createElement("button");
      all.textContent = "Open all details";
      all.className = "tools";
      let open = false;
      all.addEventListener("click", () => {
        open = !open;
        for (const d of details) d.open = open;
        all.textContent = open ? "Close all details" : "Open all details";
      });
      table.parentElement.before(all);
    }
  }
})();
)js";
}

std::string contentHash(std::string_view text) {
  llvm::SHA256 hash;
  hash.update(llvm::StringRef(text.data(), text.size()));
  return "sha256-" + llvm::encodeBase64(hash.final());
}

} // namespace tilewright::report
