#!/usr/bin/env bash
# Kernels for one GPU: right numbers, and how fast they are.
# Makes packs of matrix products (wgmma, mma.sync, split-K), attention, softmax, layer norm and a
# transpose, checks them on the CPU emulator where that is asked for, and hands them to
# tilewright-profile, which checks every result on the GPU and measures.
# Usage: scripts/device_check.sh [--target sm_90a] [--device h100-sxm] [--out FOLDER]
#                                [--pipelines] [--emulate] [--packs-only]
#   --pipelines   also the same plans with the slots, look-ahead and waits that their schedules
#                 choose (docs/pipelines.md), as NAME_pipelined, where those are others
#   --emulate     also runs `tilewright check` (minutes: it samples blocks of each kernel)
#   --packs-only  ends before the GPU is needed; the folder can be carried to a GPU machine, where
#                 this script goes on with the packs that it finds in --out
set -euo pipefail
cd "$(dirname "$0")/.."

target=sm_90a device=h100-sxm out=out/device_check pipelines=no emulate=no packs_only=no
while [ $# -gt 0 ]; do
  case "$1" in
  --target) target=$2; shift ;;
  --device) device=$2; shift ;;
  --out) out=$2; shift ;;
  --pipelines) pipelines=yes ;;
  --emulate) emulate=yes ;;
  --packs-only) packs_only=yes ;;
  *) echo "unknown option $1" >&2; exit 2 ;;
  esac
  shift
done
bin=${TILEWRIGHT_BIN:-build/release/bin}
plans=$out/plans models=$out/models

# --- problems as HLO, plans as JSON --------------------------------------------------------------

