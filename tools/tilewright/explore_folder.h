// The folder of `explore --out`: explore.json, and a model's result, plans and samples, each kept
// so that an interrupted run can go on.
#pragma once

#include "analysis/explore/explore.h"
#include "analysis/support/output_folder.h"
#include "tools/tilewright/command.h"
#include "tools/tilewright/model_input.h"

#include <optional>

namespace tilewright::cli {

/// One model of a batch.
struct BatchModel {
  std::string path;
  std::string module; ///< of the file; empty: it holds no other
  DimSizes sizes;
  std::string hash; ///< of the file's text
  std::string key;  ///< a hash of all that its result depends on; empty where it could not be read

  std::string name() const {
    return module.empty() ? modelName(path) : modelName(path) + "#" + module;
  }
};

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

  /// Writes explore.json.
  llvm::Error finish(const std::string &document);

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
