#include "tools/tilewright/explore_batch.h"

#include "analysis/import/import_file.h"
#include "analysis/support/digest.h"

#include <charconv>
#include <fmt/format.h>
#include <new>

namespace tilewright::cli {

std::string fingerprint(std::initializer_list<std::string_view> parts) {
  Digest digest;
  for (std::string_view part : parts)
    digest.add(part);
  return digest.str();
}

namespace {

/// The modules of a file that are to be explored, by name; of one that holds a single module, or
/// can't be read, an empty name.
std::vector<std::string> modulesOf(const std::string &path, const std::string &text,
                                   const std::string &wanted) {
  if (!wanted.empty())
    return {wanted};
  size_t headers = 0;
  for (std::string_view header : {"HloModule", "module", "\"builtin.module\""})
    for (size_t at = text.find(header); at != std::string::npos; at = text.find(header, at + 1))
      headers += at == 0 || text[at - 1] == '\n';
  if (headers > 1) {
    llvm::Expected<std::vector<Module>> modules =
        importModules(std::make_shared<SourceBuffer>(path, text));
    if (modules && modules->size() > 1)
      return moduleNames(*modules);
    llvm::consumeError(modules.takeError()); // exploring it says what is wrong
  }
  return {""};
}

/// What a file of a batch holds. Texts are not kept: a batch needs the memory of one at a time.
struct FileOfBatch {
  std::string hash; ///< of its text
  std::vector<std::string> modules;
};

llvm::Expected<FileOfBatch> lookInto(const std::string &path, const std::string &wanted) {
  try {
    llvm::Expected<std::string> text = readModelText(path);
    if (!text)
      return text.takeError();
    return FileOfBatch{fingerprint({*text}), modulesOf(path, *text, wanted)};
  } catch (const std::bad_alloc &) {
    return makeError(DiagClass::BudgetSpent, "{}: out of memory while it was read", path);
  }
}

} // namespace

std::vector<BatchModel>
batchModels(const std::vector<std::string> &given, const ModuleChoice &choice,
            const std::vector<std::string> &keyed,
            const std::function<void(const std::string &path, llvm::Error)> &failed) {
  std::vector<BatchModel> models;
  auto fail = [&](const std::string &path, llvm::Error error) {
    failed(path, std::move(error));
    models.push_back({path, {}, {}, {}, {}});
  };
  for (const std::string &each : given) {
    llvm::Expected<std::vector<ModelFile>> files = modelFiles(each, choice);
    if (!files) {
      fail(each, files.takeError());
      continue;
    }
    for (const auto &[path, wanted, sizes] : *files) {
      llvm::Expected<FileOfBatch> file = lookInto(path, wanted);
      if (!file) {
        fail(path, file.takeError());
        continue;
      }
      for (std::string &module : file->modules)
        models.push_back({path, std::move(module), sizes, file->hash, {}});
    }
  }
  std::vector<BatchModel> pairs;
  for (size_t device = 0; device < keyed.size(); ++device)
    for (BatchModel model : models) {
      model.device = device;
      std::string dims;
      for (const auto &[name, size] : model.sizes)
        dims += fmt::format("{}={} ", name, size);
      if (!model.hash.empty())
        model.key = fingerprint({model.name(), model.hash, keyed[device], dims});
      pairs.push_back(std::move(model));
    }
  return pairs;
}

llvm::Expected<Shard> parseShard(const std::string &text) {
  constexpr size_t most = 100000;
  Shard shard;
  const char *end = text.data() + text.size();
  const auto index = std::from_chars(text.data(), end, shard.index);
  if (index.ec == std::errc() && index.ptr != end && *index.ptr == '/') {
    const auto count = std::from_chars(index.ptr + 1, end, shard.count);
    if (count.ec == std::errc() && count.ptr == end && shard.index >= 1 &&
        shard.index <= shard.count && shard.count <= most)
      return shard;
  }
  return makeError(DiagClass::BadInput,
                   "--shard '{}' is not I/N, as 2/8 for the second of eight; N is at most {}",
                   excerpt(text), most);
}

} // namespace tilewright::cli
