// The part of a batch that one run of `explore --shard` did, and several of them as one again.
#pragma once

#include "tools/tilewright/explore_document.h"
#include "tools/tilewright/explore_folder.h"

namespace tilewright::cli {

/// The text of shard.json: the batch, its pairs by name and key, and which of them failed; results
/// lie beside it as those of every run.
std::string shardText(const ExploredBatch &batch, const Shard &shard);

/// One that was read.
struct ShardResult {
  std::string folder;
  Shard shard;
  std::string identity;
  ExploredBatch batch; ///< with failures, without entries
};
/// Errors are BadInput, with the file in front.
llvm::Expected<ShardResult> readShard(const std::string &folder);

/// BadInput where these are not all the shards of one batch, each once: says which is missing,
/// there twice, or of another batch.
llvm::Error checkShards(const std::vector<ShardResult> &shards);

} // namespace tilewright::cli
