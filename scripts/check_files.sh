#!/usr/bin/env bash
# Checks of the files themselves: no source file over the hard limit, every header guarded, no
# trailing white space, no two types of one name in one namespace (the linker would silently take
# either). Prints what is wrong and fails; says which files passed the soft limit.
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
# Types outside anonymous namespaces, as "namespace::Name file".
twice=$(awk '
  FNR == 1 { depth = 0 }
  /^(inline )?namespace.*\{$/ { name = $0; sub(/^(inline )?namespace */, "", name)
                               sub(/ *\{$/, "", name); stack[++depth] = name ? name : "-"; next }
  /^\} \/\/ namespace/ { if (depth) --depth; next }
  /^(struct|class|enum class|union) [A-Za-z0-9_]+/ && !/;$/ {
    for (i = 1; i <= depth; ++i) if (stack[i] == "-") next
    name = $0; sub(/^(struct|class|enum class|union) /, "", name)
    if (name ~ /^[A-Za-z0-9_]+::/) next
    match(name, /^[A-Za-z0-9_]+/); name = substr(name, 1, RLENGTH)
    scope = ""; for (i = 1; i <= depth; ++i) scope = scope stack[i] "::"
    print scope name, FILENAME
  }' "${sources[@]}" | sort -u | awk '{ files[$1] = files[$1] " " $2; ++count[$1] }
  END { for (name in count) if (count[name] > 1) print name " is defined in" files[name] }' | sort)
if [[ -n $twice ]]; then
  echo "$twice"
  bad=1
fi
exit $bad
