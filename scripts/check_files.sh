#!/usr/bin/env bash
# Checks of the files themselves: no source file over the hard limit, every header guarded, no
# trailing white space. Prints what is wrong and fails; says which files passed the soft limit.
set -euo pipefail
cd "$(dirname "$0")/.."

soft=400 hard=800 bad=0
mapfile -t sources < <(git ls-files '*.h' '*.cpp')
for file in "${sources[@]}"; do
  [[ -f $file ]] || continue
  lines=$(wc -l <"$file")
  if ((lines > hard)); then
    echo "$file: $lines lines, the limit is $hard: split it by idea"
    bad=1
  elif ((lines > soft)); then
    echo "note: $file: $lines lines, over the soft limit of $soft"
  fi
  if [[ $file == *.h ]] && ! grep -q '^#pragma once' "$file"; then
    echo "$file: no #pragma once"
    bad=1
  fi
  if grep -nE '[[:space:]]+$' "$file" | head -3 | sed "s|^|$file: trailing white space at line |" | grep .; then
    bad=1
  fi
done
exit $bad
