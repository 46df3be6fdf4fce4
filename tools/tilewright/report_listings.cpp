#include "tools/tilewright/report_listings.h"

#include "analysis/program/text.h"
#include "analysis/support/json_text.h"
#include "tools/tilewright/command.h"
#include "tools/tilewright/program_input.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

namespace tilewright::cli {

namespace {

constexpr unsigned maxManifestDepth = 64;

/// What makes a kernel, of a plan's document or of a manifest's entry; empty where it isn't there.
std::string planKey(const nlohmann::json &of) {
  if (!of.is_object() || !of.contains("plan") || !of.contains("hlo"))
    return {};
  return of["plan"].dump() + of["hlo"].dump();
}

std::optional<ReportListing> programListing(const std::string &file, const std::string &text) {
  llvm::Expected<program::PlanProgram> made = programOfText(file, text, {});
  if (!made) {
    llvm::consumeError(made.takeError()); // sorts and the like have none
    return std::nullopt;
  }
  llvm::Expected<program::Program> shown = program::substituteSizes(made->last(), made->sizes);
  if (!shown) {
    llvm::consumeError(shown.takeError());
    return std::nullopt;
  }
  return ReportListing{"Tile program", program::printProgram(*shown)};
}

/// A file name out of a document stays inside its folder.
bool isInside(const std::filesystem::path &name) {
  return name.is_relative() &&
         std::none_of(name.begin(), name.end(), [](const auto &part) { return part == ".."; });
}

} // namespace

bool isPack(const std::string &folder) {
  std::error_code error;
  return std::filesystem::is_regular_file(folder + "/manifest.json", error);
}

llvm::Error PackListings::add(const std::string &folder) {
  const std::string path = folder + "/manifest.json";
  llvm::Expected<std::string> text = readFile(path);
  if (!text)
    return text.takeError();
  auto manifest = parseJson<nlohmann::json>(path, *text, maxManifestDepth);
  if (!manifest)
    return manifest.takeError();
  if (!manifest->is_object() || manifest->value("schema", nlohmann::json()) != "tilewright.pack" ||
      !(*manifest)["kernels"].is_array())
    return makeError(DiagClass::BadInput, "{}: no manifest of a pack", path);
  const nlohmann::json target = manifest->value("target", nlohmann::json());
  for (const nlohmann::json &kernel : (*manifest)["kernels"]) {
    const nlohmann::json file =
        kernel.is_object()
            ? kernel.value(nlohmann::json::json_pointer("/files/ptx"), nlohmann::json())
            : nlohmann::json();
    if (file.is_string() && isInside(file.get<std::string>()))
      entries.push_back({planKey(kernel), folder + "/" + file.get<std::string>(),
                         target.is_string() ? target.get<std::string>() : ""});
  }
  return llvm::Error::success();
}

std::vector<ReportListing> PackListings::of(const std::string &planText) const {
  auto plan = parseJson<nlohmann::json>("plan", planText, maxManifestDepth);
  if (!plan) {
    llvm::consumeError(plan.takeError());
    return {};
  }
  std::vector<ReportListing> found;
  const std::string key = planKey(*plan);
  for (const Entry &entry : entries) {
    if (key.empty() || entry.plan != key)
      continue;
    if (llvm::Expected<std::string> ptx = readFile(entry.file))
      found.push_back({entry.target.empty() ? "PTX" : "PTX for " + entry.target, *ptx});
    else
      llvm::consumeError(ptx.takeError());
  }
  return found;
}

std::function<std::vector<ReportListing>(const std::string &)>
listingsOf(const std::string &folder, std::shared_ptr<const PackListings> packs) {
  return [folder, packs](const std::string &planFile) {
    std::vector<ReportListing> listings;
    if (!isInside(planFile))
      return listings;
    const std::string path = folder + "/" + planFile;
    llvm::Expected<std::string> text = readFile(path);
    if (!text) {
      llvm::consumeError(text.takeError()); // a report can be made of explore.json alone
      return listings;
    }
    if (std::optional<ReportListing> program = programListing(path, *text))
      listings.push_back(std::move(*program));
    for (ReportListing &ptx : packs->of(*text))
      listings.push_back(std::move(ptx));
    return listings;
  };
}

} // namespace tilewright::cli