# gemm M N K RESULT_TYPE -> HLO; the right operand has K outermost, as weights of a model do
gemm_hlo() {
  cat <<END
HloModule gemm
ENTRY main {
  a = bf16[$1,$3] parameter(0)
  b = bf16[$3,$2] parameter(1)
  ROOT d = bf16[$1,$2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
END
}

reducers='max { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] maximum(a, b) }
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }'

attention_hlo() { # MASK: none or causal
  local scores='f32[32,2048,2048]' masked=scaled mask=''
  if [ "$1" = causal ]; then
    masked=masked
    mask="  row = s32[32,2048,2048] iota(), iota_dimension=1
  column = s32[32,2048,2048] iota(), iota_dimension=2
  seen = pred[32,2048,2048] compare(row, column), direction=GE
  lows = $scores broadcast(low), dimensions={}
  masked = $scores select(seen, scaled, lows)"
  fi
  cat <<END
HloModule attention
$reducers
ENTRY main {
  q = bf16[32,2048,128] parameter(0)
  k = bf16[32,2048,128] parameter(1)
  v = bf16[32,2048,128] parameter(2)
  s = $scores dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  c = f32[] constant(0.08838835)
  cb = $scores broadcast(c), dimensions={}
  scaled = $scores multiply(s, cb)
  low = f32[] constant(-inf)
$mask
  top = f32[32,2048] reduce($masked, low), dimensions={2}, to_apply=max
  tops = $scores broadcast(top), dimensions={0,1}
  below = $scores subtract($masked, tops)
  e = $scores exponential(below)
  zero = f32[] constant(0)
  total = f32[32,2048] reduce(e, zero), dimensions={2}, to_apply=add
  p = bf16[32,2048,2048] convert(e)
  o = f32[32,2048,128] dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  totals = f32[32,2048,128] broadcast(total), dimensions={0,1}
  mean = f32[32,2048,128] divide(o, totals)
  ROOT r = bf16[32,2048,128] convert(mean)
}
END
}

softmax_hlo() {
  cat <<END
HloModule softmax
$reducers
ENTRY main {
  x = bf16[8192,4096] parameter(0)
  f = f32[8192,4096] convert(x)
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  top = f32[8192] reduce(f, low), dimensions={1}, to_apply=max
  tops = f32[8192,4096] broadcast(top), dimensions={0}
  below = f32[8192,4096] subtract(f, tops)
  e = f32[8192,4096] exponential(below)
  total = f32[8192] reduce(e, zero), dimensions={1}, to_apply=add
  totals = f32[8192,4096] broadcast(total), dimensions={0}
  p = f32[8192,4096] divide(e, totals)
  ROOT r = bf16[8192,4096] convert(p)
}
END
}

layer_norm_hlo() {
  cat <<END
HloModule layer_norm
$reducers
ENTRY main {
  x = bf16[8192,4096] parameter(0)
  g = bf16[4096] parameter(1)
  h = bf16[4096] parameter(2)
  f = f32[8192,4096] convert(x)
  zero = f32[] constant(0)
  sum = f32[8192] reduce(f, zero), dimensions={1}, to_apply=add
  n = f32[] constant(0.000244140625)
  nb = f32[8192] broadcast(n), dimensions={}
  mean = f32[8192] multiply(sum, nb)
  means = f32[8192,4096] broadcast(mean), dimensions={0}
  c = f32[8192,4096] subtract(f, means)
  cc = f32[8192,4096] multiply(c, c)
  squares = f32[8192] reduce(cc, zero), dimensions={1}, to_apply=add
  variance = f32[8192] multiply(squares, nb)
  epsilon = f32[] constant(1e-05)
  epsilons = f32[8192] broadcast(epsilon), dimensions={}
  v = f32[8192] add(variance, epsilons)
  scale = f32[8192] rsqrt(v)
  scales = f32[8192,4096] broadcast(scale), dimensions={0}
  y = f32[8192,4096] multiply(c, scales)
  gf = f32[4096] convert(g)
  gb = f32[8192,4096] broadcast(gf), dimensions={1}
  hf = f32[4096] convert(h)
  hb = f32[8192,4096] broadcast(hf), dimensions={1}
  yg = f32[8192,4096] multiply(y, gb)
  z = f32[8192,4096] add(yg, hb)
  ROOT r = bf16[8192,4096] convert(z)
}
END
}

transpose_hlo() {
  cat <<END
HloModule transpose
ENTRY main {
  x = f32[8192,8192] parameter(0)
  ROOT t = f32[8192,8192] transpose(x), dimensions={1,0}
}
END
}

# plan NAME ROOT_TILE OP STEP WARPS STAGES SPLIT_K GROUP_M INSTRUCTION < HLO; OP none: no loop
plan() {
  local hlo loops="{\"op\": \"$3\", \"dim\": 0, \"size\": $4}"
  [ "$3" != none ] || loops=''
  hlo=$(sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/$/\\n/' | tr -d '\n')
  cat > "$plans/$1.json" <<END
{"schema": "tilewright.plan", "schema_version": 1, "name": "$1",
 "plan": {"root_tile": [$2], "sequential": [$loops], "warps": $5,
          "stages": $6, "split_k": $7, "group_m": $8, "instruction": "$9"},
 "hlo": "$hlo"}
END
}

make_plans() {
  mkdir -p "$plans" "$models"
  local m n k size
  for size in 4096x4096x4096 4096x6144x4096 1024x4096x4096; do
    IFS=x read -r m n k <<< "$size"
    if [ "$target" = sm_90a ]; then
      gemm_hlo "$m" "$n" "$k" | plan "gemm_${size}_wgmma_128x256" 128,256 d 64 8 4 1 8 wgmma
      gemm_hlo "$m" "$n" "$k" | plan "gemm_${size}_wgmma_128x192" 128,192 d 64 8 4 1 8 wgmma
      gemm_hlo "$m" "$n" "$k" | plan "gemm_${size}_wgmma_128x128" 128,128 d 64 8 4 1 8 wgmma
      gemm_hlo "$m" "$n" "$k" | plan "gemm_${size}_wgmma_128x128_split" 128,128 d 64 8 4 2 8 wgmma
    fi
    gemm_hlo "$m" "$n" "$k" | plan "gemm_${size}_mma_128x128" 128,128 d 32 8 4 1 8 mma.sync
    gemm_hlo "$m" "$n" "$k" | plan "gemm_${size}_mma_128x128_w4" 128,128 d 64 4 3 1 8 mma.sync
    gemm_hlo "$m" "$n" "$k" | plan "gemm_${size}_mma_128x256" 128,256 d 32 8 3 1 8 mma.sync
  done
  if [ "$target" = sm_90a ]; then
    gemm_hlo 16 4096 4096 | plan gemm_16x4096x4096_wgmma_split 16,64 d 128 4 6 4 1 wgmma
    gemm_hlo 16 4096 4096 | plan gemm_16x4096x4096_wgmma 16,32 d 128 4 8 1 1 wgmma
  fi
  gemm_hlo 16 4096 4096 | plan gemm_16x4096x4096_mma_split 16,64 d 128 4 5 4 1 mma.sync
  gemm_hlo 16 4096 4096 | plan gemm_16x4096x4096_mma 16,32 d 128 4 5 1 1 mma.sync
  local mask
  for mask in none causal; do
    if [ "$target" = sm_90a ]; then
      attention_hlo $mask | plan "attention_${mask}_wgmma_128x128" 1,128,128 o 128 8 2 1 1 wgmma
      attention_hlo $mask | plan "attention_${mask}_wgmma_128x160" 1,128,128 o 160 8 2 1 1 wgmma
      attention_hlo $mask | plan "attention_${mask}_wgmma_192x64" 1,192,128 o 64 12 3 1 1 wgmma
    fi
    attention_hlo $mask | plan "attention_${mask}_128x64" 1,128,128 o 64 8 2 1 1 mma.sync
    attention_hlo $mask | plan "attention_${mask}_64x64" 1,64,128 o 64 4 2 1 1 mma.sync
    attention_hlo $mask | plan "attention_${mask}_128x32" 1,128,128 o 32 8 3 1 1 mma.sync
  done
  # Those limited by memory: the search's choice beside what was fastest on an H100.
  softmax_hlo | plan softmax_2_rows 2,4096 total 4096 4 1 1 1 fma
  layer_norm_hlo | plan layer_norm_1_row 1,4096 squares 4096 8 1 1 1 fma
  transpose_hlo | plan transpose_64x64 64,64 none 0 4 1 1 1 fma
  softmax_hlo > "$models/softmax.hlo.txt"
  layer_norm_hlo > "$models/layer_norm.hlo.txt"
  transpose_hlo > "$models/transpose.hlo.txt"
  for m in softmax layer_norm transpose; do
    "$bin/tilewright" explore "$models/$m.hlo.txt" --device "$device" --out "$out/explored/$m" \
      > /dev/null
    for k in "$out/explored/$m"/plans/*/*.json; do
      sed "0,/\"name\": \"/s//\"name\": \"${m}_/" "$k" > "$plans/${m}_$(basename "$k")"
    done
  done
}

# Of a plan that keeps its settings emit says "the same plan as".
make_pipelined_plans() {
  local plan pipelined
  for plan in "$plans"/*.json; do
    pipelined=${plan%.json}_pipelined.json
    # Exit code 1: no loop copies.
    "$bin/tilewright" program "$plan" --pipeline --device "$device" --out "$pipelined" > /dev/null ||
      continue
    sed -i '0,/"name": "\([^"]*\)"/s//"name": "\1_pipelined"/' "$pipelined"
  done
}

# --- packs, numbers, times -----------------------------------------------------------------------

if [ ! -f "$out/pack/manifest.json" ]; then
  rm -rf "$plans" "$models" "$out/explored"
  make_plans
  [ $pipelines = no ] || make_pipelined_plans
  # Exit code 1 says that some plan has no code for the target; the list says which and why.
  "$bin/tilewright" emit "$plans"/*.json --target "$target" --out "$out/pack" || [ $? -eq 1 ]
fi
if [ $emulate = yes ]; then
  "$bin/tilewright" check "$out/pack"
fi
if [ $packs_only = yes ]; then
  echo "packs are in $out/pack"
  exit 0
fi
"$bin/tilewright-profile" "$out/pack" --out "$out/measured.csv"
echo "measurements are in $out/measured.csv"
