#include "profiler/text.h"

#include "analysis/support/digest.h"
#include "analysis/support/replace_file.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

namespace tilewright::profile {

std::string hashText(std::string_view bytes) { return hexDigits(fnv1a(bytes)); }

Result<std::string> readTextFile(const std::string &path, uint64_t maxBytes) {
  std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file)
    return Failure{FailureKind::BadInput, "can't read " + path + ": " + std::strerror(errno)};
  std::string text;
  char block[1 << 16];
  while (size_t got = std::fread(block, 1, sizeof block, file.get())) {
    text.append(block, got);
    if (text.size() > maxBytes)
      return Failure{FailureKind::BadInput,
                     path + ": more than the " + std::to_string(maxBytes) + " bytes allowed"};
  }
  if (std::ferror(file.get()))
    return Failure{FailureKind::BadInput, "can't read " + path + ": " + std::strerror(errno)};
  return text;
}

Status writeTextFile(const std::string &path, std::string_view bytes) {
  std::string problem = replaceFile(path, bytes);
  if (problem.empty())
    return fine();
  return Failure{FailureKind::BadInput, path + ": " + problem};
}

std::string numberText(double value) {
  char text[40];
  bool isWhole = std::floor(value) == value && std::abs(value) < 1e15;
  std::snprintf(text, sizeof text, isWhole ? "%.0f" : "%.6g", value);
  return text;
}

} // namespace tilewright::profile
