#!/usr/bin/env bash
# Formats every source with the one version of clang-format that the project is formatted with:
# other versions break lines elsewhere.
# Usage: scripts/format.sh [--check]      --check changes nothing and fails where something would
set -euo pipefail
cd "$(dirname "$0")/.."

version=14
formatter=
for candidate in clang-format-$version clang-format; do
  if command -v "$candidate" >/dev/null && [[ $("$candidate" --version) == *" version $version."* ]]; then
    formatter=$candidate
    break
  fi
done
if [[ -z $formatter ]]; then
  echo "error: no clang-format $version: scripts/bootstrap.sh --develop installs it" >&2
  exit 2
fi

mode=(-i)
case ${1:-} in
"") ;;
--check) mode=(--dry-run -Werror) ;;
*)
  echo "usage: scripts/format.sh [--check]" >&2
  exit 2
  ;;
esac
mapfile -t sources < <(git ls-files '*.h' '*.cpp')
"$formatter" "${mode[@]}" "${sources[@]}"
