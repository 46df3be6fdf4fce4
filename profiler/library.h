// Shared libraries that are opened at run time, so that the program starts without them.
#pragma once

#include <initializer_list>
#include <string>

namespace tilewright::profile {

/// Folder to look for the GPU's libraries in, and nowhere else: $TILEWRIGHT_GPU_LIBRARIES. Empty
/// where the system's search decides.
std::string gpuLibraryFolder();

class Library {
public:
  Library() = default;

  /// Opens the first of these that there is: a file name to be searched for, or a path. Where a
  /// folder is set (see above), only the file names are tried, in it.
  static Library open(std::initializer_list<const char *> names);

  bool isOpen() const { return handle != nullptr; }
  const std::string &error() const { return why; } ///< where none was there
  void *symbol(const char *name) const;

private:
  void *handle = nullptr; // never closed: the driver keeps threads
  std::string why;
};

} // namespace tilewright::profile
