// The document of `explore`: of one device its models, of several all of that and a matrix.
#pragma once

#include "tools/tilewright/device_choices.h"
#include "tools/tilewright/explore_batch.h"

namespace tilewright::cli {

/// What is known of a pair of model and device: at most one of its result and its failure.
struct ExploredPair {
  std::string name;    ///< of the model
  size_t device = 0;   ///< its place among the batch's
  std::string key;     ///< as of BatchModel; empty where the model could not be read
  Json entry, failure; ///< null: none
};

/// A batch with what is done of it.
struct ExploredBatch {
  std::vector<Json> heads;         ///< of each device: its document but for models and failures
  std::vector<ExploredPair> pairs; ///< as batchModels() has them

  /// Tells batches apart: a hash of all that their results depend on.
  std::string identity() const;
  /// `tilewright.explore` of one device; of several `tilewright.explore.devices` with `runs[]`,
  /// each of them such a document, and `matrix{}`. Pairs without a result are in `not_explored[]`
  /// where `isWhole` is false.
  Json document(bool isWhole = true) const;
  bool hasResult() const;
};

/// The document but for models and failures.
Json exploreHead(const AskedDevice &device, const std::string &cache,
                 const std::string &instruction);

/// The text of a document; `writtenTo`: the file, or empty.
void printExplored(const Json &document, const std::string &writtenTo);

} // namespace tilewright::cli
