// tilewright merge: the results of all shards of a batch as those of one run.
#include "tools/tilewright/explore_shard.h"

namespace tilewright::cli {

namespace {

struct MergeArguments {
  std::vector<std::string> shards;
  std::string out;
  bool json = false;
};

/// Takes results and failures of the shards that hold them.
llvm::Error collect(const std::vector<ShardResult> &shards, const std::vector<BatchModel> &models,
                    ExploreFolder &out, ExploredBatch &batch, Batch &failures) {
  for (const ShardResult &each : shards) {
    llvm::Expected<ExploreFolder> from = ExploreFolder::open(each.folder, true, models);
    if (!from)
      return from.takeError();
    for (size_t i = 0; i < batch.pairs.size(); ++i) {
      ExploredPair &pair = batch.pairs[i];
      if (!each.shard.holds(i))
        continue;
      pair.failure = each.batch.pairs[i].failure;
      if (!pair.failure.is_null())
        continue;
      llvm::Expected<Json> entry = out.take(i, *from);
      if (!entry)
        return entry.takeError();
      pair.entry = std::move(*entry);
    }
  }
  for (const ExploredPair &pair : batch.pairs)
    if (!pair.failure.is_null() && !(pair.key.empty() && pair.device > 0)) // unreadable ones once
      failures.add(pair.failure,
                   batch.heads.size() > 1 && !pair.key.empty()
                       ? " on " + batch.heads[pair.device]["device"]["name"].get<std::string>()
                       : "");
  return llvm::Error::success();
}

int merge(const MergeArguments &options) {
  std::vector<ShardResult> shards;
  for (const std::string &folder : options.shards) {
    llvm::Expected<ShardResult> shard = readShard(folder);
    if (!shard)
      return failInput(shard.takeError());
    shards.push_back(std::move(*shard));
  }
  if (llvm::Error error = checkShards(shards))
    return failInput(std::move(error));
  ExploredBatch batch = shards.front().batch;
  std::vector<BatchModel> models;
  for (const ExploredPair &pair : batch.pairs)
    models.push_back({pair.name, {}, {}, {}, pair.key, pair.device});
  llvm::Expected<ExploreFolder> out = ExploreFolder::open(options.out, false, models);
  if (!out)
    return failInput(out.takeError());
  Batch failures("models");
  if (llvm::Error error = collect(shards, models, *out, batch, failures))
    return failInput(std::move(error));
  if (!batch.hasResult())
    return failures.finish(batch.pairs.size());
  const Json document = batch.document();
  if (llvm::Error error = out->finish("explore.json", dump(document)))
    return failInput(std::move(error));
  if (options.json)
    print(document);
  else
    printExplored(document, options.out + "/explore.json");
  return failures.finish(batch.pairs.size());
}

int runMerge(const MergeArguments &options) {
  try {
    return merge(options);
  } catch (const Json::exception &problem) { // made by hand: its hash is right, its content is not
    return failInput(
        makeError(DiagClass::BadInput, "the shards are no results of explore: {}", problem.what()));
  }
}

} // namespace

void addMerge(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<MergeArguments>();
  CLI::App *command = app.add_subcommand("merge", "The shards of a batch as one result of explore");
  command->footer("Example:\n"
                  "  tilewright merge part1 part2 part3 --out out\n"
                  "The result is, byte for byte, that of explore without --shard. Shards that are "
                  "missing, there\ntwice, damaged or of another batch are refused. Exit code as "
                  "of explore.");
  command->add_option("SHARD", options->shards, "Folders of explore --shard, all of a batch")
      ->required();
  command->add_option("-o,--out", options->out, "Folder, as of explore --out")->required();
  command->add_flag("--json", options->json, "Print JSON");
  command->callback(
      [options, &selection] { selection.run = [options] { return runMerge(*options); }; });
}

} // namespace tilewright::cli
