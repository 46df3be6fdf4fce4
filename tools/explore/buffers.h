// Where the values of a computation lie in memory, and who may overwrite them.
//
// A dynamic-update-slice or scatter makes a new value of which most is the old one. Where nobody
// needs the old value any more it can be written into the old one's buffer, and what runs writes
// the window alone:
//
//   loop:  all = (state, 2);  put = dynamic-update-slice(all, row, i);  (…, …, put) is carried on
//
// `all` is read by nobody else and `put` is carried on in its place: a row is written. A buffer is
// an update's to overwrite if
//   - it was made by something else that ran (a kernel, a library, a loop), is a donated argument
//     of the module, or is an element of a loop's state that the update's result is carried on as;
//   - no kernel that waits for the update reads it, no other one updates it, and it is no result.
#pragma once

#include "analysis/ir/donation.h"
#include "tools/explore/grouping.h"

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tilewright {

/// What an op makes: all of it (element -1) or an element of its tuple.
struct BufferValue {
  OpId op;
  int64_t element = -1;
  auto operator<=>(const BufferValue &) const = default;
};

/// An update of a buffer: `result` is `buffer` with something written over it.
struct BufferUpdate {
  BufferValue result;
  OpId buffer;          ///< operand of the updating op
  int64_t element = -1; ///< of the operand's tuple (a loop's state)
  OpId inner;           ///< the dynamic-update-slice or scatter: the op, or in a fusion's body
};

/// The updates that an op is, one a result. Empty with a reason: a fusion that reads more of what
/// it updates than the window that it writes. Empty without one: no update.
std::vector<BufferUpdate> updatesOf(const Module &module, const Op &op, OpId id,
                                    std::string &reason);

/// By computation: the elements of its parameter that it updates in place as the body of a loop.
using UpdatedElements = std::map<uint32_t, std::vector<int64_t>>;

class Buffers {
public:
  /// Of the computation `graph`. Kernels are those that it runs as, each of whose ops run together.
  /// `known`: what is known of the bodies of loops, which is added to.
  Buffers(const Module &module, GraphId graph, const std::vector<KernelGroup> &kernels,
          UpdatedElements &known);

  /// The value in whose buffer this one lies: seen through tuples and ops that move no byte.
  BufferValue source(BufferValue value) const;

  /// Why an update must write a copy in place of its buffer; empty: it need not.
  std::string whyCopied(const BufferUpdate &update) const;

  /// Is it a result of an op that updates a buffer?
  bool isUpdated(BufferValue result) const { return updates.count(result) > 0; }

  /// Is something else than `reader` reading it, or is it a result of the computation?
  bool isReadBesides(BufferValue source, OpId reader) const;

  /// The ops that run after an op because they need it, kernels as a whole.
  std::vector<bool> after(OpId op) const;

  /// Elements of the state of the loop whose body this is that are updated in place: of the
  /// parameter, ascending.
  std::vector<int64_t> updatedElements() const;

private:
  void addUpdate(const BufferUpdate &update);
  void addLoop(OpId loop, UpdatedElements &known);
  std::string whyNotOurs(BufferValue source, const BufferUpdate &update) const;
  bool isCarriedBack(int64_t element, std::optional<OpId> through) const;

  const Module &module;
  const Graph &graph;
  bool isEntry = false, isBody = false, isScheduledModule = false;
  std::set<EntryArgument> donated;
  std::vector<std::vector<OpId>> users;
  std::vector<std::vector<OpId>> together;           ///< by op: all ops of its kernel
  std::map<BufferValue, std::vector<OpId>> readers;  ///< by source
  std::set<BufferValue> results;                     ///< sources of the computation's results
  std::map<BufferValue, BufferUpdate> updates;       ///< by result
  std::map<BufferValue, std::vector<OpId>> updaters; ///< by source, ascending
};

} // namespace tilewright
