#include "codegen/emulator_workspace.h"

namespace tilewright {

WorkspaceOrder::WorkspaceOrder(std::span<const EmulatorBuffer> buffers, int64_t threads)
    : pending(static_cast<size_t>(threads)), fencedAfter(static_cast<size_t>(threads)) {
  for (const EmulatorBuffer &buffer : buffers)
    if (buffer.isWorkspace)
      regions.push_back(
          {buffer.data, std::vector<Word>(static_cast<size_t>((buffer.bytes + 3) / 4))});
}

void WorkspaceOrder::startCta(int64_t cta) {
  current = cta;
  atomics = 0;
  for (std::vector<Write> &writes : pending)
    writes.clear();
  fencedAfter.assign(fencedAfter.size(), 0);
}

WorkspaceOrder::Word *WorkspaceOrder::wordsOf(const std::byte *address, unsigned bytes,
                                              size_t &count) {
  for (Region &region : regions) {
    if (address < region.data || address >= region.data + region.words.size() * 4)
      continue;
    auto first = static_cast<size_t>(address - region.data) / 4;
    count = (static_cast<size_t>(address - region.data) + bytes + 3) / 4 - first;
    return &region.words[first];
  }
  return nullptr;
}

void WorkspaceOrder::write(const std::byte *address, unsigned bytes, int thread) {
  size_t count = 0;
  Word *words = wordsOf(address, bytes, count);
  if (!words)
    return;
  for (size_t i = 0; i < count; ++i)
    words[i] = {current, false};
  pending[static_cast<size_t>(thread)].push_back({words, count});
}

void WorkspaceOrder::fence(int thread, uint32_t epoch) {
  if (regions.empty())
    return;
  fencedAfter[static_cast<size_t>(thread)] = atomics;
  for (Write &write : pending[static_cast<size_t>(thread)])
    if (!write.isFenced) {
      write.isFenced = true;
      write.fenceEpoch = epoch;
    }
}

void WorkspaceOrder::atomic(int thread, uint32_t epoch) {
  ++atomics;
  for (size_t writer = 0; writer < pending.size(); ++writer)
    std::erase_if(pending[writer], [&](const Write &write) {
      bool isKnown = static_cast<int>(writer) == thread || write.fenceEpoch < epoch;
      if (!write.isFenced || !isKnown)
        return false;
      for (size_t i = 0; i < write.count; ++i)
        write.first[i].isPublished = true;
      return true;
    });
}

std::string WorkspaceOrder::read(const std::byte *address, unsigned bytes, int thread) const {
  size_t count = 0;
  const Word *words = const_cast<WorkspaceOrder *>(this)->wordsOf(address, bytes, count);
  for (size_t i = 0; words && i < count; ++i) {
    if (words[i].cta < 0 || words[i].cta == current)
      continue;
    if (!words[i].isPublished)
      return fmt::format("reads what CTA {} wrote to a workspace with no fence and atomic "
                         "operation behind it",
                         words[i].cta);
    if (atomics == 0 || fencedAfter[static_cast<size_t>(thread)] < atomics)
      return fmt::format("reads what CTA {} wrote to a workspace with no atomic operation and "
                         "fence before it",
                         words[i].cta);
  }
  return "";
}

} // namespace tilewright
