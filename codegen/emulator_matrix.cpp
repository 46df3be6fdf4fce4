// Products of warpgroups: descriptors, late evaluation and arithmetic.
#include "codegen/emulator_matrix.h"

#include "codegen/emulator_async.h"
#include "codegen/emulator_cta.h"

#include <algorithm>
#include <cstring>

namespace tilewright {

namespace {

int64_t elementBytesOf(DType type) { return bitWidth(type) / 8; }
int depthOf(DType type) { return static_cast<int>(32 / elementBytesOf(type)); }

} // namespace

/// Where element (across, k) of an operand is: PTX ISA, "Matrix descriptor" and the canonical
/// layouts of "Shared memory matrix layout". The swizzle works on address bits.
int AsyncUnits::operandAddress(const Product &product, bool isLhs, int across, int k) const {
  uint64_t descriptor = isLhs ? product.a : product.b;
  auto start = static_cast<int64_t>(descriptor & 0x3fff) << 4;
  auto leading = static_cast<int64_t>(descriptor >> 16 & 0x3fff) << 4;
  auto stride = static_cast<int64_t>(descriptor >> 32 & 0x3fff) << 4;
  uint64_t layout = descriptor >> 62;
  int64_t width = layout == 1 ? 128 : layout == 2 ? 64 : 32, bytes = elementBytesOf(product.left);
  int64_t address;
  if (isLhs ? product.isLhsKMinor : product.isRhsKMinor)
    address = start + across / 8 * stride + across % 8 * width + k * bytes;
  else
    address = start + across * bytes / width * leading + k / 8 * stride + k % 8 * width +
              across * bytes % width;
  address ^= (address >> 7 & (width / 16 - 1)) << 4;
  return static_cast<int>(address);
}

/// All granules of an operand that this warp reads.
template <typename Visit>
void AsyncUnits::forOperand(const Product &product, bool isLhs, Visit visit) {
  int first = isLhs ? warp() % 4 * 16 : 0, count = isLhs ? 16 : product.columns;
  auto perGranule = static_cast<int>(granule / elementBytesOf(product.left));
  bool isKMinor = isLhs ? product.isLhsKMinor : product.isRhsKMinor;
  int depth = depthOf(product.left);
  for (int across = first; across < first + count; across += isKMinor ? 1 : perGranule)
    for (int k = 0; k < depth; k += isKMinor ? perGranule : 1)
      visit(operandAddress(product, isLhs, across, k) / granule);
}

void AsyncUnits::requireReadable(int i) {
  if (i * granule + granule > launch.sharedBytes)
    fail(fmt::format("a product reads shared byte {} of {}", i * granule, launch.sharedBytes));
  requireKnown(i, "a product reads");
  if (granules[static_cast<size_t>(i)].barrier < 0)
    for (int byte = i * granule; byte < (i + 1) * granule; ++byte)
      cta.requireFencedWrite(byte);
}

/// PTX ISA, "setmaxnreg": all warps of a warpgroup ask for the same number. An increase waits until
/// other warpgroups have released enough of the registers that the CTA was launched with, for ever
/// if they don't.
void AsyncUnits::setMaxRegisters(int count, bool isIncrease) {
  cta.countEvent();
  constexpr int registersPerSm = 65536;
  if (warps.empty())
    warps.assign(warpCount, {});
  auto self = static_cast<size_t>(warp());
  if (count < 24 || count > 256 || count % 8 != 0)
    fail(fmt::format("asks for {} registers a thread, not a multiple of 8 in 24 to 256", count));
  int started = registersPerSm / static_cast<int>(launch.threads) / 8 * 8;
  int before = warps[self].registers ? warps[self].registers : started;
  if (isIncrease ? count < before : count > before)
    fail(fmt::format("{} from {} to {} registers a thread", isIncrease ? "increases" : "decreases",
                     before, count));
  warps[self].registers = count;
  int total = 0;
  for (size_t w = 0; w < warpCount; ++w) {
    if (w / 4 == self / 4 && warps[w].registers && warps[w].registers != count)
      fail("divergent warpgroup: its warps ask for different numbers of registers");
    total += warps[w].registers * static_cast<int>(warpSize);
  }
  int there = started * static_cast<int>(launch.threads);
  if (total > there)
    fail(fmt::format("waits for ever: {} registers are asked for, of {} that the CTA has", total,
                     there));
}

void AsyncUnits::warpgroupFence() {
  cta.countEvent();
  if (warps.empty())
    warps.assign(warpCount, {});
  warps[static_cast<size_t>(warp())].isFenced[static_cast<size_t>(cta.threadId()) % warpSize] =
      true;
}

/// The lane's next entry in its warp's log: the first lane to come makes it, the others must agree.
void AsyncUnits::append(Warp &mine, const Product &product) {
  size_t &position = mine.position[static_cast<size_t>(cta.threadId()) % warpSize];
  if (position == mine.log.size())
    mine.log.push_back({product, false, {}});
  else if (!(mine.log[position].product == product))
    fail("divergent warp: another lane started another product");
  ++position;
}

void AsyncUnits::startProduct(const Product &product, uint32_t *registers) {
  cta.countEvent();
  if (!isUsed)
    fail("starts a product without any barrier in shared memory");
  auto lane = static_cast<size_t>(cta.threadId()) % warpSize;
  Warp &mine = warps[static_cast<size_t>(warp())];
  bool isFirst = mine.position[lane] == mine.log.size();
  append(mine, product);
  Started &started = mine.log[mine.position[lane] - 1];
  Accumulator &accumulator = mine.accumulators[product.accumulator];
  if (isFirst) {
    for (bool isLhs : {true, false})
      if (!isLhs || !product.isLhsInRegisters)
        forOperand(product, isLhs, [&](int i) {
          requireReadable(i);
          ++granules[static_cast<size_t>(i)].products;
        });
    started.takesRegisters = accumulator.inFlight == 0;
    if (product.isLhsInRegisters)
      started.a.resize(warpSize);
    if (accumulator.inFlight && accumulator.columns != product.columns)
      fail("a product into an accumulator that one of another shape is at work on");
    accumulator.columns = product.columns;
    accumulator.registers.resize(warpSize);
    ++accumulator.inFlight;
  }
  if ((started.takesRegisters || product.isLhsInRegisters) && !mine.isFenced[lane])
    fail("starts a product on registers that were changed with no wgmma.fence since");
  if (started.takesRegisters)
    std::copy_n(registers, product.columns / 2, accumulator.registers[lane].begin());
  if (product.isLhsInRegisters)
    std::copy_n(registers + 128, 4, started.a[lane].begin());
  std::fill_n(registers, product.columns / 2, 0xffffffffu);
}

void AsyncUnits::commit() {
  cta.countEvent();
  Product mark;
  mark.isCommit = true;
  append(warps[static_cast<size_t>(warp())], mark);
}

void AsyncUnits::waitProducts(unsigned pending) {
  constexpr int kind = 1024;
  cta.warpMeeting(kind + static_cast<int>(pending), {},
                  [](EmulatedCta &self, std::span<EmulatedCta::LaneWords, warpSize>, int which) {
                    self.async().finishProducts(static_cast<unsigned>(which - kind));
                  });
}

/// Run on the warp's last lane to arrive at a wait.
void AsyncUnits::finishProducts(unsigned pending) {
  auto self = static_cast<size_t>(warp());
  Warp &mine = warps[self];
  for (size_t position : mine.position)
    if (position != mine.log.size())
      fail("divergent warp: not all lanes have started the same products");
  size_t commits = 0;
  for (size_t i = mine.done; i < mine.log.size(); ++i)
    commits += mine.log[i].product.isCommit;
  for (; commits > pending; ++mine.done) {
    Started &started = mine.log[mine.done];
    if (started.product.isCommit) {
      --commits;
      continue;
    }
    const Warp &leader = warps[self / 4 * 4];
    if (leader.log.size() > mine.done && !(leader.log[mine.done].product == started.product))
      fail("divergent warpgroup: its warps started different products");
    Accumulator &accumulator = mine.accumulators[started.product.accumulator];
    compute(started, accumulator);
    started.a.clear();
    --accumulator.inFlight;
    cta.total.warpgroupProducts += self % 4 == 0;
    const Product &done = started.product; // a warp has 16 of the rows
    cta.total.matrixFlops += int64_t(2) * 16 * done.columns * depthOf(done.left);
    for (bool isLhs : {true, false})
      if (!isLhs || !started.product.isLhsInRegisters)
        forOperand(started.product, isLhs, [&](int i) {
          --granules[static_cast<size_t>(i)].products;
          readTimes[static_cast<size_t>(i) * warpCount + self] = clocks[self][self];
        });
  }
  mine.isFenced.fill(false); // registers may change from here on
  // A copy of the registers as of now: lanes read them one after the other, and the first to
  // continue may start the next product before the others have read.
  for (auto &[number, accumulator] : mine.accumulators) {
    if (accumulator.inFlight)
      accumulator.atWait.clear();
    else
      accumulator.atWait = accumulator.registers;
  }
}

void AsyncUnits::readAccumulator(unsigned number, int count, uint32_t *registers) {
  Warp &mine = warps[static_cast<size_t>(warp())];
  auto found = mine.accumulators.find(number);
  if (found == mine.accumulators.end())
    return; // no product has used it: its registers are unchanged
  if (found->second.columns / 2 != count)
    fail(fmt::format("accumulator {} has {} registers, not {}", number, found->second.columns / 2,
                     count));
  if (found->second.atWait.empty()) // still in flight
    std::fill_n(registers, count, 0xffffffffu);
  else
    std::copy_n(found->second.atWait[static_cast<size_t>(cta.threadId()) % warpSize].begin(), count,
                registers);
}

double AsyncUnits::element(DType type, int address) const {
  uint32_t bits = 0;
  std::memcpy(&bits, cta.shared + address, static_cast<size_t>(elementBytesOf(type)));
  return matrixElement(type, bits);
}

/// The warp's 16 rows of the product. Fragments as in mma.m16n8k16: lane g·4 + t holds rows g and
/// g + 8 at columns 8·j + 2·t and the next.
void AsyncUnits::compute(const Started &started, Accumulator &accumulator) {
  const Product &product = started.product;
  int depth = depthOf(product.left), firstRow = warp() % 4 * 16;
  std::vector<double> a(static_cast<size_t>(16 * depth)),
      b(static_cast<size_t>(product.columns * depth));
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < depth; ++k) {
      double value;
      if (product.isLhsInRegisters) { // 16-bit types only
        int lane = row % 8 * 4 + k % 8 / 2, word = row / 8 + k / 8 * 2;
        uint32_t bits =
            started.a[static_cast<size_t>(lane)][static_cast<size_t>(word)] >> (k % 2 * 16) &
            0xffff;
        value = matrixElement(product.left, bits);
      } else {
        value = element(product.left, operandAddress(product, true, firstRow + row, k));
      }
      a[static_cast<size_t>(row * depth + k)] = value;
    }
  for (int column = 0; column < product.columns; ++column)
    for (int k = 0; k < depth; ++k)
      b[static_cast<size_t>(column * depth + k)] =
          element(product.right, operandAddress(product, false, column, k));
  for (size_t lane = 0; lane < warpSize; ++lane)
    for (int i = 0; i < product.columns / 2; ++i) {
      int row = static_cast<int>(lane) / 4 + i % 4 / 2 * 8;
      int column = i / 4 * 8 + static_cast<int>(lane) % 4 * 2 + i % 2;
      uint32_t &word = accumulator.registers[lane][static_cast<size_t>(i)];
      if (!product.isAccumulating)
        word = 0;
      for (int k = 0; k < depth; ++k)
        word = accumulated(product.left, word, a[static_cast<size_t>(row * depth + k)],
                           b[static_cast<size_t>(column * depth + k)]);
    }
}

} // namespace tilewright
