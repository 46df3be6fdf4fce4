#include "analysis/compiled/arena.h"

#include <algorithm>

namespace tilewright {

namespace {

constexpr int64_t alignment = 128;
constexpr size_t launchesOfBlock = 64;

} // namespace

class Arena::Lives {
public:
  explicit Lives(const std::vector<Buffer> &buffers) : buffers(buffers), seen(buffers.size()) {
    for (const Buffer &buffer : buffers)
      blocks.resize(std::max(blocks.size(), buffer.last / launchesOfBlock + 1));
  }

  void add(size_t buffer) {
    const Buffer &b = buffers[buffer];
    for (size_t block = b.first / launchesOfBlock; block <= b.last / launchesOfBlock; ++block)
      blocks[block].push_back(buffer);
  }

  std::vector<size_t> liveWith(const Buffer &wanted) {
    ++query;
    std::vector<size_t> live;
    for (size_t block = wanted.first / launchesOfBlock; block <= wanted.last / launchesOfBlock;
         ++block)
      for (size_t other : blocks[block])
        if (const Buffer &b = buffers[other];
            seen[other] != query && b.last >= wanted.first && wanted.last >= b.first) {
          seen[other] = query;
          live.push_back(other);
        }
    return live;
  }

private:
  const std::vector<Buffer> &buffers;
  std::vector<std::vector<size_t>> blocks;
  std::vector<size_t> seen; ///< by buffer: the last query that found it
  size_t query = 0;
};

size_t Arena::add(int64_t bytes, bool isTemporary, size_t launch) {
  Buffer buffer;
  buffer.bytes = bytes;
  buffer.isTemporary = isTemporary;
  buffer.first = buffer.last = launch;
  buffer.within = buffers.size();
  buffers.push_back(buffer);
  return buffers.size() - 1;
}

void Arena::touch(size_t buffer, size_t launch) {
  Buffer &root = buffers[rootOf(buffer)];
  root.first = std::min(root.first, launch);
  root.last = std::max(root.last, launch);
}

void Arena::setLasting(size_t buffer) { buffers[rootOf(buffer)].isTemporary = false; }

void Arena::putInto(size_t buffer, size_t other) {
  const size_t from = rootOf(buffer), to = rootOf(other);
  if (from == to)
    return;
  buffers[to].first = std::min(buffers[to].first, buffers[from].first);
  buffers[to].last = std::max(buffers[to].last, buffers[from].last);
  buffers[to].isTemporary = buffers[to].isTemporary && buffers[from].isTemporary;
  buffers[from].within = to;
}

void Arena::mayTakePlaceOf(size_t buffer, size_t operand, size_t launch) {
  if (isTemporary(operand) && bytesOf(rootOf(operand)) == bytesOf(buffer))
    mayShare.push_back({buffer, operand, launch});
}

void Arena::assignAddresses() {
  for (const auto &[buffer, operand, launch] : mayShare) {
    const size_t from = rootOf(buffer), to = rootOf(operand);
    if (from != to && buffers[from].isTemporary && buffers[to].isTemporary &&
        buffers[to].last == launch && buffers[from].first == launch)
      putInto(buffer, operand);
  }
  uint32_t spaces = 1;
  std::vector<size_t> temporaries;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (rootOf(i) != i)
      continue;
    if (buffers[i].isTemporary)
      temporaries.push_back(i);
    else
      buffers[i].space = spaces++;
  }
  std::stable_sort(temporaries.begin(), temporaries.end(),
                   [&](size_t a, size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  Lives placed(buffers);
  for (size_t buffer : temporaries) {
    buffers[buffer].offset = gapFor(buffers[buffer], placed.liveWith(buffers[buffer]));
    placed.add(buffer);
  }
}

/// The smallest gap that is free over the buffer's life, or behind all that is live.
int64_t Arena::gapFor(const Buffer &wanted, const std::vector<size_t> &live) const {
  std::vector<std::pair<int64_t, int64_t>> busy;
  for (size_t other : live)
    busy.push_back({buffers[other].offset, buffers[other].offset + buffers[other].bytes});
  std::sort(busy.begin(), busy.end());
  int64_t at = 0, best = -1, room = 0;
  for (const auto &[begin, end] : busy) {
    if (begin - at >= wanted.bytes && (best < 0 || begin - at < room)) {
      best = at;
      room = begin - at;
    }
    at = std::max(at, (end + alignment - 1) / alignment * alignment);
  }
  return best >= 0 ? best : at;
}

} // namespace tilewright
