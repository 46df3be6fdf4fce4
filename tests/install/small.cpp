// One folder's library alone brings all that it needs.
#include "analysis/import/hlo_text.h"
#include "analysis/import/import_file.h"

#include <cstdio>

int main(int argc, char **argv) {
  llvm::Expected<tilewright::Module> module = tilewright::importFile(argc > 1 ? argv[1] : "");
  if (!module) {
    std::fputs(tilewright::takeDiag(module.takeError()).str().c_str(), stderr);
    return 2;
  }
  std::printf("%zu ops\n", static_cast<size_t>(module->entry().size()));
  return 0;
}
