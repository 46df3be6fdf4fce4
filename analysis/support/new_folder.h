// A folder that appears at once and whole, as replaceFile() does it for files.
#pragma once

#include "llvm/Support/Error.h"

#include <string>
#include <string_view>

namespace tilewright {

/// Files go to a folder beside `target`, which takes its place in the end and is removed otherwise.
/// A symbolic link stays, and what it leads to is replaced.
class NewFolder {
public:
  /// Errors: BadInput where no folder can be made, or the target is the current folder or around
  /// it: programs that stand in it would lose it.
  static llvm::Expected<NewFolder> at(const std::string &target);
  NewFolder(NewFolder &&other) noexcept;
  NewFolder &operator=(NewFolder &&) = delete;
  ~NewFolder();

  llvm::Error write(const std::string &name, std::string_view bytes) const;

  /// Ends the making. Errors: BadInput; the old folder is then still there.
  llvm::Error moveIntoPlace();

private:
  NewFolder() = default;
  std::string path, target; ///< the first is empty once nothing is to be removed
};

} // namespace tilewright
