// The models that tests run over.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace tilewright {

/// Paths of the bundled models, sorted. Tests run from the source directory.
inline std::vector<std::string> bundledModels() {
  std::vector<std::string> paths;
  for (const auto &entry : std::filesystem::directory_iterator("datasets/models"))
    if (entry.path().string().ends_with(".hlo.txt"))
      paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

} // namespace tilewright
