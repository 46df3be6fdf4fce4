#!/usr/bin/env bash
# Sweeps by Ray and Slurm give the bytes of one run. Ray runs four workers, of which one is killed in the
# middle of its shard; Slurm is a stand-in that runs jobs one after another, and ends one early.
# Usage: sweep_engines.sh BUILD_FOLDER ray|slurm     exit code 77: skipped, with the reason
set -euo pipefail
cd "$(dirname "$0")/../.."

build=$1 engine=$2 program=$(realpath "$1/bin/tilewright")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TILEWRIGHT_CACHE=off RAY_USAGE_STATS_ENABLED=0

models=()
for i in 1 2 3 4 5 6; do
  models+=("$work/m$i.hlo.txt")
  cat >"$work/m$i.hlo.txt" <<EOF
HloModule m$i
ENTRY e {
  x = f32[$((64 * i)),256] parameter(0)
  w = f32[256,256] parameter(1)
  d = f32[$((64 * i)),256] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT y = f32[$((64 * i)),256] exponential(d)
}
EOF
done
echo "HloModule broken" >"$work/broken.hlo.txt"
asked=("${models[@]}" "$work/broken.hlo.txt" --device h100,l4 --budget 50)
"$program" explore "${asked[@]}" --out "$work/one" >/dev/null 2>&1 || [[ $? -eq 2 ]]

case $engine in
ray)
  python=
  for each in "${TILEWRIGHT_PYTHON:-}" "$build/python-environment/bin/python3" build/python-environment/bin/python3 python3; do
    if [[ -n $each ]] && "$each" -c 'import ray' 2>/dev/null; then
      python=$each
      break
    fi
  done
  if [[ -z $python ]]; then
    echo "skipped: no Python with Ray (pip install ray; TILEWRIGHT_PYTHON names one)"
    exit 77
  fi
  # The second shard kills the worker that runs it, once, after its first result.
  cat >"$work/tilewright" <<EOF
#!/bin/bash
if [[ " \$* " == *" --shard 2/8 "* && ! -e $work/killed ]]; then
  touch "$work/killed"
  "$program" "\$@" &
  until [[ -e $work/sweep/shard-00002/models ]]; do sleep 0.01; done
  kill -9 \$PPID
  sleep 5
fi
exec "$program" "\$@"
EOF
  chmod +x "$work/tilewright"
  code=0
  "$python" scripts/sweep_ray.py --shards 8 --cpus 4 --out "$work/sweep" --tilewright "$work/tilewright" -- \
    "${asked[@]}" >"$work/log" 2>&1 || code=$?
  [[ -e $work/killed ]] || { echo "no worker was killed"; exit 1; }
  ;;
slurm)
  # The stand-in: arguments as sbatch has them; runs the array's jobs at once.
  mkdir "$work/bin"
  cat >"$work/bin/sbatch" <<EOF
#!/bin/bash
script=\${!#}
for word; do [[ \$word != --array=1-* ]] || last=\${word#--array=1-}; done
if [[ -z \${last:-} ]]; then exec "\$script"; fi
for ((i = 1; i <= last; ++i)); do
  if ((i == 2)); then # preempted, then queued again
    SLURM_ARRAY_TASK_ID=\$i timeout --preserve-status -s TERM 0.05 "\$script" >/dev/null 2>&1
  fi
  SLURM_ARRAY_TASK_ID=\$i "\$script" >/dev/null 2>&1 || exit 1
done
echo 17
EOF
  chmod +x "$work/bin/sbatch"
  code=0
  PATH=$work/bin:$PATH TILEWRIGHT=$program scripts/sweep_slurm.sh 5 "$work/sweep" "${asked[@]}" >"$work/log" 2>&1 || code=$?
  ;;
esac
# The broken model is part of the result.
[[ $code -eq 2 ]] || { echo "exit code $code"; cat "$work/log"; exit 1; }
diff -r "$work/one" "$work/sweep/all" || { cat "$work/log"; exit 1; }
echo "the same bytes as one run"
