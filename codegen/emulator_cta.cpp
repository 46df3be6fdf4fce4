#include "codegen/emulator_cta.h"

#include "analysis/ir/numeric.h"
#include "codegen/kernel_builder.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace tilewright {

namespace {
thread_local EmulatedCta *activeCta = nullptr;

/// What memory holds behind an atomic update.
uint64_t updated(KernelBuilder::Update update, DType type, uint64_t before, uint64_t with) {
  using Update = KernelBuilder::Update;
  if (isFloat(type))
    return encodeFloat(type, decodeFloat(type, before) + decodeFloat(type, with));
  bool isSigned = dtypeClass(type) == DTypeClass::Signed;
  auto wide = [&](uint64_t bits) { return static_cast<int64_t>(bits << (64 - bitWidth(type))); };
  bool isLess = isSigned ? wide(before) < wide(with) : before < with;
  switch (update) {
  case Update::Add:
    return before + with;
  case Update::Max:
    return isLess ? with : before;
  case Update::Min:
    return isLess ? before : with;
  case Update::And:
    return before & with;
  case Update::Or:
    return before | with;
  }
  return before;
}
} // namespace

EmulatedCta *EmulatedCta::active() { return activeCta; }

EmulatedCta::EmulatedCta(std::span<const EmulatorBuffer> buffers, const KernelInfo &info,
                         Entry entry, const EmulationOptions &options)
    : buffers(buffers.begin(), buffers.end()), launch(info.launch), entry(entry), options(options),
      stepNames(info.steps), eventsLeft(options.maxEvents), workspaces(buffers, launch.threads),
      asyncUnits(*this, this->buffers, info.tensorMaps, launch) {
  for (const EmulatorBuffer &buffer : buffers)
    arguments.push_back(buffer.data);
  sharedStorage.resize(static_cast<size_t>(launch.sharedBytes) + 1024);
  auto address = reinterpret_cast<uintptr_t>(sharedStorage.data());
  shared = sharedStorage.data() + (1024 - address % 1024) % 1024;
  shadow.resize(static_cast<size_t>(launch.sharedBytes));
  if (options.countBankConflicts)
    banks.emplace(launch.threads);
}

llvm::Error EmulatedCta::run(int64_t cta) {
  auto threads = static_cast<unsigned>(launch.threads);
  currentCta = cta;
  std::memset(shared, 0xff, static_cast<size_t>(launch.sharedBytes)); // NaN in every float type
  for (Shadow &byte : shadow)
    byte.copiesInFlight = 0;
  copies.assign(threads, {});
  warps.assign(threads / warpSize, {});
  barriers.fill({});
  workspaces.startCta(cta);
  asyncUnits.startCta();
  ctaFirstEpoch = lastFullBarrier = ++epoch;
  states.assign(threads, {epoch, 0, 0});
  steps.assign(threads, -1);
  auto body = [](void *self) { static_cast<EmulatedCta *>(self)->runFiber(); };
  if (!fibers.start(threads, body, this))
    return makeError(DiagClass::Internal, "no memory for the stacks of {} threads", threads);

  EmulatedCta *outer = std::exchange(activeCta, this);
  unsigned live = threads;
  while (live > 0 && !failed) {
    uint64_t before = progress;
    live = 0;
    for (unsigned i = 0; i < threads && !failed; ++i) {
      if (fibers.isDone(i))
        continue;
      fibers.resume(i);
      live += !fibers.isDone(i);
    }
    if (live > 0 && !failed && progress == before) {
      failed = true;
      size_t inWarps = 0, atBarriers = 0;
      for (const Meeting &meeting : warps)
        inWarps += meeting.arrived;
      for (const NamedBarrier &barrier : barriers)
        atBarriers += barrier.arrived.size();
      problem = fmt::format("CTA {}: divergent: {} of {} threads wait at a barrier, {} at a warp "
                            "operation and {} have ended",
                            cta, atBarriers, threads, inWarps, threads - live);
      if (asyncUnits.waiting())
        problem += fmt::format("; {} wait for a phase of a barrier in shared memory to end",
                               asyncUnits.waiting());
      std::map<int, unsigned> threadsAt;
      for (unsigned i = 0; i < threads; ++i)
        if (!fibers.isDone(i) && !stepNames.empty())
          ++threadsAt[steps[i]];
      for (auto [step, count] : threadsAt)
        problem += fmt::format("; {} threads at {}", count, stepText(step));
    }
  }
  activeCta = outer;
  ++total.ctas;
  if (banks)
    banks->finishCta(total);
  if (failed)
    return makeError(outOfBudget ? DiagClass::BudgetSpent : DiagClass::Internal, "{}", problem);
  return llvm::Error::success();
}

