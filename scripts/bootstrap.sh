#!/usr/bin/env bash
# Installs the Debian packages that Tilewright builds on, if any is missing. Debian 12 or newer.
# Usage: scripts/bootstrap.sh            (asks for sudo when not root)
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache
  llvm-19-dev libzstd-dev zlib1g-dev    # IR, ADT, the NVPTX backend, the JIT
  libz3-dev                             # feasibility, cores, proofs
  libisl-dev                            # integer sets
  libboost-dev                          # Boost.Graph
  libeigen3-dev                         # calibration
  libsqlite3-dev                        # index of measurements
  libcli11-dev libfmt-dev nlohmann-json3-dev
  libgtest-dev libbenchmark-dev
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
  [[ $status == "install ok installed" ]] || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

echo "Installing: ${missing[*]}" >&2
sudo=()
if [[ $(id -u) -ne 0 ]]; then
  command -v sudo >/dev/null || { echo "error: run as root, or install sudo" >&2; exit 2; }
  sudo=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
