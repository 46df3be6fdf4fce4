#!/usr/bin/env bash
# Makes packages of a release build, in build/packages: a .deb, and a Python wheel that brings the
# program, its data and all libraries that it links.
# Usage: scripts/package.sh [deb] [wheel]     default: both. scripts/check_package.sh tries them out
set -euo pipefail
cd "$(dirname "$0")/.."

kinds=("$@")
((${#kinds[@]} > 0)) || kinds=(deb wheel)
scripts/bootstrap.sh --package
python=build/python-environment/bin
mkdir -p build/packages

make_deb() {
  scripts/build.sh release installed
  rm -f build/packages/*.deb
  (cd build/release && cpack -G DEB -B "$PWD/../packages" >/dev/null)
  rm -rf build/packages/_CPack_Packages
}

make_wheel() {
  scripts/build.sh release tilewright tilewright_python
  rm -rf build/packages/*.whl build/packages/raw
  # The build folder as it is: what is compiled already is not compiled again.
  local prefix
  prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' build/release/CMakeCache.txt)
  "$python/python3" -m build --wheel --no-isolation -o build/packages/raw -Cbuild-dir=build/release . >/dev/null
  # Libraries move into the wheel; the tag says the oldest glibc that has what they need.
  PATH="$PWD/$python:$PATH" "$python/auditwheel" repair --strip -w build/packages build/packages/raw/*.whl
  rm -rf build/packages/raw
  # What the build of a wheel leaves in the cache goes.
  cmake --preset release "-DCMAKE_INSTALL_PREFIX=$prefix" -U 'SKBUILD*' -U CMAKE_MODULE_PATH >/dev/null 2>&1
}

for kind in "${kinds[@]}"; do
  case $kind in
    deb) make_deb ;;
    wheel) make_wheel ;;
    *) echo "error: no package '$kind'; there are deb, wheel" >&2; exit 2 ;;
  esac
done
ls -sh build/packages
