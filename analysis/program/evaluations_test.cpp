// Evaluations of scalar operations: each where what it depends on changes.
#include "analysis/program/evaluations.h"
#include "analysis/program/testing/golden_programs.h"

using namespace tilewright;
using namespace tilewright::program;
using namespace tilewright::program::testing;

namespace {

int64_t timesOf(const std::string &text, Opcode opcode, const SizeValues &sizes = {}) {
  const Program program = parsed(text);
  int64_t sum = 0;
  for (const Evaluations &each : workOfThreads(program).evaluations)
    if (each.opcode == opcode)
      sum += each.operations *
             evaluate(each.times, assignmentOf(program, sizes)).value_or(INT64_MIN / 2);
  return sum;
}

} // namespace

/// A warp of 32 threads with two columns each, that goes over 16 rows.
TEST(Evaluations, FollowWhatChanges) {
  const std::string text = R"(
kernel scaled(x: f32[64,64]) -> y: f32[64,64]
warps 1
grid p < 4
axis i < 1 at p * 16 + u of 64, j < 64
for u < 16
  a = load x[i,j] @ flat(2)
  b = map exp(f32(j)) @ flat(2) of i,j
  c = map tanh(f32(i)) @ flat(2) of i,j
  d = map sqrt(f32(p)) @ flat(2) of i,j
  store y[i,j] = a * b + c - d @ flat(2)
)";
  EXPECT_EQ(timesOf(text, Opcode::Exp), 32 * 2); // the columns are the same in all steps
  EXPECT_EQ(timesOf(text, Opcode::Tanh), 32 * 16);
  EXPECT_EQ(timesOf(text, Opcode::Sqrt), 32);
  EXPECT_EQ(timesOf(text, Opcode::Multiply), 32 * 2 * 16);
  EXPECT_EQ(timesOf(text, Opcode::Add), 32 * 2 * 16);
  EXPECT_EQ(timesOf(text, Opcode::Convert), 32 * 2 + 32 * 16 + 32);
}

TEST(Evaluations, OfWhatIsCarriedAndOfConditions) {
  const std::string text = R"(
kernel window(x: f32[M,32]) -> y: f32[M,32]
warps W
grid p < M
axis i < 1 at p of M, j < 32
s = full 0 f32[i,j] @ flat(1)
for t < T
  a = load x[i,j+t-1] if j + t in [1, 33) @ flat(1)
  b = map s * s
  s = map b + a
store y[i,j] = exp(s) @ flat(1)
)";
  for (int64_t warps : {1, 2}) { // the second one has nothing to store
    const SizeValues sizes{{"M", 8}, {"T", 3}, {"W", warps}};
    EXPECT_EQ(timesOf(text, Opcode::Compare, sizes), 32 * 3);
    EXPECT_EQ(timesOf(text, Opcode::Multiply, sizes), 32 * 3);
    EXPECT_EQ(timesOf(text, Opcode::Add, sizes), 32 * 3);
    EXPECT_EQ(timesOf(text, Opcode::Exp, sizes), 32);
  }
}

/// Vectors, elements across memory, and one for all columns.
TEST(Evaluations, LoadsOfVectors) {
  const Program program = parsed(R"(
kernel sums(x: f32[64,64], z: f32[64,64], k: f32[64]) -> y: f32[64,64]
warps 1
grid p < 16
axis i < 4 at p * 4 of 64, j < 64
a = load x[i,j] @ flat(2)
b = load z[j,i] @ flat(2)
c = load k[i] @ flat(2) of i,j
store y[i,j] = a + b + c @ flat(2)
)");
  EXPECT_EQ(evaluate(workOfThreads(program).loads, Assignment()), 32 * (4 + 8 + 4));
}

/// Where threads wait for others all go on.
TEST(Evaluations, OfThreadsThatOthersNeed) {
  const std::string text = R"(
kernel sum(x: f32[M,32]) -> y: f32[M]
warps 4
grid p < M
axis i < 1 at p of M, j < 32
a = load x[i,j] @ flat(1)
s = reduce add exp(a) over j
store y[i] = s
)";
  EXPECT_EQ(timesOf(text, Opcode::Exp, {{"M", 2}}), 128);
}

