// rng-bit-generator: the bits that XLA's expander makes (xla/hlo/builder/lib/prng.cc), for which
// the counters of a whole tensor and the order of the results matter as much as the cipher.
//
// Threefry and Philox: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011.
#include "analysis/ir/evaluator_impl.h"
#include "analysis/ir/numeric.h"
#include "analysis/support/checked.h"
#include "analysis/support/math.h"

#include <bit>

namespace tilewright::eval {

namespace {

using Pair = std::array<uint32_t, 2>;
using Four = std::array<uint32_t, 4>;

Pair halves(uint64_t value) {
  return {static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32)};
}

uint64_t joined(uint32_t low, uint32_t high) { return static_cast<uint64_t>(high) << 32 | low; }

/// Threefry-2x32 with 20 rounds.
Pair threefry(Pair x, Pair key) {
  constexpr std::array<std::array<int, 4>, 2> rotations = {{{13, 15, 26, 6}, {17, 29, 16, 24}}};
  const std::array<uint32_t, 3> schedule = {key[0], key[1], 0x1BD11BDAu ^ key[0] ^ key[1]};
  x[0] += schedule[0];
  x[1] += schedule[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (int rotation : rotations[group % 2]) {
      x[0] += x[1];
      x[1] = std::rotl(x[1], rotation) ^ x[0];
    }
    x[0] += schedule[(group + 1) % 3];
    x[1] += schedule[(group + 2) % 3] + group + 1;
  }
  return x;
}

/// Philox-4x32 with 10 rounds.
Four philox(Four x, Pair key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t(0xD2511F53u) * x[0], b = uint64_t(0xCD9E8D57u) * x[2];
    x = {halves(b)[1] ^ x[1] ^ key[0], halves(b)[0], halves(a)[1] ^ x[3] ^ key[1], halves(a)[0]};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return x;
}

/// The dim that Threefry's pairs stand along: the first even one, else the longest.
size_t pairedDim(const std::vector<int64_t> &dims) {
  size_t longest = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] % 2 == 0)
      return d;
    if (dims[d] > dims[longest])
      longest = d;
  }
  return longest;
}

/// Threefry's bits of 32 and fewer: each counter makes two neighbours along the paired dim.
void fillByPairs(Tensor &bits, Pair key, uint64_t &counter) {
  const std::vector<int64_t> &dims = bits.shape().dims;
  const size_t paired = pairedDim(dims);
  int64_t inner = 1, outer = 1;
  for (size_t d = 0; d < dims.size(); ++d)
    (d < paired ? outer : inner) *= d == paired ? 1 : dims[d];
  const int64_t length = dims.empty() ? 1 : dims[paired], half = ceilDiv(length, 2);
  for (int64_t i = 0; i < outer * half * inner; ++i) {
    const Pair made = threefry(halves(counter + static_cast<uint64_t>(i)), key);
    const int64_t o = i / (half * inner), position = i / inner % half * 2, s = i % inner;
    for (int64_t k = 0; k < 2 && position + k < length; ++k)
      bits.setInteger(
          (o * length + position + k) * inner + s,
          wrapInteger(bits.dtype(), static_cast<int64_t>(made[static_cast<size_t>(k)])));
  }
  counter += static_cast<uint64_t>(outer * half * inner);
}

void fillByThreefry(Tensor &bits, uint64_t key, uint64_t &counter) {
  if (bitWidth(bits.dtype()) < 64)
    return fillByPairs(bits, halves(key), counter);
  for (int64_t i = 0; i < bits.size(); ++i) {
    const Pair made = threefry(halves(counter + static_cast<uint64_t>(i)), halves(key));
    bits.setInteger(i, static_cast<int64_t>(joined(made[0], made[1])));
  }
  counter += static_cast<uint64_t>(bits.size());
}

