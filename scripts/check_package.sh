#!/usr/bin/env bash
# Tries the packages of scripts/package.sh out where nothing else is: the .deb and the wheel in an
# empty Debian of their own each, the wheel in an empty virtual environment as well.
# Usage: scripts/check_package.sh [deb] [wheel]   (needs root and the network; minutes)
# $DEBIAN_MIRROR names a mirror other than debootstrap's own.
set -euo pipefail
cd "$(dirname "$0")/.."

((EUID == 0)) || { echo "error: an empty Debian is made as root" >&2; exit 2; }
kinds=("$@")
((${#kinds[@]} > 0)) || kinds=(deb wheel)
shopt -s nullglob # none of a kind is said where it is needed
debs=(build/packages/*.deb) wheels=(build/packages/*.whl)
deb=${debs[0]:-} wheel=${wheels[0]:-}
scripts/bootstrap.sh --package
suite=bookworm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A root of the suite, kept from the first time on.
base=build/packages/$suite.tar
if [[ ! -s $base ]]; then
  echo "making an empty Debian ($suite)"
  debootstrap --variant=minbase "$suite" "$work/base" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$work/debootstrap.log" || {
    tail -5 "$work/debootstrap.log"
    exit 1
  }
  # Updates and security, where newer LLVMs are, stand beside what debootstrap took.
  mirror=$(awk '$1 == "deb" { print $2; exit }' "$work/base/etc/apt/sources.list")
  cat >"$work/base/etc/apt/sources.list" <<SOURCES
deb $mirror $suite main
deb $mirror $suite-updates main
deb ${mirror%/}-security $suite-security main
SOURCES
  cp -L /etc/resolv.conf "$work/base/etc/resolv.conf"
  tar -C "$work/base" -cf "$base.part" . && mv "$base.part" "$base"
  rm -rf "$work/base"
fi

# Runs a script in a fresh copy of it, where /packages holds these files and /repository what of
# this folder is read.
in_empty_debian() {
  local root=$work/root
  rm -rf "$root" && mkdir "$root"
  tar -C "$root" -xf "$base"
  mkdir "$root/packages" "$root/repository"
  cp "$@" "$root/packages/"
  cp -r docs "$root/repository/"
  cat >"$root/try.sh"
  unshare --mount --pid --fork bash -c '
    mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount --make-rslave "$1/dev"
    exec chroot "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
      DEBIAN_FRONTEND=noninteractive bash -euo pipefail /try.sh' _ "$root"
}

check_deb() {
  [[ -n $deb ]] || { echo "error: no .deb in build/packages; see scripts/package.sh" >&2; exit 2; }
  in_empty_debian "$deb" <<'TRY'
apt-get update -qq
started=$SECONDS
apt-get install -y -qq --no-install-recommends /packages/*.deb >/dev/null 2>&1
echo "installed in $((SECONDS - started)) s"
cd /tmp
tilewright --version
tilewright suggest gemm m=4096 n=4096 k=4096 dtype=bf16 --device h100 --top 2
tilewright explore /usr/share/tilewright/models/gpt2_block.hlo.txt --device h100 --budget 100 --out out >/dev/null
tilewright emit out/plans/000/k00*.json --target sm_90a --out pack
tilewright check pack
tilewright-profile --help >/dev/null
test -s /usr/share/man/man1/tilewright.1.gz -a -s /usr/share/doc/tilewright/copyright
bash -c '. /usr/share/bash-completion/completions/tilewright; COMP_WORDS=(tilewright sug) COMP_CWORD=1; _tilewright 2>/dev/null; [[ $COMPREPLY == suggest ]]'
# The C interface needs a compiler and nothing else.
apt-get install -y -qq --no-install-recommends gcc libc6-dev >/dev/null 2>&1
awk -v fence='```c' '$0 == fence { on = 1; next } /^```/ { on = 0 } on' /repository/docs/c_api.md >example.c
cc -Wall -Wextra -Werror -std=c99 example.c -ltilewright -o example
./example
apt-get remove -y -qq tilewright >/dev/null 2>&1
[[ ! -e /usr/bin/tilewright ]]
TRY
  echo "check_package: the .deb is fine"
}

check_wheel() {
  [[ -n $wheel ]] || { echo "error: no wheel in build/packages; see scripts/package.sh" >&2; exit 2; }
  build/python-environment/bin/python3 -m mypy --strict tools/python/tilewright
  echo "in an empty virtual environment"
  /usr/bin/python3 -m venv "$work/venv"
  (
    wheel=$(realpath "$wheel") tests=$PWD/tools/python/tests root=$PWD started=$SECONDS
    cd "$work"
    venv/bin/pip install -q --disable-pip-version-check "$wheel"
    venv/bin/tilewright --version
    venv/bin/python -c "import tilewright; print(tilewright.__version__, tilewright.__file__)"
    seconds=$((SECONDS - started))
    echo "installed and imported in $seconds s"
    ((seconds < 60))
    venv/bin/tilewright suggest gemm m=4096 n=4096 k=4096 dtype=bf16 --device h100 --top 2
    cd "$root"
    PYTHONDONTWRITEBYTECODE=1 "$work/venv/bin/python" -m unittest discover -s "$tests" -p '*_test.py'
  )
  echo "in an empty Debian"
  mkdir "$work/needed"
  build/python-environment/bin/python3 -m pip download -q --disable-pip-version-check -d "$work/needed" "$wheel"
  in_empty_debian "$work"/needed/* <<'TRY'
apt-get update -qq
apt-get install -y -qq --no-install-recommends python3-venv >/dev/null 2>&1
cd /tmp
python3 -m venv venv
started=$SECONDS
venv/bin/pip install -q --disable-pip-version-check --no-index --find-links /packages tilewright
venv/bin/tilewright --version
venv/bin/python -c "import tilewright"
echo "installed and imported in $((SECONDS - started)) s"
venv/bin/tilewright suggest gemm m=4096 n=4096 k=4096 dtype=bf16 --device h100 --top 2
venv/bin/python - <<'PYTHON'
import tilewright
kernel = tilewright.family("softmax2d", m=1024, n=512, dtype="f32").kernel("a100")
assert ".entry" in kernel.emit(kernel.search(top=1)[0], "sm_80")
assert not kernel.feasible(t0=1024, t1=512, warps=1)
PYTHON
TRY
  echo "check_package: the wheel is fine"
}

for kind in "${kinds[@]}"; do
  case $kind in
    deb) check_deb ;;
    wheel) check_wheel ;;
    *) echo "error: no package '$kind'; there are deb, wheel" >&2; exit 2 ;;
  esac
done
