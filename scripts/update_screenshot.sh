#!/usr/bin/env bash
# Takes docs/report.png anew: the report that scripts/quickstart.sh leaves, in a headless Chromium.
# Usage: scripts/update_screenshot.sh        after scripts/quickstart.sh
set -euo pipefail
cd "$(dirname "$0")/.."
report=out/quickstart/report.html
[[ -e $report ]] || { echo "$report is not there; run scripts/quickstart.sh first" >&2; exit 2; }
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
timeout 60 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars \
  --user-data-dir="$work/profile" --window-size=1400,2560 --screenshot="$work/report.png" \
  "file://$(realpath "$report")" 2>/dev/null
[[ -s $work/report.png ]] || { echo "the browser took no picture" >&2; exit 1; }
cp "$work/report.png" docs/report.png
chmod 644 docs/report.png
