#!/usr/bin/env bash
# Packs of many problems under many plans, to calibrate and to judge a GPU with: 12 matrix products,
# 6 reductions, 6 elementwise and transposing kernels, 4 attentions, up to 48 plans each, spread
# over the plan space (see explore --samples). Needs ptxas, no GPU.
# Usage: scripts/gpu_problems.sh --out DIR [--target sm_90a] [--device h100-sxm] [--plans 48]
#                                [--jobs 2]
#   DIR/models/NAME.hlo.txt  the problems
#   DIR/explored/NAME        what explore says of each, plans included
#   DIR/packs/NAME           a pack a problem
#   DIR/left_out.txt         plans without code, with the reason
# Then, on the machine with the GPU (under three minutes on an H100):
#   tilewright-profile DIR/packs/* --out measured.csv --samples 12 --budget-ms 20 --time-limit 220
# Packs that are there are kept, so that an interrupted run goes on.
set -euo pipefail
cd "$(dirname "$0")/.."
target=sm_90a device=h100-sxm plans=48 jobs=2 out=''
while (($#)); do
  case $1 in
  --target | --device | --plans | --jobs | --out)
    (($# > 1)) || { echo "$1 needs a value" >&2; exit 2; }
    printf -v "${1#--}" '%s' "$2"
    shift 2
    ;;
  *) sed -n '2,14s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done
[[ $out ]] || { echo "--out is required" >&2; exit 2; }
bin=${TILEWRIGHT_BIN:-build/release/bin}
mkdir -p "$out/models" "$out/explored" "$out/packs"

# --- problems -------------------------------------------------------------------------------------

# gemm M N K TYPE RESULT LAYOUT; LAYOUT nn: the right operand is [K,N], nt: [N,K]
gemm() {
  local right="$3,$2" contracted=0
  [[ $6 = nn ]] || right="$2,$3" contracted=1
  cat <<END
HloModule gemm
ENTRY main {
  a = $4[$1,$3] parameter(0)
  b = $4[$right] parameter(1)
  ROOT d = $5[$1,$2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={$contracted}
}
END
}

batched_gemm() { # BATCH M N K TYPE
  cat <<END
HloModule batched_gemm
ENTRY main {
  a = $5[$1,$2,$4] parameter(0)
  b = $5[$1,$4,$3] parameter(1)
  ROOT d = $5[$1,$2,$3] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
}
END
}

gemm_bias_gelu() { # M N K
  cat <<END
HloModule gemm_bias_gelu
ENTRY main {
  a = bf16[$1,$3] parameter(0)
  b = bf16[$3,$2] parameter(1)
  c = f32[$2] parameter(2)
  d = f32[$1,$2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  cb = f32[$1,$2] broadcast(c), dimensions={1}
  x = f32[$1,$2] add(d, cb)
  k = f32[] constant(1.702)
  kb = f32[$1,$2] broadcast(k), dimensions={}
  kx = f32[$1,$2] multiply(x, kb)
  s = f32[$1,$2] logistic(kx)
  y = f32[$1,$2] multiply(x, s)
  ROOT r = bf16[$1,$2] convert(y)
}
END
}

reducers='max { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] maximum(a, b) }
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }'

sum() { # M N TYPE DIM
  local result=$1
  [[ $4 = 1 ]] || result=$2
  cat <<END
HloModule sum
$reducers
ENTRY main {
  x = $3[$1,$2] parameter(0)
  f = f32[$1,$2] convert(x)
  zero = f32[] constant(0)
  ROOT r = f32[$result] reduce(f, zero), dimensions={$4}, to_apply=add
}
END
}

softmax() { # M N TYPE
  cat <<END
HloModule softmax
$reducers
ENTRY main {
  x = $3[$1,$2] parameter(0)
  f = f32[$1,$2] convert(x)
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  top = f32[$1] reduce(f, low), dimensions={1}, to_apply=max
  tops = f32[$1,$2] broadcast(top), dimensions={0}
  below = f32[$1,$2] subtract(f, tops)
  e = f32[$1,$2] exponential(below)
  total = f32[$1] reduce(e, zero), dimensions={1}, to_apply=add
  totals = f32[$1,$2] broadcast(total), dimensions={0}
  p = f32[$1,$2] divide(e, totals)
  ROOT r = $3[$1,$2] convert(p)
}
END
}

rms_norm() { # M N
  cat <<END
HloModule rms_norm
$reducers
ENTRY main {
  x = bf16[$1,$2] parameter(0)
  g = bf16[$2] parameter(1)
  f = f32[$1,$2] convert(x)
  ff = f32[$1,$2] multiply(f, f)
  zero = f32[] constant(0)
  squares = f32[$1] reduce(ff, zero), dimensions={1}, to_apply=add
  n = f32[] constant($(awk "BEGIN { printf \"%.12g\", 1 / $2 }"))
  nb = f32[$1] broadcast(n), dimensions={}
  mean = f32[$1] multiply(squares, nb)
  epsilon = f32[] constant(1e-05)
  epsilons = f32[$1] broadcast(epsilon), dimensions={}
  v = f32[$1] add(mean, epsilons)
  scale = f32[$1] rsqrt(v)
  scales = f32[$1,$2] broadcast(scale), dimensions={0}
  y = f32[$1,$2] multiply(f, scales)
  gf = f32[$2] convert(g)
  gb = f32[$1,$2] broadcast(gf), dimensions={1}
  z = f32[$1,$2] multiply(y, gb)
  ROOT r = bf16[$1,$2] convert(z)
}
END
}

copy() { # N TYPE
  cat <<END
HloModule copy
ENTRY main {
  x = $2[$1] parameter(0)
  ROOT y = $2[$1] copy(x)
}
END
}

swish_of_sum() { # M N TYPE
  cat <<END
HloModule swish
ENTRY main {
  x = $3[$1,$2] parameter(0)
  y = $3[$1,$2] parameter(1)
  xf = f32[$1,$2] convert(x)
  yf = f32[$1,$2] convert(y)
  v = f32[$1,$2] add(xf, yf)
  l = f32[$1,$2] logistic(v)
  o = f32[$1,$2] multiply(v, l)
  ROOT r = $3[$1,$2] convert(o)
}
END
}

scale_shift() { # M N TYPE
  cat <<END
HloModule scale_shift
ENTRY main {
  x = $3[$1,$2] parameter(0)
  s = $3[$2] parameter(1)
  b = $3[$1] parameter(2)
  sb = $3[$1,$2] broadcast(s), dimensions={1}
  bb = $3[$1,$2] broadcast(b), dimensions={0}
  y = $3[$1,$2] multiply(x, sb)
  ROOT z = $3[$1,$2] add(y, bb)
}
END
}

transpose() { # DIMS PERMUTED PERMUTATION TYPE
  cat <<END
HloModule transpose
ENTRY main {
  x = $4[$1] parameter(0)
  ROOT t = $4[$2] transpose(x), dimensions={$3}
}
END
}

# One fusion: its ops are one kernel, whatever explore would make of them.
attention() { # HEADS QUERIES KEYS DIM TYPE MASK
  local scores="f32[$1,$2,$3]" masked=scaled mask=''
  if [[ $6 = causal ]]; then
    masked=masked
    mask="  row = s32[$1,$2,$3] iota(), iota_dimension=1
  column = s32[$1,$2,$3] iota(), iota_dimension=2
  seen = pred[$1,$2,$3] compare(row, column), direction=GE
  lows = $scores broadcast(low), dimensions={}
  masked = $scores select(seen, scaled, lows)"
  fi
  cat <<END
HloModule attention
$reducers
attention {
  q = $5[$1,$2,$4] parameter(0)
  k = $5[$1,$3,$4] parameter(1)
  v = $5[$1,$3,$4] parameter(2)
  s = $scores dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  c = f32[] constant($(awk "BEGIN { printf \"%.8g\", 1 / sqrt($4) }"))
  cb = $scores broadcast(c), dimensions={}
  scaled = $scores multiply(s, cb)
  low = f32[] constant(-inf)
$mask
  top = f32[$1,$2] reduce($masked, low), dimensions={2}, to_apply=max
  tops = $scores broadcast(top), dimensions={0,1}
  below = $scores subtract($masked, tops)
  e = $scores exponential(below)
  zero = f32[] constant(0)
  total = f32[$1,$2] reduce(e, zero), dimensions={2}, to_apply=add
  p = $5[$1,$2,$3] convert(e)
  o = f32[$1,$2,$4] dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  totals = f32[$1,$2,$4] broadcast(total), dimensions={0,1}
  mean = f32[$1,$2,$4] divide(o, totals)
  ROOT r = $5[$1,$2,$4] convert(mean)
}
ENTRY main {
  q = $5[$1,$2,$4] parameter(0)
  k = $5[$1,$3,$4] parameter(1)
  v = $5[$1,$3,$4] parameter(2)
  ROOT f = $5[$1,$2,$4] fusion(q, k, v), kind=kCustom, calls=attention
}
END
}

problems() { # calls `problem NAME COMMAND…` for each
  problem gemm_bf16_2048x4096x4096 gemm 2048 4096 4096 bf16 bf16 nn
  problem gemm_bf16_4096x4096x1024 gemm 4096 4096 1024 bf16 bf16 nt
  problem gemm_bf16_1024x1024x8192 gemm 1024 1024 8192 bf16 f32 nn
  problem gemm_bf16_16x8192x4096 gemm 16 8192 4096 bf16 bf16 nn
  problem gemm_bf16_128x6144x2048 gemm 128 6144 2048 bf16 bf16 nt
  problem gemm_bf16_8192x1536x256 gemm 8192 1536 256 bf16 bf16 nn
  problem gemm_f16_1536x1536x1536 gemm 1536 1536 1536 f16 f16 nn
  problem gemm_f16_3000x2000x1000 gemm 3000 2000 1000 f16 f32 nn
  problem gemm_tf32_2048x2048x1024 gemm 2048 2048 1024 f32 f32 nt
  problem gemm_e4m3_2048x4096x4096 gemm 2048 4096 4096 f8e4m3fn bf16 nt
  problem gemm_bf16_64x512x512x256 batched_gemm 64 512 512 256 bf16
  problem gemm_bias_gelu_2048x3072x768 gemm_bias_gelu 2048 3072 768

  problem sum_rows_bf16_8192x8192 sum 8192 8192 bf16 1
  problem sum_columns_f32_16384x2048 sum 16384 2048 f32 0
  problem sum_rows_f32_64x1048576 sum 64 1048576 f32 1
  problem softmax_bf16_8192x4096 softmax 8192 4096 bf16
  problem softmax_f32_32768x512 softmax 32768 512 f32
  problem rms_norm_bf16_4096x8192 rms_norm 4096 8192

  problem copy_f32_64m copy 67108864 f32
  problem swish_bf16_8192x8192 swish_of_sum 8192 8192 bf16
  problem scale_shift_f32_16384x1000 scale_shift 16384 1000 f32
  problem transpose_f32_8192x4096 transpose 8192,4096 4096,8192 1,0 f32
  problem transpose_bf16_64x1024x1000 transpose 64,1024,1000 64,1000,1024 0,2,1 bf16
  problem transpose_f16_32x512x16x128 transpose 32,512,16,128 32,16,512,128 0,2,1,3 f16

  problem attention_bf16_32x2048x128 attention 32 2048 2048 128 bf16 none
  problem attention_causal_bf16_32x2048x128 attention 32 2048 2048 128 bf16 causal
  problem attention_f16_96x1024x64 attention 96 1024 1024 64 f16 none
  problem attention_bf16_256x256x512x64 attention 256 256 512 64 bf16 none
}

# --- plans and packs --------------------------------------------------------------------------------

# sample NAME COUNT INSTRUCTION: plan files of that instruction, at most COUNT, added to `files`
sample() {
  local folder=$out/explored/$1.$3 file
  "$bin/tilewright" explore "$out/models/$1.hlo.txt" --device "$device" --instruction "$3" \
    --target "$target" --samples "$2" --top 1 --budget 500 --cache flushed --out "$folder" \
    >"$folder.log"
  for file in "$folder"/samples/000/*.json; do
    [[ -e $file ]] || continue
    # Every sample counts from 0: the instruction makes the names differ.
    sed -i "0,/\"name\": \"[^\"]*_\(p[0-9]*\)\"/s//\"name\": \"$1_${3//./_}_\1\"/" "$file"
    files+=("$file")
  done
}

make_pack() { # NAME
  local name=$1 pack=$out/packs/$1 files=() code=0
  [[ ! -e $pack/manifest.json ]] || return 0
  rm -rf "$out/explored/$name".*
  case $name in
  gemm* | attention*) # at least a third with mma.sync, if these take the type when told to; else as explore chooses
    [[ $target != *a ]] || sample "$name" $((plans - plans / 3)) wgmma
    sample "$name" $((plans - ${#files[@]})) mma.sync
    ((${#files[@]} > 0)) || sample "$name" "$plans" auto
    ;;
  *) sample "$name" "$plans" fma ;;
  esac
  "$bin/tilewright" emit "${files[@]}" --target "$target" --out "$pack" >"$out/$name.emit.log" || code=$?
  ((code <= 1)) || { cat "$out/$name.emit.log" >&2; return 1; }
  echo "$name: $(find "$pack" -name '*.cubin' | wc -l) kernels of ${#files[@]} plans"
}

names=()
problem() {
  "${@:2}" >"$out/models/$1.hlo.txt"
  names+=("$1")
}
problems
export -f make_pack sample
export out bin target device plans
printf '%s\n' "${names[@]}" | xargs -P "$jobs" -I{} bash -euo pipefail -c 'make_pack {}'
grep -h 'left out' "$out"/*.emit.log >"$out/left_out.txt" || true
echo "packs of ${#names[@]} problems are in $out/packs: $(du -sh "$out/packs" | cut -f1)"
