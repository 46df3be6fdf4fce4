// The pairs of model and device that `explore` is asked for.
#pragma once

#include "tools/tilewright/batch.h"
#include "tools/tilewright/model_input.h"

#include <optional>
#include <set>

namespace tilewright::cli {

/// A model of a batch on one of its devices.
struct BatchModel {
  std::string path;
  std::string module; ///< of the file; empty: it holds no other
  DimSizes sizes;     ///< of dims that it leaves open
  std::string hash;   ///< of the file's text
  std::string key;   ///< a hash of all that its result depends on; empty where it could not be read
  size_t device = 0; ///< its place among the batch's

  std::string name() const {
    return module.empty() ? modelName(path) : modelName(path) + "#" + module;
  }
};

/// A hash for detecting changes.
std::string fingerprint(std::initializer_list<std::string_view> parts);

/// Each model on each device: those of the first device in order, then those of the next. Those
/// that could not be read have no key, and `failed` is called for them. `keyed`: of each device all
/// that a result depends on but the model.
std::vector<BatchModel>
batchModels(const std::vector<std::string> &given, const ModuleChoice &choice,
            const std::vector<std::string> &keyed,
            const std::function<void(const std::string &path, llvm::Error)> &failed);

/// Every nth pair of a batch: "2/8" is the second of eight shards.
struct Shard {
  size_t index = 1, count = 1;

  bool holds(size_t pair) const { return pair % count == index - 1; }
};
/// BadInput for what is no I/N with 1 <= I <= N <= 100000.
llvm::Expected<Shard> parseShard(const std::string &text);

} // namespace tilewright::cli