void EmulatedCta::runFiber() {
  entry(shared, arguments.data());
  ++progress;
}

void EmulatedCta::fail(std::string what) {
  failed = true;
  problem = fmt::format("CTA {}, thread {}: {}", currentCta, threadId(), what);
  if (int step = steps[static_cast<size_t>(threadId())]; step >= 0)
    problem += ", at " + stepText(step);
  // This fiber is never resumed, so nothing on its stack is destroyed.
  { std::string().swap(what); }
  for (;;)
    fibers.suspend(); // run() resumes nobody after a failure
}

std::string EmulatedCta::stepText(int step) const {
  return step < 0 ? "no step yet"
                  : fmt::format("step {} ({})", step, stepNames[static_cast<size_t>(step)]);
}

void EmulatedCta::value(int64_t number, int64_t element, uint64_t bits) {
  if (options.observer)
    options.observer(
        {number, element, bits, currentCta, threadId(), steps[static_cast<size_t>(threadId())]});
}

void EmulatedCta::countEvent() {
  if (eventsLeft-- == 0) {
    outOfBudget = true;
    fail("emulation took more events than allowed");
  }
}

const EmulatorBuffer *EmulatedCta::bufferOf(const std::byte *address, unsigned bytes) const {
  for (const EmulatorBuffer &buffer : buffers)
    if (address >= buffer.data && address + bytes <= buffer.data + buffer.bytes)
      return &buffer;
  return nullptr;
}

void EmulatedCta::checkAligned(uint64_t address, unsigned align, const char *what) {
  if (address % align != 0)
    fail(fmt::format("{} at an address that is {} past a multiple of {}", what, address % align,
                     align));
}

void EmulatedCta::globalRead(const std::byte *address, unsigned bytes, unsigned align) {
  countEvent();
  total.globalReadBytes += bytes;
  const EmulatorBuffer *buffer = bufferOf(address, bytes);
  if (!buffer)
    fail(fmt::format("reads {} bytes outside every buffer", bytes));
  if (buffer->isWorkspace)
    if (std::string wrong = workspaces.read(address, bytes, threadId()); !wrong.empty())
      fail(std::move(wrong));
  checkAligned(reinterpret_cast<uintptr_t>(address), align, "global read");
}

void EmulatedCta::globalWrite(const std::byte *address, unsigned bytes, unsigned align) {
  countEvent();
  total.globalWrittenBytes += bytes;
  const EmulatorBuffer *buffer = bufferOf(address, bytes);
  if (!buffer)
    fail(fmt::format("writes {} bytes outside every buffer", bytes));
  if (!buffer->isOutput && !buffer->isWorkspace)
    fail("writes to an input");
  if (buffer->isWorkspace)
    workspaces.write(address, bytes, threadId());
  if (buffer->written)
    std::fill_n(buffer->written->begin() + (address - buffer->data), bytes, true);
  checkAligned(reinterpret_cast<uintptr_t>(address), align, "global write");
}

uint32_t EmulatedCta::atomicAdd(std::byte *address, uint32_t value) {
  countEvent();
  const EmulatorBuffer *buffer = bufferOf(address, 4);
  if (!buffer || !buffer->isWorkspace)
    fail("adds atomically outside every workspace");
  checkAligned(reinterpret_cast<uintptr_t>(address), 4, "atomic addition");
  workspaces.atomic(threadId(), epoch);
  uint32_t before, after;
  std::memcpy(&before, address, 4);
  after = before + value;
  std::memcpy(address, &after, 4);
  ++total.atomics;
  return before;
}

void EmulatedCta::atomicUpdate(std::byte *address, int update, DType type, uint64_t bits) {
  countEvent();
  unsigned bytes = bitWidth(type) / 8;
  const EmulatorBuffer *buffer = bufferOf(address, bytes);
  if (!buffer || !buffer->isOutput)
    fail("updates atomically outside every output");
  checkAligned(reinterpret_cast<uintptr_t>(address), bytes, "atomic update");
  uint64_t before = 0;
  std::memcpy(&before, address, bytes);
  bits = updated(static_cast<KernelBuilder::Update>(update), type, before, bits);
  std::memcpy(address, &bits, bytes);
  if (buffer->written)
    std::fill_n(buffer->written->begin() + (address - buffer->data), bytes, true);
  ++total.atomics;
}

void EmulatedCta::fenceGlobal() {
  countEvent();
  workspaces.fence(threadId(), epoch);
}

