// The text: every op comes back as it was printed; what is no program is refused with its place.
#include "analysis/program/testing/golden_programs.h"
#include "analysis/program/verify.h"

using namespace tilewright;
using namespace tilewright::program;
using namespace tilewright::program::testing;

TEST(ProgramText, EveryOpComesBack) {
  std::string text =
      R"(kernel all(x: f32[M, 64], s: s8[M, 64], n: s32[M]) -> y: f32[M, 64], z: s32[64]
let V = sel(ge(M, 64), 4, pow2divisor(M) - 1)
let U = max(min(log2(M), V), eq(M % 3, 0)) // 2
warps 4 producer 1
roles load < 1 registers 40, math < 4 registers 232
grid b < 2, p < cdiv(M, 8) group 4 persistent 132 cluster 2, 1
axis i < 8 at p * 8 from 2 of M, j < 64 of 64, k < 2, t2 < 16 at t * 16 of 64
ring A: s8[i,t2] x 3 swizzle 32
ring C: f32[i,t2] x 3
shared B: f32[i,j] pad 4
shared D: f32[i,j] in B
m = full -inf f32[i] @ rows(V, 32)
c = full lowest f32[i] @ rows(V, 32)
for t < 4 ahead 2 unroll 2
  w = read C @ flat(1)
  issue
    copy A <- s[i, t2] via regs
    copy C <- x[i, t2] if i + t2 in [0, 8) & t2 in [t, M)
  u = map f32(A) * C + C@(t + 1)
  v = read C@(t + 1) @ flat(1)
  r = reduce max u over t2
  m = map max(m, r)
for q < min(M, 2) split b/2
  a = load x[i, j] if j in [1, U) else -inf @ across(2)
  e, f = reduce argmin a over j
  g = scan add exp2(a) over j
  h = relayout g @ columns(V, 16)
  o = select.axis a, j = -q + 3
  d = join o, e over k
if eq(p, 0)
  l = map where(i < j & (not(n2 > 2) | i >= 3), -x2, 1e-05)
else
  l = map 0.5 - (1 - 2) / (3 / x2)
barrier
role math
  write B <- m * -1
  cluster.barrier
acc = dot(B, B) over j fma @ flat(1)
acc += dot(B, bf16(B)) over j wgmma wait 1
y1, y2 = sum.splits m, c over b
store y[i, j] = y1 / (1 + nan) @ flat(1)
atomic max z[j] = s32(y2)
)";
  // Values that the conditions use.
  size_t at = text.find("if eq(p, 0)");
  text.insert(at, "x2 = load x[i, 0]\nn2 = load n[i]\n");
  Program program = parsed(text);
  EXPECT_EQ(printProgram(program), text);
}

// What a reader may write in other ways.
TEST(ProgramText, OtherSpellings) {
  Program program = parsed(R"(
kernel f(x: bf16[M]) -> y: bf16[M]   -- a comment
grid p < cdiv(M,B)                   -- warps are 4 where nothing is said
axis i < B of M at p*B
ring R: bf16[i], Q: bf16[i] swizzle 32 x S

for t < 2 unroll 2 ahead 1
    issue copy R <- x[i]; copy Q <- x[i]
    a = read R; b = read Q
)");
  EXPECT_EQ(printProgram(program), R"(kernel f(x: bf16[M]) -> y: bf16[M]
warps 4
grid p < cdiv(M, B)
axis i < B at B * p of M
ring R: bf16[i] x S swizzle 32
ring Q: bf16[i] x S swizzle 32
for t < 2 ahead 1 unroll 2
  issue
    copy R <- x[i]
    copy Q <- x[i]
  a = read R
  b = read Q
)");
}

namespace {

struct Bad {
  const char *text, *message;
  unsigned line;
};

std::string header() {
  return "kernel k(x: f32[M,N]) -> y: f32[M,N]\n"
         "grid p < cdiv(M,8)\n"
         "axis i < 8 at p*8 of M, j < N of N\n"
         "ring A: f32[i,j] x 2\n";
}

} // namespace

TEST(ProgramText, BadInputIsLocated) {
  const Bad bad[] = {
      {"a = lod x[i,j]", "expected an op: load, read", 5},
      {"a = load z[i,j]", "expected a tensor, found 'z'", 5},
      {"a = load y[i,j]", "y is a result, which is written only", 5},
      {"a = load x[i,q]", "nothing is named q here", 5},
      {"a = map b + 1", "nothing is named b here", 5},
      {"a = map exp(i", "expected ')', found the line's end", 5},
      {"a = map max(i)", "max takes 2 operands, not 1", 5},
      {"a = map frob(i)", "no function is named frob", 5},
      {"a = map i < j < 3", "expected the line's end, found '<'", 5},
      {"i = load x[i,j]", "i is an axis already", 5},
      {"a, b = load x[i,j]", "2 names for an op with 1 result", 5},
      {"a += load x[i,j]", "expected dot, the op that adds to a value", 5},
      {"a += dot(A, A) over j fma", "a has no value to be added to", 5},
      {"a = load x[i,j] @ flat(1,2)", "expected ')', found ','", 5},
      {"a = load x[i,j] @ rows(1)", "rows takes 2 numbers, not 1", 5},
      {"a = load x[i,j] @ diagonal(1)", "expected a layout: flat", 5},
      {"a = reduce median i over j", "expected add, mul, max", 5},
      {"for t < 3", "expected a block", 5},
      {"  a = load x[i,j]", "another indentation", 5},
      {"for t < 3\n    a = load x[i,j]\n  b = load x[i,j]", "2 spaces in front of this line", 7},
      {"for t < 3\n  issue\n    copy A <- x[i,j]\n  issue\n    copy A <- x[i,j]",
       "a loop has one issue block", 8},
      {"for t < 3\n  a = full 0 f32[i]\nstore y[i,j] = a", "nothing is named a here", 7},
      {"a = load x[a,j]", "nothing is named a here", 5},
      {"a = full 99999999999999999999 f32[i] @ flat(99999999999999999999)",
       "is no integer of 64 bits", 5},
      {"a = full 0 f32[i] @ flat(4611686018427387904*4)", "does not fit 64 bits", 5},
      {"a = full 0 f32[i] @ flat(M // 0)", "a divisor is not positive", 5},
      {"a = load x[i,j]\nb = load x[a,j]", "a is an index of x, but its type is f32", 6},
      {"store y[i,j] = $", "a character that has no meaning here", 5},
      {"if i\n  a = full 0 f32[i]\nb = map a", "nothing is named a here", 7},
      {"role math\n  barrier", "no role is named math", 5},
  };
  for (const Bad &one : bad) {
    llvm::Expected<Program> program = parseProgram(header() + one.text, "bad.tile");
    if (program) {
      ADD_FAILURE() << "read: " << one.text;
      continue;
    }
    Diag diag = takeDiag(program.takeError());
    EXPECT_NE(diag.message.find(one.message), std::string::npos) << one.text << "\n" << diag.str();
    EXPECT_EQ(diag.line, one.line) << one.text << "\n" << diag.str();
    EXPECT_EQ(diag.cls, DiagClass::BadInput);
  }
}

