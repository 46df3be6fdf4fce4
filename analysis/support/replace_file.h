// The one way in which files that others may read are written. Only the standard library and POSIX
// are used.
#pragma once

#include <string>
#include <string_view>

namespace tilewright {

/// Gives the file `path` these bytes; a reader sees the old ones or the new ones and nothing in
/// between: they go to a new file beside it that takes its place. A symbolic link stays, and what
/// it leads to is replaced. What is no plain file (a pipe, /dev/null, /dev/stdout) is written
/// through. Folders and disks are refused. The file keeps its permissions. Returns why it failed:
/// "cannot write: no space left on device"; empty if it did not.
std::string replaceFile(const std::string &path, std::string_view bytes);

/// `path` with the symbolic links at its end followed, also where what they lead to is not there.
std::string withoutLinks(const std::string &path);

/// A path in the folder of `path` that nothing else has: ".NAME.tmp" with digits by chance, so that
/// files that killed runs left behind are in nobody's way.
std::string temporaryBeside(const std::string &path);

} // namespace tilewright
