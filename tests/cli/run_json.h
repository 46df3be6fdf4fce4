// The program's JSON.
#pragma once

#include "tests/cli/run_program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilewright::test {

/// The document of a command with --json; discarded where there is none.
inline nlohmann::json runJson(std::vector<std::string> arguments, int exitCode = 0) {
  arguments.push_back("--json");
  const Outcome outcome = runTilewright(arguments, {}, 300);
  EXPECT_EQ(outcome.exitCode, exitCode) << outcome.describe();
  return nlohmann::json::parse(outcome.out, nullptr, false);
}

/// The model of an exploration of one file.
inline nlohmann::json exploreJson(const std::string &path,
                                  const std::vector<std::string> &more = {}) {
  std::vector<std::string> arguments = {"explore", path};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const nlohmann::json document = runJson(arguments);
  return document.is_discarded() ? nlohmann::json() : document["models"][0];
}

} // namespace tilewright::test