void EmulatedCta::checkShared(int offset, unsigned bytes, unsigned align, const char *what) {
  countEvent();
  if (offset < 0 || offset + int64_t(bytes) > launch.sharedBytes)
    fail(fmt::format("{} of bytes {} to {} of {} bytes of shared memory", what, offset,
                     offset + int64_t(bytes) - 1, launch.sharedBytes));
  checkAligned(static_cast<uint64_t>(offset), align, what);
}

void EmulatedCta::sharedRead(int offset, unsigned bytes, unsigned align) {
  checkShared(offset, bytes, align, "shared read");
  total.sharedReadBytes += bytes;
  if (banks)
    banks->access(threadId(), offset, bytes);
  auto self = static_cast<int16_t>(threadId());
  for (unsigned i = 0; i < bytes; ++i) {
    Shadow &byte = shadow[offset + i];
    if (byte.copiesInFlight)
      fail(fmt::format("reads shared byte {} while an asynchronous copy may still write it",
                       offset + i));
    if (byte.writeEpoch < ctaFirstEpoch)
      fail(fmt::format("reads shared byte {}, which nothing has written", offset + i));
    if (byte.writer >= 0 && !isOrdered(self, byte.writer, byte.writeEpoch))
      fail(fmt::format("reads shared byte {}, which thread {} wrote with no barrier in between",
                       offset + i, byte.writer));
    uint32_t own = states[static_cast<size_t>(self)].epoch;
    bool isShared = byte.reader != self && byte.readEpoch >= ctaFirstEpoch &&
                    !isOrdered(self, byte.reader, byte.readEpoch);
    byte.reader = isShared ? severalReaders : self;
    byte.readEpoch = isShared ? std::max(byte.readEpoch, own) : own;
  }
  asyncUnits.beforeRead(offset, bytes);
}

bool EmulatedCta::isOrdered(int self, int other, uint32_t stamp) const {
  if (self == other || lastFullBarrier > stamp)
    return true;
  const ThreadState &mine = states[static_cast<size_t>(self)];
  if (other < 0) // several readers: ordered only if all came through the same barrier
    return mine.epoch > stamp;
  const ThreadState &others = states[static_cast<size_t>(other)];
  return mine.barrier == others.barrier && std::min(mine.epoch, others.epoch) > stamp;
}

void EmulatedCta::markCopied(int offset, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) {
    shadow[offset + i].writeEpoch = epoch;
    shadow[offset + i].writer = tensorCopy;
  }
}

void EmulatedCta::requireOrdinaryDone(int at, const char *what) {
  const Shadow &byte = shadow[static_cast<size_t>(at)];
  if (byte.copiesInFlight)
    fail(fmt::format("{} shared byte {} while an asynchronous copy may still write it", what, at));
  if (byte.writeEpoch < ctaFirstEpoch || byte.writer < 0)
    return;
  if (!isOrdered(threadId(), byte.writer, byte.writeEpoch) ||
      states[static_cast<size_t>(byte.writer)].proxyFences == byte.proxyFences)
    fail(fmt::format("{} shared byte {}, which thread {} wrote, with no barrier and proxy fence in "
                     "between",
                     what, at, byte.writer));
}

void EmulatedCta::requireFencedWrite(int at) {
  if (shadow[static_cast<size_t>(at)].writeEpoch < ctaFirstEpoch)
    fail(fmt::format("a product reads shared byte {}, which nothing has written", at));
  requireOrdinaryDone(at, "a product reads");
}

void EmulatedCta::checkNoReader(int offset, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) {
    const Shadow &byte = shadow[offset + i];
    if (byte.readEpoch >= ctaFirstEpoch && !isOrdered(threadId(), byte.reader, byte.readEpoch))
      fail(fmt::format("writes shared byte {}, which another thread read with no barrier in "
                       "between",
                       offset + i));
  }
}

void EmulatedCta::markWritten(int offset, unsigned bytes) {
  const ThreadState &state = states[static_cast<size_t>(threadId())];
  for (unsigned i = 0; i < bytes; ++i) {
    Shadow &byte = shadow[offset + i];
    byte.writeEpoch = state.epoch;
    byte.writer = static_cast<int16_t>(threadId());
    byte.proxyFences = state.proxyFences;
  }
}

void EmulatedCta::sharedWrite(int offset, unsigned bytes, unsigned align) {
  checkShared(offset, bytes, align, "shared write");
  total.sharedWrittenBytes += bytes;
  if (banks)
    banks->access(threadId(), offset, bytes);
  for (unsigned i = 0; i < bytes; ++i)
    if (shadow[offset + i].copiesInFlight)
      fail(fmt::format("writes shared byte {} while an asynchronous copy may still write it",
                       offset + i));
  asyncUnits.beforeWrite(offset, bytes);
  checkNoReader(offset, bytes);
  markWritten(offset, bytes);
}

