// A folder that a run owns: what lies in it is of that run or of nobody of ours.
#pragma once

#include "llvm/Support/Error.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// Keeps a list of the files that runs wrote to a folder, with their hashes, in a hidden file there
/// (".tilewright-WRITER", a line a file, added before the file is written). So a later run can
/// remove what an earlier one left, tell whether it is still as it was written, and refuse what is
/// somebody else's. The list is locked while the object lives: two runs at once would mix.
class OutputFolder {
public:
  /// Makes the folder if need be. `parts` are the files and folders in it that the writer owns.
  /// Errors: BadInput for a folder that can't be written, that another run writes, or where a part
  /// holds a file that no run wrote.
  static llvm::Expected<OutputFolder> open(const std::string &folder, const std::string &writer,
                                           const std::vector<std::string> &parts);
  OutputFolder(OutputFolder &&other) noexcept;
  OutputFolder &operator=(OutputFolder &&) = delete;
  ~OutputFolder();

  const std::string &path() const { return folder; }
  std::string operator/(const std::string &name) const { return folder + "/" + name; }

  /// Is `name` a file that a run wrote, still as it was?
  bool isWhole(const std::string &name) const;

  /// Removes what runs wrote, but for the files in `kept`, and the folders that get empty.
  void removeAllBut(const std::set<std::string> &kept);

  /// Removes what runs wrote below a folder of this one.
  void removeBelow(const std::string &name);

  /// Writes a file in the folder or one below. Errors: BadInput, also where a file of that name is
  /// there that no run wrote.
  llvm::Error write(const std::string &name, std::string_view bytes);

  /// The list as it is now, without what is gone and in order: the same files give the same bytes.
  /// Ends the run's hold on the folder.
  llvm::Error finish();

private:
  OutputFolder(std::string folder, std::string list);
  /// A run that was killed while it added a line had not written that file yet.
  llvm::Error dropTornLine() const;
  /// Reads the list again: a process that was split off may have added to it.
  void load() const;
  void remove(const std::string &name) const;

  std::string folder, list;
  int descriptor = -1;
  bool isNew = false; ///< the folder was made here: it goes again where nothing is written
  mutable std::map<std::string, std::string> files; ///< names with their hashes
};

} // namespace tilewright
