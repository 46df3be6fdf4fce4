#!/usr/bin/env bash
# Opens a report in a headless browser and looks at what a reader would: no error on the console,
# every part there, nothing cut off or scrolled out of sight at a common window size, and no more
# than 5 MB to open.
# Usage: scripts/check_report.sh [REPORT.html]    default: a report made here of bundled models, all
#        measurements of the H100, its calibration, and a second run to compare with
# Takes the program from $TILEWRIGHT, else from build/release. Skips where there is no Chromium.
set -euo pipefail
cd "$(dirname "$0")/.."

browser=
for name in chromium chromium-browser google-chrome; do
  browser=$(command -v "$name") && break
done
if [[ -z $browser ]]; then
  echo "check_report: skipped, there is no Chromium on this machine"
  exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
report=${1:-}
if [[ -z $report ]]; then
  program=${TILEWRIGHT:-build/release/bin/tilewright}
  report=$work/report.html
  "$program" explore datasets/models/gpt2_block.hlo.txt \
    datasets/models/dlrm.xla_optimized.hlo.txt --budget 200 --out "$work/out" >/dev/null
  "$program" explore datasets/models/dlrm.xla_optimized.hlo.txt --budget 20 --out "$work/second" \
    >/dev/null
  folder=datasets/measurements/h100-sxm
  "$program" evaluate $folder/{gemm,gemm_variants,memory,attention,kernels}.csv.gz --rows --json \
    >"$work/evaluation.json"
  started=$(date +%s)
  "$program" report "$work/out" "$work/second" "$work/evaluation.json" \
    datasets/calibrations/h100-sxm.json --out "$report"
  seconds=$(($(date +%s) - started))
  ((seconds <= 10)) || echo "note: the report took $seconds s"
  for part in 'section class="evaluation"' 'section class="calibration"' 'svg class="scatter"' \
    'svg class="residual"' 'svg class="terms"' 'table class="records compare"'; do
    grep -q "$part" "$report" || { echo "check_report: no $part"; exit 1; }
  done
fi

size=$(wc -c <"$report")
failures=0
fail() {
  echo "check_report: $*"
  failures=$((failures + 1))
}

((size <= 5000000)) || fail "$size bytes, at most 5000000 are wanted"

browse() { # browse OUTPUT FLAGS… URL
  local output=$1
  shift
  timeout 60 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars \
    --user-data-dir="$work/profile" --enable-logging=stderr --v=0 "$@" >"$output" 2>"$work/log"
}

# A copy with a probe that writes what it measured into the document's title. The report's policy
# allows no foreign script, so the copy has none; the untouched report is opened as well.
probe="$work/probe.html"
sed 's|<meta http-equiv="Content-Security-Policy"[^>]*>||' "$report" >"$probe"
cat >>"$probe" <<'PROBE'
<script>addEventListener("load", () => {
  const wrong = [];
  const need = (selector, what) => {
    if (!document.querySelector(selector)) wrong.push("no " + what);
  };
  need("h1", "title"); need("section.model", "model"); need("svg.chart circle.dot", "dot");
  need("svg.chart .roof", "roof"); need("table.kernels tbody", "kernel table");
  need("table.sortable thead button", "sorting"); need("details", "details");
  need("svg.graph .edge-arc", "graph"); need("table.heat td.own", "tile map");
  for (const box of document.querySelectorAll(".scroll"))
    if (box.scrollWidth > box.clientWidth + 1)
      wrong.push(`${box.getAttribute("aria-label") || "table"} is ${box.scrollWidth} wide in ` +
                 box.clientWidth);
  for (const svg of document.querySelectorAll("svg.chart")) {
    const frame = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (box.left < frame.left - 1 || box.right > frame.right + 1 ||
          box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        wrong.push(`label "${text.textContent}" is cut off`);
    }
  }
  const first = () => document.querySelector("table.kernels tbody tr.main td").textContent;
  const number = document.querySelector("table.kernels thead button");
  if (number) {
    number.click();
    if (first() !== "1") wrong.push("sorting by number does not sort");
  }
  document.title = wrong.length ? "WRONG: " + wrong.join("; ") : "ALL IS WELL";
})</script>
PROBE

url="file://$(realpath "$report")"
for scheme in light dark; do
  flags=(--window-size=1400,1800)
  [[ $scheme == dark ]] && flags+=(--blink-settings=preferredColorScheme=0)
  browse "$work/dom" "${flags[@]}" --screenshot="$work/$scheme.png" "$url" ||
    fail "$scheme: the browser failed"
  grep -F 'CONSOLE' "$work/log" && fail "$scheme: messages on the console"
  [[ -s $work/$scheme.png ]] || fail "$scheme: no picture"
done
cmp -s "$work/light.png" "$work/dark.png" && fail "light and dark look the same"

browse "$work/dom" --window-size=1400,1800 --dump-dom "file://$probe" || fail "the browser failed"
title=$(grep -m 1 -o '<title>[^<]*' "$work/dom" || true)
title=${title%%$'\n'*} # of the page; charts have titles, too
[[ $title == '<title>ALL IS WELL' ]] || fail "${title#<title>}"

if [[ -n ${KEEP:-} ]]; then
  mkdir -p "$KEEP" && cp "$report" "$work/light.png" "$work/dark.png" "$KEEP"
fi
((failures == 0)) && echo "check_report: fine"
exit $((failures > 0))