TEST(ProgramText, DepthAndLengthAreBounded) {
  std::string deep = header() + "a = map " + std::string(100000, '(') + "i";
  std::string blocks = header();
  for (int i = 0; i < 100; ++i)
    blocks += std::string(static_cast<size_t>(i), ' ') + "for t < 2\n";
  std::string wide = header() + "a = map i";
  for (int i = 0; i < 30000; ++i)
    wide += " + exp(i)";
  for (const std::string &text : {deep, blocks, wide}) {
    llvm::Expected<Program> program = parseProgram(text);
    ASSERT_FALSE(bool(program));
    EXPECT_EQ(takeDiag(program.takeError()).cls, DiagClass::BadInput);
  }
}

TEST(ProgramText, SizesThatAreNoSizes) {
  Program program = parsed(textOf("softmax"));
  llvm::Expected<Program> unknown = substituteSizes(program, {{"Q", 3}});
  ASSERT_FALSE(bool(unknown));
  EXPECT_EQ(takeDiag(unknown.takeError()).message, "softmax has no size Q");
  llvm::Expected<Program> zero = substituteSizes(program, {{"M", 3}, {"C", 8}, {"R", 0}, {"W", 4}});
  ASSERT_FALSE(bool(zero)); // tiles of 0 rows
  EXPECT_EQ(takeDiag(zero.takeError()).cls, DiagClass::BadInput);
}

TEST(ProgramText, LayoutsOfOtherAxes) {
  std::string text = R"(kernel sum(x: f32[8], y: f32[64]) -> z: f32[8, 64]
warps 4
axis i < 8, j < 64
a = load x[i] @ flat(4) of i,j
b = load y[j] @ flat(4) of i,j
store z[i, j] = a + b @ flat(4)
)";
  Program program = parsed(text);
  EXPECT_EQ(printProgram(program), text);
  EXPECT_TRUE(verify(program).violations.empty());
  // Without it a row's threads are others.
  std::string own = text;
  own.erase(own.find(" of i,j"), 7);
  EXPECT_FALSE(verify(parsed(own)).violations.empty());
  std::string twice = text;
  twice.replace(twice.find("of i,j"), 6, "of i,i");
  auto refused = parseProgram(twice);
  ASSERT_FALSE(bool(refused));
  EXPECT_EQ(takeDiag(refused.takeError()).message, "a layout names an axis twice");
}

TEST(ProgramText, IntegersDivideAsIntegers) {
  Program program = parsed(R"(kernel half(x: s32[8], n: u32[8]) -> y: s32[8], z: u32[8]
warps 1
axis i < 8
a = load x[i]
b = load n[i]
c = map a / 2
d = map popcnt(shl(b, 3))
store y[i] = c
store z[i] = d
)");
  EXPECT_EQ(program.values[2].tile.type, DType::S32);
  EXPECT_EQ(program.values[3].tile.type, DType::U32);
}

TEST(ProgramText, DigitsComeBack) {
  const std::string text = R"(kernel f(x: f32[8, 64]) -> y: f32[8, 64]
warps 2
axis i < 8, j < 64
a = load x[i, j] @ digits(4:1@j, 16:4@j 2:1@i, 2:2@i)
m = reduce max a over j
b = relayout a @ digits(4:1@i 2:32@j, 32:1@j, 2:4@i)
n = relayout m @ digits(8:1@i, 32:0, 2:0)
store y[i, j] = b @ digits(4:1@i 2:32@j, 32:1@j, 2:4@i)
)";
  EXPECT_EQ(printProgram(parsed(text)), text);
  for (const auto &[bad, message] :
       std::vector<std::pair<std::string, std::string>>{{"digits(4:1@q, 32:0, 2:0)", "q"},
                                                        {"digits(4:1, 32:0, 2:0)", "expected '@'"},
                                                        {"digits(4@j, 32:0, 2:0)", "expected ':'"},
                                                        {"digits(4:1@j, 32:0)", "expected ','"}}) {
    std::string broken = text;
    broken.replace(broken.find("digits("), broken.find(")\nm =") + 1 - broken.find("digits("), bad);
    auto program = parseProgram(broken);
    ASSERT_FALSE(bool(program)) << broken;
    const std::string said = takeDiag(program.takeError()).message;
    EXPECT_NE(said.find(message), std::string::npos) << said;
  }
}
