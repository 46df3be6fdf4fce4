#!/usr/bin/env bash
# Installs a build into a temporary prefix, then builds and runs a project that only knows the
# installed package. Usage: scripts/check_install.sh [BUILD_FOLDER]    default: build/release
# The build must be finished; nothing outside the temporary folder is written.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:-build/release}
if [[ ! -x $build/bin/tilewright ]]; then
  echo "check_install: there is no finished build in $build; see scripts/build.sh"
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

cmake --install "$build" --prefix "$prefix" >"$work/install.log" || {
  tail -n 5 "$work/install.log"
  exit 1
}

# Nothing installed may point back into the source or the build.
if grep -rlF -e "$PWD/" "$prefix/lib"*/cmake "$prefix/include"; then
  echo "check_install: the files above name the source folder"
  exit 1
fi

(cd "$prefix/include/tilewright" && find . -name '*.h' | sort) |
  sed 's|^./\(.*\)|#include "\1"|' >"$work/all_headers.cpp"
cmake -S tests/install -B "$work/consumer" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_BUILD_TYPE=Release -DALL_HEADERS="$work/all_headers.cpp" >"$work/configure.log" 2>&1 || {
  tail -n 20 "$work/configure.log"
  exit 1
}
cmake --build "$work/consumer"

model=$PWD/tests/cases/11-eight-by-three-rows.hlo.txt
cd "$work" # away from the source folder: only installed files can be found now
"$work/consumer/consumer" "$model" "$prefix/share/tilewright/devices/h100-sxm.json"
"$work/consumer/small_consumer" "$model"

# The installed program finds its devices, calibrations and templates.
"$prefix/bin/tilewright" explore "$model" --device h100-sxm --budget 20 --out "$work/out"
"$prefix/bin/tilewright" report "$work/out" --out "$work/report.html"
[[ -s $work/report.html ]]
echo "check_install: fine"
