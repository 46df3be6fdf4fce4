#include "tools/tilewright/explore_shard.h"

#include "analysis/support/json_text.h"

#include <fmt/ranges.h>

namespace tilewright::cli {

std::string shardText(const ExploredBatch &batch, const Shard &shard) {
  Json document = newDocument("explore.shard");
  document["shard"] = {{"index", shard.index}, {"count", shard.count}};
  document["batch"] = batch.identity();
  document["heads"] = batch.heads;
  document["pairs"] = Json::array();
  for (size_t i = 0; i < batch.pairs.size(); ++i) {
    const ExploredPair &pair = batch.pairs[i];
    Json row = {{"name", pair.name}, {"device", pair.device}, {"key", pair.key}};
    if (shard.holds(i))
      row["failure"] = pair.failure;
    document["pairs"].push_back(std::move(row));
  }
  return dump(document);
}

namespace {

/// What a field that has to be there is; the first that is not makes all of it unreadable.
class ShardReader {
public:
  explicit ShardReader(const Json &document) : document(document) {}

  bool read(ShardResult &result) const {
    if (!isNumber(document, "/shard/index") || !isNumber(document, "/shard/count") ||
        !isText(document, "batch") || !isList(document, "heads") || !isList(document, "pairs"))
      return false;
    result.shard = {document["shard"]["index"], document["shard"]["count"]};
    result.identity = document["batch"];
    for (const Json &head : document["heads"])
      result.batch.heads.push_back(head);
    for (const Json &row : document["pairs"]) {
      if (!isText(row, "name") || !isText(row, "key") || !isNumber(row, "/device"))
        return false;
      result.batch.pairs.push_back({row["name"], row["device"], row["key"], Json(),
                                    row.contains("failure") ? row["failure"] : Json()});
      if (result.batch.pairs.back().device >= result.batch.heads.size())
        return false;
    }
    return result.shard.index >= 1 && result.shard.index <= result.shard.count &&
           !result.batch.heads.empty() &&
           result.batch.pairs.size() % result.batch.heads.size() == 0;
  }

private:
  static bool isNumber(const Json &object, const char *place) {
    const Json::json_pointer pointer(place);
    return object.is_object() && object.contains(pointer) && object[pointer].is_number_unsigned();
  }
  static bool isText(const Json &object, const char *key) {
    return object.is_object() && object.contains(key) && object[key].is_string();
  }
  static bool isList(const Json &object, const char *key) {
    return object.is_object() && object.contains(key) && object[key].is_array();
  }

  const Json &document;
};

} // namespace

llvm::Expected<ShardResult> readShard(const std::string &folder) {
  const std::string file = folder + "/shard.json";
  llvm::Expected<std::string> text = readFile(file);
  if (!text)
    return text.takeError();
  llvm::Expected<Json> document = parseJson<Json>(file, *text, 64);
  if (!document)
    return document.takeError();
  ShardResult result;
  result.folder = folder;
  const Json known = newDocument("explore.shard");
  auto isKnown = [&](const char *key) {
    return document->contains(key) && (*document)[key] == known[key];
  };
  if (!document->is_object() || !isKnown("schema") || !isKnown("schema_version") ||
      !ShardReader(*document).read(result))
    return makeError(DiagClass::BadInput, "{}: is no result of explore --shard", file);
  if (result.batch.identity() != result.identity)
    return makeError(DiagClass::BadInput, "{}: was changed since it was written", file);
  return result;
}

llvm::Error checkShards(const std::vector<ShardResult> &shards) {
  const ShardResult &first = shards.front();
  std::vector<const ShardResult *> byIndex(first.shard.count);
  for (const ShardResult &each : shards) {
    if (each.identity != first.identity)
      return makeError(DiagClass::BadInput,
                       "{} is of another batch than {}: other models, devices, options or another "
                       "version",
                       each.folder, first.folder);
    if (each.shard.count != first.shard.count)
      return makeError(DiagClass::BadInput, "{} is one of {} shards, {} one of {}", each.folder,
                       each.shard.count, first.folder, first.shard.count);
    const ShardResult *&place = byIndex[each.shard.index - 1];
    if (place)
      return makeError(DiagClass::BadInput, "{} and {} are both shard {}/{}", place->folder,
                       each.folder, each.shard.index, each.shard.count);
    place = &each;
  }
  std::vector<std::string> missing;
  constexpr size_t mostNamed = 10;
  for (size_t i = 0; i < byIndex.size(); ++i)
    if (!byIndex[i])
      missing.push_back(fmt::format("{}/{}", i + 1, byIndex.size()));
  if (missing.empty())
    return llvm::Error::success();
  const size_t all = missing.size();
  missing.resize(std::min(all, mostNamed));
  return makeError(DiagClass::BadInput, "{} of {} shards are missing: {}{}", all, byIndex.size(),
                   fmt::join(missing, ", "), all > mostNamed ? ", …" : "");
}

} // namespace tilewright::cli