TEST(Evaluations, QuotientsByNumbersAreTold) {
  const Program program = parsed(R"(
kernel parts(x: s32[64], k: s32[64]) -> y: s32[64]
warps 1
grid p < 1
axis i < 64 at p * 64 of 64
a = load x[i] @ flat(2)
b = load k[i] @ flat(2)
store y[i] = a / 27 + a / b @ flat(2)
)");
  int64_t byNumber = 0, others = 0;
  for (const Evaluations &each : workOfThreads(program).evaluations)
    if (each.opcode == Opcode::Divide)
      (each.divisor == Divisor::Number ? byNumber : others) += each.operations;
  EXPECT_EQ(byNumber, 1);
  EXPECT_EQ(others, 1);
}

TEST(Evaluations, QuotientsByWhatElementsShareAreTold) {
  const Program program = parsed(R"(
kernel parts(x: f32[4,64], k: f32[4,64], r: f32[4]) -> y: f32[4,64]
warps 1
grid p < 4
axis i < 1 at p of 4, j < 64
a = load x[i,j] @ flat(2)
b = load k[i,j] @ flat(2)
c = load r[i] @ flat(2) of i,j
store y[i,j] = a / b + a / c + c / b + a / 27 + a / 8 + a / 0.125 @ flat(2)
)");
  std::map<Divisor, int64_t> found;
  for (const Evaluations &each : workOfThreads(program).evaluations)
    if (each.opcode == Opcode::Divide)
      found[each.divisor] += each.operations;
  EXPECT_EQ(found, (std::map<Divisor, int64_t>{{Divisor::Own, 2},
                                               {Divisor::Shared, 1},
                                               {Divisor::Number, 1},
                                               {Divisor::PowerOfTwo, 2}}));
}

/// Sizes say which masks are needed; those that hold for all lanes leave nothing of a choice.
TEST(Evaluations, NeedlessMasksAreNotCounted) {
  const std::string text = R"(
kernel rows(x: f32[M,N]) -> y: f32[M]
warps W
grid p < cdiv(M, R)
axis i < R at R * p of M, j < C at C * t of N
s = full 0 f32[i,j] @ rows(1, 32)
for t < cdiv(N, C)
  a = load x[i,j] @ rows(1, 32)
  s = map where(j < N, s + exp(a), s)
l = reduce add s over j
store y[i] = l
)";
  for (auto [columns, isRagged] : {std::pair(64, false), {60, true}, {32, false}, {33, true}}) {
    const SizeValues sizes{{"M", 8}, {"N", columns}, {"R", 1}, {"C", 32}, {"W", 1}};
    const int64_t steps = (columns + 31) / 32;
    EXPECT_EQ(timesOf(text, Opcode::Exp, sizes), 32 * steps) << columns;
    for (Opcode mask : {Opcode::Compare, Opcode::Select})
      EXPECT_EQ(timesOf(text, mask, sizes), isRagged ? 32 * steps : 0) << columns;
    std::string numbers = text; // as builders write it
    for (size_t at; (at = numbers.find('N')) != std::string::npos;)
      numbers.replace(at, 1, std::to_string(columns));
    EXPECT_EQ(timesOf(numbers, Opcode::Select, sizes), isRagged ? 32 * steps : 0) << columns;
  }
}

/// CTAs that share a row go over a part of its steps each.
TEST(Evaluations, OfAShareOfSteps) {
  const std::string text = R"(
kernel rows(x: f32[4,N]) -> y: f32[4]
warps 1
grid p < 4, s < S
axis i < 1 at p of 4, j < 32 at 32 * t of N
a = full 0 f32[i,j] @ rows(1, 32)
for t < cdiv(N, 32) split s/S
  b = load x[i,j] else -inf @ rows(1, 32)
  a = map a + exp(b)
l = reduce add a over j
l = sum.splits l over s
store y[i] = l
)";
  for (int64_t splits : {1, 2, 5}) {
    const SizeValues sizes{{"N", 320}, {"S", splits}};
    EXPECT_EQ(timesOf(text, Opcode::Exp, sizes), 320 / splits);
  }
}

/// What a thread holds of a row; its values and those of others meet in shuffles.
TEST(Evaluations, OfWhatIsCombined) {
  const std::string text = R"(
kernel sums(x: f32[M,128]) -> y: f32[M]
warps 1
grid p < M
axis i < 1 at p of M, j < 128
a = load x[i,j] @ rows(4, 32)
s = reduce max a over j
store y[i] = s
)";
  EXPECT_EQ(timesOf(text, Opcode::Maximum, {{"M", 2}}), 128);
}
