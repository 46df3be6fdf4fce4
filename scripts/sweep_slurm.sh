#!/usr/bin/env bash
# Explores models on devices as an array of Slurm jobs, one a shard, and merges them when all are done.
# The result is that of one `tilewright explore`, byte for byte.
#
#   scripts/sweep_slurm.sh SHARDS OUT MODEL... [OPTION...]     arguments as of tilewright explore
#   scripts/sweep_slurm.sh 64 sweep models/*.hlo.txt --device h100,b200
#
# OUT has to be on a file system that all nodes share; its folders shard-N hold the parts, its folder
# `all` the result. A job that is preempted or killed is queued again and goes on where it was. Called
# again, only shards that are missing are done. $SBATCH_OPTIONS has options of sbatch, $TILEWRIGHT
# the program.
set -euo pipefail

shards=${1:?"usage: scripts/sweep_slurm.sh SHARDS OUT MODEL... [OPTION...]"} out=${2:?OUT is missing}
shift 2
program=${TILEWRIGHT:-tilewright}
if ! [[ $shards =~ ^[1-9][0-9]{0,4}$ ]] || (($# == 0)); then
  echo "error: SHARDS is 1 to 99999, and a model is needed" >&2
  exit 2
fi
mkdir -p "$out/logs"
out=$(realpath "$out")

# As words that a shell reads back.
command=$(printf '%q ' "$program" explore "$@" --quiet --resume)
cat >"$out/shard.sh" <<EOF
#!/bin/bash
folder=$(printf %q "$out")/shard-\$SLURM_ARRAY_TASK_ID
[[ ! -e \$folder/shard.json ]] || exit 0
$command --out "\$folder" --shard "\$SLURM_ARRAY_TASK_ID/$shards" & job=\$!
trap 'kill -TERM \$job' TERM # Slurm's notice: finish the kernel
code=0
wait \$job || code=\$?
((code != 143)) || { wait \$job || code=\$?; }
# Models that failed are part of the result.
[[ -e \$folder/shard.json ]] && exit 0
[[ \$code -ne 130 || -z \${SLURM_JOB_ID:-} ]] || scontrol requeue "\$SLURM_JOB_ID"
exit \$code
EOF
cat >"$out/merge.sh" <<EOF
#!/bin/bash
exec $(printf %q "$program") merge $(printf %q "$out")/shard-*/ --out $(printf %q "$out")/all
EOF
chmod +x "$out"/shard.sh "$out"/merge.sh

# shellcheck disable=SC2086 # options are words
array=$(sbatch --parsable --array="1-$shards" --requeue --cpus-per-task=1 --signal=B:TERM@120 \
  --output="$out/logs/%a.log" --job-name=tilewright ${SBATCH_OPTIONS:-} "$out/shard.sh")
# shellcheck disable=SC2086
sbatch --dependency="afterok:${array%%;*}" --cpus-per-task=1 --output="$out/logs/merge.log" \
  --job-name=tilewright-merge ${SBATCH_OPTIONS:-} "$out/merge.sh"