/// `low` and `high` are the 128 bits of the counter.
void fillByPhilox(Tensor &bits, uint64_t key, uint64_t &low, uint64_t &high) {
  const int64_t words = bitWidth(bits.dtype()) == 64 ? 2 : 1;
  const int64_t steps = ceilDiv(bits.size() * words, 4);
  auto advanced = [&](uint64_t by) { return std::pair(low + by, high + (low + by < low ? 1 : 0)); };
  for (int64_t i = 0; i < steps; ++i) {
    const auto [l, h] = advanced(static_cast<uint64_t>(i));
    const Four made = philox({halves(l)[0], halves(l)[1], halves(h)[0], halves(h)[1]}, halves(key));
    for (size_t k = 0; k < 4; k += static_cast<size_t>(words))
      if (const int64_t at = (i * 4 + static_cast<int64_t>(k)) / words; at < bits.size())
        bits.setInteger(at, wrapInteger(bits.dtype(),
                                        static_cast<int64_t>(
                                            words == 2 ? joined(made[k], made[k + 1]) : made[k])));
  }
  std::tie(low, high) = advanced(static_cast<uint64_t>(steps));
}

} // namespace

/// (the state afterwards, the bits). The state is a key and a counter of one or two words.
llvm::Expected<Value> evaluateRngBitGenerator(OpRun &run) {
  const std::vector<const Shape *> leaves = leavesOf(run.op.shape);
  if (run.operands.size() != 1 || run.operands[0].size() != 1 || leaves.size() != 2 ||
      !run.operandShape(0).sameDimsAndType(*leaves[0]))
    return run.error(DiagClass::BadInput, "needs a state, and gives one and bits");
  const Tensor &state = run.operand(0);
  const std::string_view algorithm = run.rawAttribute("algorithm");
  // XLA's compilers for CPUs and GPUs choose Philox where the choice is theirs.
  const bool isPhilox = algorithm == "rng_philox" || algorithm == "rng_default";
  if (!isPhilox && algorithm != "rng_three_fry")
    return run.error(DiagClass::Unsupported, "algorithm {} is not evaluated", algorithm);
  const unsigned width = isInteger(leaves[1]->dtype) ? bitWidth(leaves[1]->dtype) : 0;
  if (width < 8)
    return run.error(DiagClass::Unsupported, "bits as {} by {} are not evaluated",
                     toString(leaves[1]->dtype), algorithm);
  const bool hasWords = state.dtype() == DType::U64 && state.shape().rank() == 1 &&
                        (state.size() == 2 || (isPhilox && state.size() == 3));
  if (!hasWords)
    return run.error(DiagClass::Unsupported, "a state {} of {} is not evaluated",
                     state.shape().str(false), algorithm);
  std::vector<std::shared_ptr<Tensor>> results;
  for (const Shape *leaf : leaves) {
    llvm::Expected<std::shared_ptr<Tensor>> result = run.context.allocate(*leaf);
    if (!result)
      return result.takeError();
    results.push_back(std::move(*result));
  }
  constexpr int64_t roundsOfCipher = 20;
  if (llvm::Error error = run.charge(results[1]->size(), roundsOfCipher))
    return error;
  std::array<uint64_t, 3> words{};
  for (int64_t i = 0; i < state.size(); ++i)
    words[static_cast<size_t>(i)] = static_cast<uint64_t>(state.integer(i));
  // Of two words the key is the upper half of the counter, too.
  if (state.size() == 2)
    words[2] = words[0];
  if (isPhilox)
    fillByPhilox(*results[1], words[0], words[1], words[2]);
  else
    fillByThreefry(*results[1], words[0], words[1]);
  for (int64_t i = 0; i < state.size(); ++i)
    results[0]->setInteger(i, static_cast<int64_t>(words[static_cast<size_t>(i)]));
  if (run.isRecording())
    for (int64_t i = 0; i < results[1]->size(); ++i)
      for (int64_t j = 0; j < state.size(); ++j)
        run.read(i, 0, j);
  return Value(results.begin(), results.end());
}

} // namespace tilewright::eval
