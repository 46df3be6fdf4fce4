#include "costmodel/sequence/l2_contents.h"

#include <algorithm>
#include <functional>
#include <list>
#include <unordered_map>

namespace tilewright {

namespace {

constexpr int64_t leastPiece = 131072, mostPiece = 1048576;
/// Pieces that a run touches, at least as long as they don't get too large.
constexpr double mostTouches = 1 << 20;
/// Of each end of an access, where all pieces together are still too many: gigabytes, more than any
/// L2 holds. What lies between can only miss.
constexpr int64_t endPieces = 1024;
constexpr int capacities = 5;

/// A piece of a space, or the part of it that a strided region has.
struct PieceKey {
  uint32_t space, region; ///< region 0: the piece itself
  int64_t piece;
  bool operator==(const PieceKey &) const = default;
};
struct PieceHash {
  size_t operator()(const PieceKey &key) const {
    return (uint64_t(key.piece) * 0x9e3779b97f4a7c15 ^ (uint64_t(key.space) << 32 | key.region)) *
           0xbf58476d1ce4e5b9;
  }
};

/// An access piece by piece.
struct Stream {
  std::vector<std::pair<PieceKey, double>> pieces; ///< bytes of each
  double between = 0;                              ///< bytes of those left out
  bool isWrite = false;
};

class L2Contents {
public:
  explicit L2Contents(double capacity) : capacity(capacity) {}

  /// Runs a kernel; adds what it misses and what is written back, `weight` times.
  void run(const std::vector<Stream> &streams, double weight, CacheTraffic &sum) {
    size_t steps = 0;
    for (const Stream &stream : streams)
      steps = std::max(steps, stream.pieces.size());
    double back = 0;
    for (size_t s = 0; s < streams.size(); ++s) {
      const double missed = streams[s].isWrite ? 0 : weight * streams[s].between;
      sum.missedOf[s] += missed;
      sum.missedBytes += missed;
      back += streams[s].isWrite ? streams[s].between : 0;
    }
    for (size_t step = 0; step < steps; ++step)
      for (size_t s = 0; s < streams.size(); ++s) {
        const Stream &stream = streams[s];
        const size_t n = stream.pieces.size();
        double missed = 0;
        for (size_t i = n * step / steps; i < n * (step + 1) / steps; ++i)
          missed += touch(stream.pieces[i].first, stream.pieces[i].second, stream.isWrite, back);
        sum.missedOf[s] += weight * missed;
        sum.missedBytes += weight * missed;
      }
    sum.writtenBackBytes += weight * back;
  }

private:
  struct Held {
    PieceKey key;
    double bytes, dirty;
  };
  using Order = std::list<Held>; ///< the least recently used first

  double touch(PieceKey key, double bytes, bool isWrite, double &back) {
    auto found = known.find({key.space, 0, key.piece});
    if (found == known.end() && key.region)
      found = known.find(key);
    double missed = bytes;
    if (found == known.end()) {
      order.push_back({key, bytes, isWrite ? bytes : 0});
      known.emplace(key, std::prev(order.end()));
      used += bytes;
    } else {
      Held &held = *found->second;
      missed = std::max(0.0, bytes - held.bytes);
      held.bytes += missed;
      used += missed;
      if (isWrite)
        held.dirty = std::max(held.dirty, bytes);
      order.splice(order.end(), order, found->second);
    }
    while (used > capacity && order.size() > 1) {
      used -= order.front().bytes;
      back += order.front().dirty;
      known.erase(order.front().key);
      order.pop_front();
    }
    return isWrite ? 0 : missed;
  }

  const double capacity;
  double used = 0;
  Order order;
  std::unordered_map<PieceKey, Order::iterator, PieceHash> known; ///< never walked
};

/// Numbers for regions: equal ones have the same.
class Streams {
public:
  explicit Streams(double bytes) {
    while (pieceBytes < mostPiece && bytes / double(pieceBytes) > mostTouches)
      pieceBytes *= 2;
    isCut = bytes / double(pieceBytes) > mostTouches;
  }

