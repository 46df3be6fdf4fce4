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
header,main,footer,.finder,nav{max-width:1320px;margin:0 auto}
body{padding:0 28px}
header{padding-top:36px}
h1{font-size:27px;line-height:1.2;margin:0 0 4px;letter-spacing:-.01em}
h2{font-size:22px;line-height:1.25;margin:0;letter-spacing:-.01em}
section.overview{margin:30px 0 0}section.overview h2{margin-bottom:10px}td.whole{white-space:nowrap}
.finder{position:sticky;top:0;z-index:2;display:flex;flex-wrap:wrap;gap:6px 12px;align-items:center;
background:var(--bg);padding:10px 0;border-bottom:1px solid var(--line);font-size:13.5px}
.finder[hidden]{display:none}
.finder input,.finder select{font:inherit;color:inherit;background:var(--panel);padding:5px 9px;
border:1px solid var(--line);border-radius:5px;min-width:0}
.finder input{flex:1 1 220px;max-width:420px}
.finder button.tools{margin:0}
#found{color:var(--soft);font-variant-numeric:tabular-nums}
nav{padding-top:14px;font-size:13.5px}
nav ul{columns:280px;column-gap:32px;list-style:none;margin:4px 0 0;padding:0}
nav li{overflow-wrap:anywhere;break-inside:avoid;padding:1px 0}
.searching nav,.searching main>section:not(.model),.searching section.model>:not(h2,.found){display:none}
.headline{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(300px,100%),1fr));gap:6px 36px;
background:var(--panel);border-radius:8px;padding:14px 18px;margin:18px 0}
.headline h3{margin:0 0 6px;font-size:14px}
.headline ol{margin:0;padding:0;list-style:none}
.headline li{padding:1px 0;overflow-wrap:anywhere}
.headline b{font-variant-numeric:tabular-nums}
button.pick{all:unset;cursor:pointer;font:inherit;color:var(--accent)}
button.pick:hover{text-decoration:underline}
section,tbody,details,h2{scroll-margin-top:64px}
.told{animation:told 1.6s}
@keyframes told{from{background:color-mix(in srgb,var(--accent) 30%,transparent)}}
details.listing{flex-basis:100%}
pre{font:12px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;margin:6px 0 0;
max-height:480px;overflow:auto;tab-size:8}
.end{height:1px}
h3{font-size:16px;margin:32px 0 10px}
h4{font-size:13px;margin:0 0 6px;color:var(--soft);font-weight:600}
p{margin:6px 0;max-width:78ch}
a{color:var(--accent);text-decoration:none}
a:hover,a:focus{text-decoration:underline}
code,.mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;
font-size:.88em}
.lede,.note,.sub{color:var(--soft)}
.note,.sub{font-size:13px;font-weight:400}
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
section.model{content-visibility:auto;contain-intrinsic-size:auto 1600px}
.scroll:focus-visible,summary:focus-visible,a:focus-visible,button:focus-visible,[tabindex]:focus-visible{
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
th[data-sort]{cursor:pointer}th[data-sort]:hover{color:var(--accent)}
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
table.heat small{display:block;font-size:9.5px;line-height:1;color:var(--soft)}
table.heat td.no{color:var(--soft);background:var(--panel);text-align:center}
table.heat td.own{outline:2px solid var(--fg);outline-offset:-2px;font-weight:700}
dl.why{grid-template-columns:max-content minmax(0,70ch)!important;margin-top:6px!important}
.edge-arc{stroke:var(--soft);fill:none;stroke-opacity:.55}.edge-head{fill:var(--soft)}
svg.graph{display:block;width:100%;min-width:1080px;max-width:1320px;height:auto}
svg.graph a:hover,svg.graph a:focus{text-decoration:none}
svg.graph .row{fill:transparent}
svg.graph a:hover .row,svg.graph a:focus-visible .row{fill:var(--panel)}
svg.graph.lit [data-e]:not(.on){opacity:.12}svg.graph.lit [data-n]:not(.on){opacity:.45}
svg.graph.lit .on .edge-arc{stroke:var(--accent);stroke-opacity:1;stroke-width:1.6}
svg.graph.lit .on .edge-head{fill:var(--accent)}
figure details{margin:4px 0}
.spread{stroke:var(--tensor);stroke-width:3;stroke-opacity:.55;fill:none}
.median{stroke:var(--fg);stroke-width:2.5;fill:none}
svg.residual{max-width:100%;height:auto}
table.compare{width:auto;margin-bottom:14px}th.indent{padding-left:22px;font-weight:400}th.strong{font-weight:700}
footer{border-top:1px solid var(--line);margin-top:48px;padding-top:16px;padding-bottom:40px;
font-size:13px;color:var(--soft)}
@media (max-width:700px){body{padding:0 14px}header{padding-top:18px}h1{font-size:22px}
.facts{gap:10px 24px}.facts dd{font-size:18px}.inner{padding:10px}.inner dl{grid-template-columns:auto}
.inner dd{margin:0 0 4px}.inner .plain,.inner .heat{display:block;overflow-x:auto}
table.kernels tr.main td.plan{min-width:190px}
table.kernels tr.more td[colspan]{position:sticky;left:0}
table.kernels tr.more details>.inner{max-width:calc(100vw - 42px)}
table.plain td.mono{overflow-wrap:anywhere}dl.why{grid-template-columns:max-content auto!important}}
@media (prefers-reduced-motion){.told{animation:none}}
@media print{@page{margin:14mm}.finder,nav{display:none}section.model{content-visibility:visible}body{font-size:9.5pt}body{padding:0}header,main,footer{max-width:none}
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

std::string contentHash(std::string_view text) {
  llvm::SHA256 hash;
  hash.update(llvm::StringRef(text.data(), text.size()));
  return "sha256-" + llvm::encodeBase64(hash.final());
}

} // namespace tilewright::report
