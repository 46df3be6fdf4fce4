#include "profiler/library.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace tilewright::profile {

std::string gpuLibraryFolder() {
  const char *folder = std::getenv("TILEWRIGHT_GPU_LIBRARIES");
  return folder ? folder : "";
}

Library Library::open(std::initializer_list<const char *> names) {
  Library library;
  std::string folder = gpuLibraryFolder();
  for (const char *name : names) {
    bool isPath = std::strchr(name, '/') != nullptr;
    if (!folder.empty() && isPath)
      continue;
    std::string path = folder.empty() ? name : folder + "/" + name;
    library.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library.handle)
      return library;
    const char *error = dlerror();
    if (library.why.empty())
      library.why = error ? error : path + " can't be opened";
  }
  return library;
}

void *Library::symbol(const char *name) const { return handle ? dlsym(handle, name) : nullptr; }

} // namespace tilewright::profile
