#include "analysis/support/diag.h"
#include "analysis/support/replace_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <zlib.h>

namespace tilewright {

llvm::Expected<std::string> readFile(const std::string &path, uint64_t maxBytes) {
  std::error_code ec;
  if (std::filesystem::is_directory(path, ec))
    return makeError(DiagClass::BadInput, "{}: is a folder, a file is needed", path);
  errno = 0;
  gzFile file = gzopen(path.c_str(), "rb"); // passes plain files through unchanged
  if (!file)
    return makeError(DiagClass::BadInput, "{}: cannot open: {}", path,
                     errno ? std::strerror(errno) : "out of memory");
  std::string bytes;
  std::string chunk(1 << 16, '\0');
  int got;
  while ((got = gzread(file, chunk.data(), static_cast<unsigned>(chunk.size()))) > 0) {
    bytes.append(chunk.data(), static_cast<size_t>(got));
    if (bytes.size() > maxBytes) {
      gzclose(file);
      return makeError(DiagClass::BadInput, "{}: more than {} bytes after unpacking", path,
                       maxBytes);
    }
  }
  int code = Z_OK;
  std::string reason = gzerror(file, &code);
  int closed = gzclose(file); // Z_BUF_ERROR: the gzip stream ends early
  if (got < 0 || (code != Z_OK && code != Z_STREAM_END) || closed == Z_BUF_ERROR)
    return makeError(DiagClass::BadInput, "{}: cannot read: {}", path,
                     reason.empty() ? "the compressed data ends early" : reason);
  return bytes;
}

llvm::Error writeFileAtomically(const std::string &path, std::string_view bytes) {
  std::string problem = replaceFile(path, bytes);
  if (problem.empty())
    return llvm::Error::success();
  return makeError(DiagClass::BadInput, "{}: {}", path, problem);
}

} // namespace tilewright
