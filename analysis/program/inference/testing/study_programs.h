// Programs whose layouts are known to be hard to choose.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::inference::testing {

struct StudyProgram {
  std::string name, text;
  /// … of group sums more by 16: rows of 56 bytes differ in sectors from warp to warp, of which
  /// that search counts one.
  int64_t most; ///< quarter clocks: what a search by hand in another language found
  double ratio; ///< … and to what no layout avoids
};

inline std::vector<StudyProgram> studyPrograms() {
  return {
      {"softmax 4 x 1024 bf16", R"(kernel softmax(x: bf16[4, 1024]) -> y: bf16[4, 1024]
warps 4
axis i < 4, j < 1024
a = load x[i, j]
f = map f32(a)
m = reduce max f over j
e = map exp(f - m)
s = reduce add e over j
store y[i, j] = e / s
)",
       2848, 1.10},
      {"softmax 64 x 448 f32", R"(kernel softmax(x: f32[64, 448]) -> y: f32[64, 448]
warps 4
axis i < 64, j < 448
f = load x[i, j]
m = reduce max f over j
e = map exp(f - m)
s = reduce add e over j
store y[i, j] = e / s
)",
       28672, 1.10},
      {"GEMM with row and column statistics",
       R"(kernel gemm(a: bf16[4096, 4096], b: bf16[4096, 4096], v: f32[4096], u: f32[4096]) -> c: bf16[4096, 4096], t: f32[4096]
warps 4
grid p < 32, q < 32
axis i < 128 at 128 * p of 4096, j < 128 at 128 * q of 4096, k < 64 at 64 * t of 4096
ring A: bf16[i,k] x 4 swizzle 128
ring B: bf16[j,k] x 4 swizzle 128
acc = full 0 f32[i,j] @ wgmma(1, 1)
for t < 64 ahead 3
  issue
    copy A <- a[i, k]
    copy B <- b[j, k]
  acc += dot(A, B) over k wgmma
n = load v[j]
m = load u[i]
y = map acc + n + m
r = reduce add y over j
x = reduce max y over i
store c[i, j] = y * r + x
store t[i] = r
)",
       // With 1,536 for the slots of all four warps that each reads, which the study leaves out.
       144720 + 1536, 1.10},
      {"attention, P from the accumulator",
       R"(kernel attention(q: bf16[64, 64], k: bf16[2048, 64], v: bf16[2048, 64]) -> o: bf16[64, 64]
warps 4
axis i < 64, j < 128 at 128 * t of 2048, d < 64
shared Q: bf16[i,d] swizzle 128
ring K: bf16[j,d] x 2 swizzle 128
ring V: bf16[j,d] x 2 swizzle 128
m = full -inf f32[i] @ wgmma(1, 1)
l = full 0 f32[i] @ wgmma(1, 1)
acc = full 0 f32[i,d] @ wgmma(1, 1)
copy Q <- q[i, d]
for t < 16 ahead 1
  issue
    copy K <- k[j, d]
    copy V <- v[j, d]
  s = dot(Q, K) over d wgmma
  n = reduce max s over j
  h = map max(m, n)
  f = map exp(m - h)
  e = map exp(s - h)
  r = reduce add e over j
  l = map l * f + r
  acc = map acc * f
  m = map h + 0
  acc += dot(bf16(e), V) over j wgmma
store o[i, d] = acc / l
)",
       62336, 1.10},
      {"transposed store 64 x 64 bf16",
       R"(kernel transpose(x: bf16[64, 4096]) -> y: bf16[64, 4096]
warps 4
axis i < 64, j < 64
a = load x[i, j]
store y[j, i] = a
)",
       2688, 1.50},
      {"int4 to fp8 operand A",
       R"(kernel upcast(w: s4[64, 4096], x: f8e4m3fn[128, 4096]) -> c: bf16[64, 4096]
warps 4
axis i < 64, j < 128, k < 128 at 128 * t of 4096
ring X: f8e4m3fn[j,k] x 4 swizzle 128
acc = full 0 f32[i,j] @ wgmma(1, 1)
for t < 32 ahead 3
  issue
    copy X <- x[j, k]
  a = load w[i, k]
  b = map f8e4m3fn(a)
  acc += dot(b, X) over k wgmma
store c[i, j] = acc
)",
       66784, 1.30},
      {"int8 to bf16 operand A",
       R"(kernel upcast(w: s8[64, 4096], x: bf16[128, 4096]) -> c: bf16[64, 4096]
warps 4
axis i < 64, j < 128, k < 128 at 128 * t of 4096
ring X: bf16[j,k] x 4 swizzle 128
acc = full 0 f32[i,j] @ wgmma(1, 1)
for t < 32 ahead 3
  issue
    copy X <- x[j, k]
  a = load w[i, k]
  b = map bf16(a)
  acc += dot(b, X) over k wgmma
store c[i, j] = acc
)",
       118496, 1.20},
      {"middle axis of [4, 128, 32]",
       R"(kernel middle(x: f32[4, 128, 32]) -> y: f32[4, 128, 32]
warps 4
axis i < 4, j < 128, k < 32
a = load x[i, j, k]
s = reduce add a over j
store y[i, j, k] = a - s
)",
       13712, 1.10},
      {"mean kept as a column",
       R"(kernel mean(x: f32[64, 128]) -> y: f32[64, 128]
warps 4
axis i < 64, j < 128
a = load x[i, j]
s = reduce add a over j
store y[i, j] = a - s
)",
       7008, 1.10},
      {"group sums",
       R"(kernel groups(x: f32[16, 448], a: f32[16, 14]) -> y: f32[16, 14]
warps 4
axis i < 16, g < 14, h < 32
b = load x[i, g * 32 + h]
s = reduce add b over h
c = load a[i, g]
store y[i, g] = c + s
)",
       3960, 1.28},
  };
}

} // namespace tilewright::inference::testing