  Stream of(const MemoryAccess &access) {
    Stream stream;
    stream.isWrite = access.isWrite;
    const bool isSpread =
        !access.isWrite && !access.region.empty() && access.bytes < double(access.extent);
    const uint32_t region = isSpread ? numberOf(access.region) : 0;
    const double share = isSpread ? access.bytes / double(access.extent) : 1;
    const int64_t end = endOf(access, isSpread);
    const int64_t last = (end - 1) / pieceBytes, tail = last - endPieces + 1;
    int64_t head = access.offset / pieceBytes + endPieces;
    head = isCut && head < tail ? head : last + 1;
    for (int64_t at = access.offset; at < end;) {
      const int64_t piece = at / pieceBytes, next = std::min(end, (piece + 1) * pieceBytes);
      if (piece == head) {
        at = tail * pieceBytes;
        stream.between = double(tail - head) * double(pieceBytes) * share;
        continue;
      }
      stream.pieces.push_back({{access.space, region, piece}, double(next - at) * share});
      at = next;
    }
    return stream;
  }

private:
  static int64_t endOf(const MemoryAccess &access, bool isSpread) {
    constexpr double most = 0x1p62; // no address lies beyond
    const double bytes = isSpread ? double(access.extent) : std::max(1.0, access.bytes);
    return access.offset + int64_t(std::min(bytes, std::max(1.0, most - double(access.offset))));
  }

  uint32_t numberOf(const std::string &region) {
    return numbers.try_emplace(region, uint32_t(numbers.size() + 1)).first->second;
  }
  int64_t pieceBytes = leastPiece;
  bool isCut = false; ///< accesses have their ends only
  std::map<std::string, uint32_t> numbers;
};

class Replay {
public:
  Replay(const std::vector<std::vector<Stream>> &streams, double capacity,
         std::vector<CacheTraffic> &sum)
      : streams(streams), contents(capacity), sum(sum) {}

  /// `weight`: what the items count for in the means; 0 in a run that only fills L2.
  void run(const std::vector<ScheduleItem> &items, double weight) {
    for (const ScheduleItem &item : items)
      if (item.body.empty()) {
        contents.run(streams[item.launch], weight, sum[item.launch]);
      } else if (item.trips == 1) {
        run(item.body, weight);
      } else {
        const auto trips = double(item.trips);
        run(item.body, weight / trips);
        run(item.body, weight * (trips - 1) / trips);
      }
  }

private:
  const std::vector<std::vector<Stream>> &streams;
  L2Contents contents;
  std::vector<CacheTraffic> &sum;
};

} // namespace

std::vector<CacheTraffic> replay(std::span<const Launch> launches,
                                 const std::vector<ScheduleItem> &items, const Device &device,
                                 const L2Shares &shares) {
  std::vector<CacheTraffic> traffic(launches.size());
  std::vector<std::vector<Stream>> streams(launches.size());
  double all = 0;
  for (const Launch &launch : launches)
    for (const MemoryAccess &access : launch.accesses)
      all += std::max(access.bytes, access.isWrite ? 0 : double(access.extent));
  Streams maker(all);
  for (size_t i = 0; i < launches.size(); ++i) {
    traffic[i].missedOf.resize(launches[i].accesses.size());
    for (const MemoryAccess &access : launches[i].accesses) {
      streams[i].push_back(maker.of(access));
      (access.isWrite ? traffic[i].writtenBytes : traffic[i].readBytes) += access.bytes;
    }
  }
  for (int i = 0; i < capacities; ++i) {
    const double share = shares.least + (shares.most - shares.least) * i / (capacities - 1);
    Replay run(streams, share * device.l2Bytes, traffic);
    run.run(items, 0);
    run.run(items, 1.0 / capacities);
  }
  return traffic;
}

} // namespace tilewright
