#!/usr/bin/env bash
# Installs the Debian packages that Tilewright builds on, if any is missing. Debian 12 or newer.
# Usage: scripts/bootstrap.sh [--develop]     (asks for sudo when not root)
#   --develop: also what a change is checked with
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
  libsqlite3-dev                        # index of measurements
  libcli11-dev libfmt-dev nlohmann-json3-dev
  libgtest-dev libbenchmark-dev
)
case ${1:-} in
"") ;;
--develop) packages+=(clang-format-14) ;;
*)
  echo "usage: scripts/bootstrap.sh [--develop]" >&2
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
[[ ${#missing[@]} -gt 0 ]] || exit 0

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
