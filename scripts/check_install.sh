#!/usr/bin/env bash
# Installs a build into a temporary prefix, then builds and runs projects that only know the
# installed package. Usage: scripts/check_install.sh [BUILD_FOLDER] [--quick]    default: build/release
#   --quick: the program and the C interface alone, not the C++ libraries
# The build must be finished; nothing outside the temporary folder is written but what is installed
# and not built yet.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/release quick=0
for argument; do
  case $argument in
    --quick) quick=1 ;;
    *) build=$argument ;;
  esac
done
if [[ ! -x $build/bin/tilewright ]]; then
  echo "check_install: there is no finished build in $build; see scripts/build.sh"
  exit 1
fi
work=$(mktemp -d)
export TILEWRIGHT_CACHE=$work/cache
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

# Nor may an installed header need one that was left behind.
if (cd "$prefix/include/tilewright" &&
  grep -rohE '^#include "[a-z_]+/[^"]+"' . | sort -u | cut -d '"' -f 2 |
    while read -r header; do [[ -e $header || ! -d ${header%%/*} ]] || echo "$header"; done | grep .); then
  echo "check_install: the headers above are included by installed ones and are not installed"
  exit 1
fi

# The example of docs/c_api.md, word for word.
block() { awk -v fence="\`\`\`$1" '$0 == fence { on = 1; next } /^```/ { on = 0 } on' docs/c_api.md; }
mkdir "$work/example"
block c >"$work/example/example.c"
block cmake >"$work/example/CMakeLists.txt"
cmake -S "$work/example" -B "$work/example/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/configure.log" 2>&1 &&
  cmake --build "$work/example/build" >>"$work/configure.log" 2>&1 || {
  tail -n 20 "$work/configure.log"
  exit 1
}
model=$PWD/tests/cases/11-eight-by-three-rows.hlo.txt
data=$PWD/datasets
# From here on away from the source folder: only installed files can be found.
(
  cd "$work"
  said=$("$work/example/build/example")
  [[ $said == *"it does not fit:"*" of at most "*"predicted: "*" us"* ]] || {
    echo "check_install: the example of docs/c_api.md says: $said"
    exit 1
  }
  # The installed program finds its devices, calibrations and templates, and those of a variable.
  "$prefix/bin/tilewright" explore "$model" --device h100-sxm --budget 20 --out "$work/out"
  "$prefix/bin/tilewright" report "$work/out" --out "$work/report.html"
  [[ -s $work/report.html ]]
  "$prefix/bin/tilewright" suggest copy1d n=4096 dtype=f32 --device l4 --top 1
  mkdir -p "$work/other/devices"
  sed 's/"l4"/"other"/' "$data/devices/l4.json" >"$work/other/devices/other.json"
  TILEWRIGHT_DATA=$work/other "$prefix/bin/tilewright" devices other >/dev/null
  gzip -dc "$prefix/share/man/man1/tilewright.1.gz" | grep -q 'tilewright suggest'
  [[ -s $prefix/share/tilewright/schemas/explore.schema.json ]]
)
if ((quick)); then
  echo "check_install: fine"
  exit 0
fi

(cd "$prefix/include/tilewright" && find . -name '*.h' | sort) |
  sed 's|^./\(.*\)|#include "\1"|' >"$work/all_headers.cpp"
cmake -S tests/install -B "$work/consumer" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_BUILD_TYPE=Release -DALL_HEADERS="$work/all_headers.cpp" >"$work/configure.log" 2>&1 || {
  tail -n 20 "$work/configure.log"
  exit 1
}
cmake --build "$work/consumer"

cd "$work"
"$work/consumer/consumer" "$model" h100 # found in the prefix
"$work/consumer/small_consumer" "$model"
echo "check_install: fine"
