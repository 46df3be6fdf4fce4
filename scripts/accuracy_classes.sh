#!/usr/bin/env bash
# Prints a Markdown table of the kinds of kernels that were priced worst, with shapes left out.
# Usage: scripts/accuracy_classes.sh [BUILD_FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
tilewright=${1:-build/release}/bin/tilewright
folder=datasets/measurements/h100-sxm
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$tilewright" evaluate "$folder"/{gemm,gemm_variants,memory,attention}.csv.gz --left-out --rows \
  --json >"$scratch/rows.json"
"$tilewright" evaluate "$folder/tilewright-2/models.csv.gz" --rows --json >"$scratch/own.json"

# Bias, mean error and top-1 of each class. What a row is follows from its family and the numbers of
# its group, whether a product has a transcendental function in its epilogue from its ops.
awk -v problems="$folder/tilewright-2/models.csv.problems.json" '
  function text(line) { sub(/^[^:]*: "?/, "", line); sub(/"?,?$/, "", line); return line }
  function add(class) {
    ++rows[class]; bias[class] += p / t - 1; error[class] += p > t ? p / t - 1 : 1 - p / t
    key = class SUBSEP group
    if (!(key in best) || t < best[key]) best[key] = t
    if (!(key in fastest) || p < fastest[key]) { fastest[key] = p; taken[key] = t }
  }
  function classify(   n, d, width) {
    if (FILENAME ~ /own.json$/) {
      key = group; sub(/ warm$/, "", key)
      if (family ~ /^dot\// && key in transcendental) add("f")
      return
    }
    n = split(group, d, "|")
    width = family ~ /f32/ ? 4 : family ~ /e4m3/ ? 1 : 2
    if (t < 3000) add("a")
    if (family ~ /^softmax2d/ && d[n] >= 4096) add("b")
    if (family == "colreduce/f32") add("c")
    if (family ~ /gemm/ && d[n] <= 160) add("d")
    if (family !~ /^(copy1d|ew1d|attn)/ &&
        (d[n] * width % 128 || (family ~ /gemm/ && d[n - 1] * width % 128))) add("e")
    if (split_k > 1) add("g")
  }
  BEGIN {
    RS = "\"hash\": \"" # one record a problem, which is all on one line
    while ((getline line < problems) > 0)
      if (line ~ /(tanh|erf|exponential|logistic)\(/)
        transcendental[substr(line, 1, index(line, "\"") - 1)] = 1
    RS = "\n"
  }
  /^  {/ { split_k = 1 }
  /"family":/ { family = text($0) }
  /"group":/ { group = text($0) }
  /"measured_ns":/ { t = text($0) + 0 }
  /"predicted_ns":/ { p = text($0) + 0 }
  /"split_k":/ { split_k = text($0) + 0 }
  /^  }/ && t > 0 { classify(); t = 0 }
  END {
    for (key in best) {
      split(key, part, SUBSEP)
      logs[part[1]] += log(best[key] / taken[key]); ++groups[part[1]]
    }
    for (class in rows)
      printf "%s|%d|%d|%.1f|%+.1f|%.1f\n", class, rows[class], groups[class],
             100 * error[class] / rows[class], 100 * bias[class] / rows[class],
             100 * exp(logs[class] / groups[class])
  }' "$scratch/rows.json" "$scratch/own.json" >"$scratch/classes"

# By the calibration before: letter, MAPE, bias, top-1, name.
while IFS='|' read -r letter mape bias top1 name; do
  IFS='|' read -r _ rows groups newMape newBias newTop1 < <(grep "^$letter|" "$scratch/classes")
  printf '| %s | %s | %s | %s → %s | %s → %s | %s → %s |\n' "$name" "$rows" "$groups" \
    "$bias" "$newBias" "$mape" "$newMape" "$top1" "$newTop1"
done > "$scratch/table" <<'TEXT'
a|8.5|+6.8|96.1|launches under 3 us
b|7.7|-6.1|97.8|softmax, rows of 4096 and more
c|21.5|+12.7|86.6|column sums of f32
d|9.4|+1.2|95.9|GEMM, K up to 160
e|8.2|-4.1|96.6|rows that do not start at multiples of 128 bytes
f|37.7|-0.8|100.0|products with a transcendental epilogue (own code)
g|7.3|-2.1|97.3|split-K
TEXT
echo '| class | rows | groups | bias % | MAPE % | top-1 % |'
echo '|---|---:|---:|---:|---:|---:|'
cat "$scratch/table"