void EmulatedCta::copyAsync(int offset, const std::byte *from, int bytes, int validBytes) {
  auto size = static_cast<unsigned>(bytes);
  if ((size != 4 && size != 8 && size != 16) || validBytes < 0 || validBytes > bytes)
    fail(fmt::format("an asynchronous copy of {} of {} bytes", validBytes, bytes));
  checkShared(offset, size, size, "asynchronous copy");
  total.asyncCopyBytes += validBytes;
  if (validBytes != 0) {
    if (!bufferOf(from, static_cast<unsigned>(validBytes)))
      fail(fmt::format("copies {} bytes from outside every buffer", validBytes));
    checkAligned(reinterpret_cast<uintptr_t>(from), size, "asynchronous copy");
  }
  checkNoReader(offset, size);
  for (int i = 0; i < bytes; ++i)
    ++shadow[offset + i].copiesInFlight;
  copies[threadId()].open.push_back({offset, from, bytes, validBytes});
}

void EmulatedCta::copyAsyncCommit() {
  ThreadCopies &mine = copies[threadId()];
  mine.groups.push_back(std::move(mine.open));
  mine.open.clear();
}

void EmulatedCta::copyAsyncWait(unsigned pending) {
  countEvent();
  ThreadCopies &mine = copies[threadId()];
  while (mine.groups.size() > pending + options.weakenWaits) {
    for (const AsyncCopy &copy : mine.groups.front()) {
      std::memset(shared + copy.offset, 0, static_cast<size_t>(copy.bytes));
      std::memcpy(shared + copy.offset, copy.from, static_cast<size_t>(copy.validBytes));
      for (int i = 0; i < copy.bytes; ++i)
        --shadow[copy.offset + i].copiesInFlight;
      checkNoReader(copy.offset, static_cast<unsigned>(copy.bytes));
      markWritten(copy.offset, static_cast<unsigned>(copy.bytes));
    }
    mine.groups.pop_front();
  }
}

void EmulatedCta::barrier(int id, int count) {
  countEvent();
  if (id < 0 || id > 15 || count <= 0 || count % static_cast<int>(warpSize) != 0 ||
      count > launch.threads)
    fail(fmt::format("barrier {} of {} threads in a CTA of {}", id, count, launch.threads));
  ++progress;
  NamedBarrier &meeting = barriers[static_cast<size_t>(id)];
  if (meeting.arrived.empty())
    meeting.expected = count;
  else if (meeting.expected != count)
    fail(fmt::format("barrier {} of {} threads, where others expect {}", id, count,
                     meeting.expected));
  meeting.arrived.push_back(threadId());
  if (meeting.arrived.size() < static_cast<size_t>(count)) {
    for (uint64_t mine = meeting.generation; meeting.generation == mine;)
      fibers.suspend();
    return;
  }
  ++epoch;
  ++total.barriers;
  if (count == launch.threads)
    lastFullBarrier = epoch;
  for (int thread : meeting.arrived) {
    states[static_cast<size_t>(thread)].epoch = epoch;
    states[static_cast<size_t>(thread)].barrier = id;
  }
  asyncUnits.afterBarrier(meeting.arrived);
  meeting.arrived.clear();
  ++meeting.generation;
}

EmulatedCta::LaneWords EmulatedCta::warpMeeting(int kind, const LaneWords &mine,
                                                Complete complete) {
  countEvent();
  ++progress;
  Meeting &meeting = warps[fibers.running() / warpSize];
  unsigned lane = fibers.running() % warpSize;
  if (meeting.arrived == 0) {
    meeting.kind = kind;
    meeting.firstLane = static_cast<int>(lane);
  } else if (meeting.kind != kind) {
    fail(fmt::format("divergent warp: lane {} is at another operation than lane {}", lane,
                     meeting.firstLane));
  }
  meeting.words[lane] = mine;
  if (++meeting.arrived == warpSize) {
    complete(*this, meeting.words, kind);
    // Results get a place of their own: a lane that runs ahead must not overwrite what another lane
    // has not fetched yet.
    meeting.results = meeting.words;
    meeting.arrived = 0;
    ++meeting.generation;
  } else {
    for (uint64_t before = meeting.generation; meeting.generation == before;)
      fibers.suspend();
  }
  return meeting.results[lane];
}

} // namespace tilewright
