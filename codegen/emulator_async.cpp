#include "codegen/emulator_async.h"

#include "codegen/emulator_cta.h"

#include <algorithm>
#include <cstring>

namespace tilewright {

AsyncUnits::AsyncUnits(EmulatedCta &cta, std::span<const EmulatorBuffer> buffers,
                       const std::vector<TensorMap> &maps, const LaunchShape &launch)
    : cta(cta), maps(maps), launch(launch),
      warpCount(static_cast<unsigned>(launch.threads) / warpSize) {
  for (const TensorMap &map : maps)
    sources.push_back(buffers[map.parameter].data + map.offsetBytes);
  granules.resize(static_cast<size_t>((launch.sharedBytes + granule - 1) / granule));
  clocks.assign(warpCount, Clock(warpCount + maxBarriers, 0));
  for (unsigned w = 0; w < warpCount; ++w)
    clocks[w][w] = 1;
}

void AsyncUnits::startCta() {
  waitingThreads = 0;
  if (!isUsed)
    return;
  barriers.clear();
  std::fill(granules.begin(), granules.end(), Granule());
  warps.assign(warpCount, {});
  // The previous CTA has ended: clocks continue, and every warp knows everything.
  Clock all(warpCount + maxBarriers, 0);
  for (unsigned w = 0; w < warpCount; ++w)
    all[w] = clocks[w][w];
  for (unsigned w = 0; w < warpCount; ++w) {
    clocks[w] = all;
    ++clocks[w][w];
  }
  initIsFenced = true;
}

void AsyncUnits::fail(std::string what) { cta.fail(std::move(what)); }
int AsyncUnits::warp() const { return cta.threadId() / static_cast<int>(warpSize); }

void AsyncUnits::join(Clock &into, const Clock &from) {
  for (size_t i = 0; i < into.size(); ++i)
    into[i] = std::max(into[i], from[i]);
}

/// Publishes this warp's clock and advances it.
void AsyncUnits::release(Clock &into) {
  auto self = static_cast<unsigned>(warp());
  join(into, clocks[self]);
  ++clocks[self][self];
}

void AsyncUnits::afterBarrier(const std::vector<int> &threads) {
  if (!isUsed)
    return;
  std::vector<bool> isThere(warpCount);
  Clock all(warpCount + maxBarriers, 0);
  for (int thread : threads)
    isThere[static_cast<size_t>(thread) / warpSize] = true;
  for (unsigned w = 0; w < warpCount; ++w)
    if (isThere[w])
      join(all, clocks[w]);
  for (unsigned w = 0; w < warpCount; ++w)
    if (isThere[w]) {
      clocks[w] = all;
      ++clocks[w][w];
    }
}

// --- barriers -----------------------------------------------------------------------------------

void AsyncUnits::initBarrier(int offset, int arrivals) {
  cta.checkShared(offset, 8, 8, "barrier");
  if (!isUsed) {
    isUsed = true;
    readTimes.assign(granules.size() * warpCount, 0);
    warps.assign(warpCount, {});
  }
  if (barriers.size() >= maxBarriers)
    fail(fmt::format("more than {} barriers in shared memory", maxBarriers));
  if (barriers.count(offset))
    fail(fmt::format("the barrier at {} is initialised twice", offset));
  Barrier barrier;
  barrier.index = static_cast<unsigned>(barriers.size());
  barrier.arrivals = barrier.pending = arrivals;
  barrier.maker = static_cast<unsigned>(warp());
  barrier.madeAt = clocks[barrier.maker][barrier.maker];
  barrier.gathered = barrier.released = Clock(warpCount + maxBarriers, 0);
  barriers.emplace(offset, std::move(barrier));
  initIsFenced = false;
}

void AsyncUnits::fenceBarrierInit() { initIsFenced = true; }

AsyncUnits::Barrier &AsyncUnits::barrierAt(int offset) {
  cta.countEvent();
  auto found = barriers.find(offset);
  if (found == barriers.end())
    fail(fmt::format("there is no barrier at shared offset {}", offset));
  const Barrier &barrier = found->second;
  auto self = static_cast<size_t>(warp());
  if (self != barrier.maker && clocks[self][barrier.maker] < barrier.madeAt)
    fail(fmt::format("uses the barrier at {}, which warp {} initialised, with no CTA barrier in "
                     "between",
                     offset, barrier.maker));
  return found->second;
}

void AsyncUnits::endPhaseIfComplete(Barrier &barrier) {
  if (barrier.pending > 0 || barrier.missingBytes != 0)
    return;
  ++barrier.phase;
  barrier.pending = barrier.arrivals;
  join(barrier.released, barrier.gathered);
  barrier.released[warpCount + barrier.index] = barrier.phase;
  ++cta.progress;
}

void AsyncUnits::arrive(int offset, int bytes) {
  Barrier &barrier = barrierAt(offset);
  if (barrier.pending == 0)
    fail(fmt::format("more than the {} arrivals that the barrier at {} waits for", barrier.arrivals,
                     offset));
  release(barrier.gathered);
  barrier.missingBytes += bytes;
  --barrier.pending;
  ++cta.progress;
  endPhaseIfComplete(barrier);
}

void AsyncUnits::waitBarrier(int offset, int parity) {
  Barrier &barrier = barrierAt(offset);
  // The phase of that parity is still running while the parities agree.
  while ((barrier.phase & 1) == static_cast<uint32_t>(parity & 1)) {
    if (barrier.pending == 0 && !barrier.copies.empty()) {
      land(barrier);
      continue;
    }
    ++waitingThreads;
    cta.fibers.suspend();
    --waitingThreads;
  }
  join(clocks[static_cast<size_t>(warp())], barrier.released);
}

// --- copies
// ---------------------------------------------------------------------------------------

void AsyncUnits::copyTensor(int number, int to, int barrierOffset,
                            std::span<const int> coordinates) {
  Barrier &barrier = barrierAt(barrierOffset);
  if (!initIsFenced)
    fail("starts a copy before the initialised barriers are fenced");
  if (number < 0 || static_cast<size_t>(number) >= maps.size())
    fail(fmt::format("tensor map {} of {}", number, maps.size()));
  const TensorMap &map = maps[static_cast<size_t>(number)];
  if (map.dims.size() != coordinates.size())
    fail(fmt::format("a copy of {} dims by a map of {}", coordinates.size(), map.dims.size()));
  Copy copy{&map, {}, to, bitWidth(map.dtype) / 8};
  int64_t inner = map.box[0] * copy.bytes;
  for (int64_t extent : map.box)
    copy.bytes *= extent;
  if (map.swizzleBytes && inner > map.swizzleBytes)
    fail(fmt::format("a box of {} bytes is wider than its swizzle of {}", inner, map.swizzleBytes));
  std::copy(coordinates.begin(), coordinates.end(), copy.coordinates.begin());
  // Swizzles repeat every eight rows.
  cta.checkShared(to, static_cast<unsigned>(copy.bytes),
                  map.swizzleBytes ? static_cast<unsigned>(map.swizzleBytes * 8) : 128, "TMA copy");
  for (int64_t at = to; at < to + copy.bytes; at += granule) {
    auto i = static_cast<int>(at / granule);
    if (granules[static_cast<size_t>(i)].copies)
      fail(fmt::format("copies to shared byte {} while another copy may still write it", at));
    requireReadersDone(i, "copies to");
    for (int64_t byte = at; byte < at + granule; ++byte)
      cta.requireOrdinaryDone(static_cast<int>(byte), "copies to");
    ++granules[static_cast<size_t>(i)].copies;
  }
  barrier.copies.push_back(copy);
}

/// The oldest copy of the barrier arrives.
void AsyncUnits::land(Barrier &barrier) {
  Copy copy = barrier.copies.front();
  barrier.copies.pop_front();
  const TensorMap &map = *copy.map;
  const std::byte *source = sources[static_cast<size_t>(copy.map - maps.data())];
  int64_t elementBytes = bitWidth(map.dtype) / 8;
  int64_t lines = copy.bytes / (map.box[0] * elementBytes), mask = map.swizzleBytes / 16 - 1;
  for (int64_t line = 0; line < lines; ++line) {
    int64_t rest = line, offset = 0;
    bool isInside = true;
    for (size_t d = 1; d < map.dims.size(); ++d) {
      int64_t at = copy.coordinates[d] + rest % map.box[d];
      rest /= map.box[d];
      isInside = isInside && at >= 0 && at < map.dims[d];
      offset += at * map.strides[d - 1];
    }
    for (int64_t i = 0; i < map.box[0]; ++i) {
      int64_t column = copy.coordinates[0] + i;
      int64_t to = copy.to + (line * map.box[0] + i) * elementBytes;
      if (map.swizzleBytes)
        to ^= (to >> 7 & mask) << 4;
      std::byte *target = cta.shared + to;
      if (!isInside || column < 0 || column >= map.dims[0]) {
        std::memset(target, 0, static_cast<size_t>(elementBytes));
        continue;
      }
      const std::byte *from = source + offset + column * elementBytes;
      if (!cta.bufferOf(from, static_cast<unsigned>(elementBytes)))
        fail("a TMA copy reads outside every buffer");
      std::memcpy(target, from, static_cast<size_t>(elementBytes));
      cta.total.tensorCopyBytes += elementBytes;
    }
  }
  for (int64_t at = copy.to; at < copy.to + copy.bytes; at += granule) {
    Granule &here = granules[static_cast<size_t>(at / granule)];
    --here.copies;
    here.barrier = static_cast<int16_t>(barrier.index);
    here.phase = barrier.phase + 1;
    cta.markCopied(static_cast<int>(at), granule);
  }
  barrier.missingBytes -= copy.bytes;
  if (barrier.missingBytes < 0)
    fail(fmt::format("copies bring {} bytes more than their barrier was told",
                     -barrier.missingBytes));
  ++cta.progress;
  endPhaseIfComplete(barrier);
}

void AsyncUnits::fenceAsyncProxy() {
  cta.countEvent();
  cta.fenceOwnWrites();
}

// --- who may touch what
// -----------------------------------------------------------------------------

void AsyncUnits::requireKnown(int i, const char *what) {
  const Granule &here = granules[static_cast<size_t>(i)];
  if (here.copies)
    fail(fmt::format("{} shared byte {} while a TMA copy may still write it", what, i * granule));
  if (here.barrier >= 0 &&
      clocks[static_cast<size_t>(warp())][warpCount + static_cast<size_t>(here.barrier)] <
          here.phase)
    fail(fmt::format("{} shared byte {}, which a TMA copy wrote, with no wait for its barrier",
                     what, i * granule));
}

void AsyncUnits::requireReadersDone(int i, const char *what) {
  const Granule &here = granules[static_cast<size_t>(i)];
  if (here.products)
    fail(fmt::format("{} shared byte {} while a product may still read it", what, i * granule));
  const Clock &known = clocks[static_cast<size_t>(warp())];
  for (unsigned w = 0; w < warpCount; ++w)
    if (static_cast<int>(w) != warp() &&
        readTimes[static_cast<size_t>(i) * warpCount + w] > known[w])
      fail(fmt::format("{} shared byte {}, which warp {} read, with no wait in between", what,
                       i * granule, w));
}

void AsyncUnits::beforeRead(int offset, unsigned bytes) {
  if (!isUsed)
    return;
  auto self = static_cast<size_t>(warp());
  for (int i = offset / granule; i * granule < offset + static_cast<int>(bytes); ++i) {
    requireKnown(i, "reads");
    readTimes[static_cast<size_t>(i) * warpCount + self] = clocks[self][self];
  }
}

void AsyncUnits::beforeWrite(int offset, unsigned bytes) {
  if (!isUsed)
    return;
  for (int i = offset / granule; i * granule < offset + static_cast<int>(bytes); ++i) {
    requireKnown(i, "writes");
    requireReadersDone(i, "writes");
    granules[static_cast<size_t>(i)].barrier = -1;
  }
}

} // namespace tilewright
