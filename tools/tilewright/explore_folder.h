// The folder of `explore --out`: explore.json, and a model's result, plans and samples, each kept
// so that an interrupted run can go on.
#pragma once

#include "analysis/support/output_folder.h"
#include "tools/tilewright/explore_batch.h"

namespace tilewright::cli {

class ExploreFolder {
public:
  /// With `resume`, the models of earlier runs that have the same key and whose files are all there
  /// and whole are kept; whatever else earlier runs wrote is removed with the first new result.
  /// Errors: those of OutputFolder::open().
  static llvm::Expected<ExploreFolder> open(const std::string &out, bool resume,
                                            const std::vector<BatchModel> &models);

  /// The entry of a model that is kept.
  std::optional<Json> find(size_t index) const;

  /// Writes the files of a model and names its plans in the entry: those of each kernel's best plan
  /// and of its samples. A plan that can't stand on its own (an input that is a tuple) has no file.
  llvm::Error write(size_t index, const ExploredModel &model, Json &entry);

  /// A model was written, also where another process did it.
  void isStarted() { started = true; }

  /// Removes what was written of a model that failed.
  void forget(size_t index);

  /// Copies a model's files from another folder that keeps them. Returns its entry.
  llvm::Expected<Json> take(size_t index, const ExploreFolder &from);

  /// Writes explore.json, or of a shard shard.json.
  llvm::Error finish(const std::string &name, const std::string &document);

private:
  ExploreFolder(OutputFolder folder, const std::vector<BatchModel> &models);
  void keep(size_t index);
  void start();
  llvm::Error writePlans(size_t index, const ExploredModel &model, Json &entry);

  OutputFolder folder;
  const std::vector<BatchModel> &models;
  std::vector<std::optional<Json>> kept;
  std::set<std::string> keptFiles;
  bool started = false; ///< what earlier runs left is removed
};

} // namespace tilewright::cli
