// Packs that were changed in any way, with their digest renewed or not: none passes.
// $TILEWRIGHT_CORRUPTIONS says how many, $TILEWRIGHT_FUZZ_SEED which.
#include "analysis/support/folder_digest.h"
#include "analysis/support/json_place.h"
#include "codegen/pack.h"
#include "codegen/testing/fake_ptxas.h"
#include "codegen/testing/lowering.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <unistd.h>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Files = std::map<std::string, std::string>;

const char *scaled = R"(HloModule scaled
ENTRY main {
  x = f32[8,4] parameter(0)
  i = s32[8,4] parameter(1)
  f = f32[8,4] convert(i)
  ROOT y = f32[8,4] multiply(x, f)
})";

const char *sums = R"(HloModule sums
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY main {
  x = f32[4,40] parameter(0)
  zero = f32[] constant(0)
  ROOT y = f32[4] reduce(x, zero), dimensions={1}, to_apply=add
})";

/// Assembles by copying, and spills unless one CTA on a multiprocessor is asked for.
std::string assembler(const std::string &version) {
  return "case \"$*\" in *--version*) echo 'Cuda compilation tools, release 12.4, V" + version +
         "'; exit 0;; esac\n"
         "spills=8\n"
         "while [ $# -gt 0 ]; do\n"
         "  case $1 in *.ptx) source=$1;; -o) out=$2;; esac\n"
         "  shift\n"
         "done\n"
         "grep -q minnctapersm \"$source\" && spills=0\n"
         "echo \"ptxas info : $spills bytes spill stores, $spills bytes spill loads\"\n"
         "echo 'ptxas info : Used 40 registers'\n"
         "cp \"$source\" \"$out\"\n"
         "echo 'Cuda compilation tools, release 12.4, V" +
         version + "' >> \"$out\"\n";
}

class PackOnDisk {
public:
  PackOnDisk() {
    root = fs::temp_directory_path() / fmt::format("tilewright_corrupt_{}", getpid());
    KernelSpec first = specFromHlo(scaled, {8, 4}, 1), second = specFromHlo(sums, {2}, 2);
    first.name = "scaled";
    second.name = "sums";
    std::vector<KernelSpec> specs{first, second};
    auto emitted = emitPack(specs, llvm::cantFail(findTarget("sm_80")), path());
    EXPECT_TRUE(bool(emitted)) << takeDiag(emitted.takeError()).message;
    for (const EmittedKernel &kernel : *emitted)
      EXPECT_EQ(kernel.reason, "");
  }
  ~PackOnDisk() { fs::remove_all(root); }

  std::string path() const { return (root / "pack").string(); }

  Files read() const {
    Files files;
    for (const auto &entry : fs::directory_iterator(path())) {
      std::ifstream file(entry.path(), std::ios::binary);
      files[entry.path().filename().string()] = {std::istreambuf_iterator<char>(file), {}};
    }
    return files;
  }

  void write(const Files &files) const {
    fs::remove_all(path());
    fs::create_directories(path());
    for (const auto &[name, bytes] : files)
      std::ofstream(fs::path(path()) / name, std::ios::binary) << bytes;
  }

  /// Writes the files with a digest that fits them.
  void writeRenewed(Files files) const {
    FolderDigest digest;
    files.erase(FolderDigest::fileName);
    for (const auto &[name, bytes] : files)
      digest.add(name, bytes);
    files[FolderDigest::fileName] = digest.text();
    write(files);
  }

  /// Why the pack does not pass; empty if it does.
  std::string verdict() const {
    auto checked = checkPack(path());
    if (!checked) {
      Diag diag = takeDiag(checked.takeError());
      EXPECT_NE(diag.cls, DiagClass::Internal) << diag.str();
      return diag.str();
    }
    if (checked->passes())
      return "";
    for (const std::string &problem : checked->problems)
      return problem;
    for (const CheckedKernel &kernel : checked->kernels)
      if (kernel.outcome.status == CheckOutcome::Status::Fail)
        return kernel.name + ": " + kernel.outcome.reason;
    return "no reason";
  }

private:
  fs::path root;
};

class Corruption {
public:
  explicit Corruption(uint64_t seed) : random(seed) {}

  /// Does something to a pack's files; says what.
  std::string apply(Files &files) {
    switch (below(8)) {
    case 0:
      return removeOrAddFile(files);
    case 1:
    case 2:
    case 3:
      return changeByte(files);
    default:
      return changeField(files["manifest.json"]);
    }
  }

private:
  size_t below(size_t n) { return n ? random() % n : 0; }

  std::string removeOrAddFile(Files &files) {
    auto at = std::next(files.begin(), static_cast<std::ptrdiff_t>(below(files.size())));
    std::string name = at->first;
    switch (below(4)) {
    case 0:
      files.erase(at);
      return "without " + name;
    case 1:
      files["extra.cubin"] = at->second;
      return "with extra.cubin";
    case 2:
      at->second.resize(below(at->second.size()));
      return "cut: " + name;
    default:
      at->second += 'x';
      return "longer: " + name;
    }
  }

  std::string changeByte(Files &files) {
    auto at = std::next(files.begin(), static_cast<std::ptrdiff_t>(below(files.size())));
    size_t place = below(at->second.size());
    char old = at->second[place];
    do
      at->second[place] = static_cast<char>(random());
    while (at->second[place] == old);
    return fmt::format("{} byte {}: {} to {}", at->first, place, int(old), int(at->second[place]));
  }

  static void collect(Json &at, const std::string &path,
                      std::vector<std::pair<Json *, std::string>> &found) {
    found.emplace_back(&at, path);
    if (at.is_object())
      for (auto &[key, value] : at.items())
        collect(value, path + "/" + key, found);
    else if (at.is_array())
      for (size_t i = 0; i < at.size(); ++i)
        collect(at[i], path + "/" + std::to_string(i), found);
  }

  std::string changeField(std::string &manifest) {
    Json root = Json::parse(manifest), before = root;
    std::vector<std::pair<Json *, std::string>> values;
    collect(root, "", values);
    std::string path;
    while (root == before) {
      auto &[value, where] = values[below(values.size())];
      path = where;
      change(*value);
    }
    manifest = root.dump(2) + "\n";
    const Json::json_pointer at(path);
    return "field " + path + " to " + (root.contains(at) ? root.at(at).dump() : "nothing");
  }

  void change(Json &value) {
    if (value.is_structured() && below(4) == 0) {
      value = Json();
    } else if (value.is_object()) {
      if (below(2))
        value["more"] = 1;
      else if (!value.empty())
        value.erase(std::next(value.begin(), static_cast<std::ptrdiff_t>(below(value.size()))));
    } else if (value.is_array()) {
      if (value.empty() || below(3) == 0)
        value.push_back(value.empty() ? Json(1) : value[below(value.size())]);
      else if (below(2))
        value.erase(below(value.size()));
      else
        std::swap(value[0], value[below(value.size())]);
    } else if (value.is_string()) {
      std::string text = value;
      switch (below(3)) {
      case 0:
        text += "0";
        break;
      case 1:
        text = "";
        break;
      default:
        if (!text.empty())
          text[below(text.size())] ^= 1;
      }
      value = text;
    } else if (value.is_boolean()) {
      value = !value.get<bool>();
    } else if (value.is_number()) {
      double old = value.get<double>();
      const Json others[] = {old + 1, static_cast<int64_t>(old) + 1, 0, -old, 1e300, "1",
                             Json(),  static_cast<int64_t>(old) * 2};
      value = others[below(std::size(others))];
    } else {
      value = "12.4.131";
    }
  }

  std::mt19937_64 random;
};

size_t setting(const char *name, size_t otherwise) {
  const char *value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

TEST(PackCorruption, NoChangeWithAMeaningPasses) {
  FakePtxas ptxas(assembler("12.4.131"));
  PackOnDisk pack;
  const Files good = pack.read();
  ASSERT_EQ(good.size(), 8u); // two kernels of three files, manifest, digest
  ASSERT_EQ(pack.verdict(), "");
  size_t count = setting("TILEWRIGHT_CORRUPTIONS", 100), withoutMeaning = 0;
  size_t seed = setting("TILEWRIGHT_FUZZ_SEED", 1);
  for (size_t i = 0; i < count; ++i) {
    Files files = good;
    std::string what = Corruption(seed + i).apply(files);
    SCOPED_TRACE(fmt::format("seed {}: {}{}", seed + i, what, i % 2 ? ", digest renewed" : ""));
    if (i % 2)
      pack.writeRenewed(files);
    else
      pack.write(files);
    std::string verdict = pack.verdict();
    // White space between the tokens of the manifest is all that has no meaning, and a digest that
    // is written anew where it alone was damaged.
    Files same = good;
    same["manifest.json"] = files["manifest.json"];
    same[FolderDigest::fileName] = files[FolderDigest::fileName];
    bool hasMeaning =
        i % 2 == 0 || files != same ||
        withoutSpace(files["manifest.json"]) != withoutSpace(good.at("manifest.json"));
    withoutMeaning += !hasMeaning;
    EXPECT_EQ(verdict.empty(), !hasMeaning) << verdict;
  }
  std::printf("%zu packs, %zu of them changed without a meaning\n", count, withoutMeaning);
  EXPECT_LT(withoutMeaning, count / 4);
}

TEST(PackCorruption, WhatReviewersTriedIsRefusedWithTheField) {
  FakePtxas ptxas(assembler("12.4.131"));
  PackOnDisk pack;
  const Files good = pack.read();
  auto refusal = [&](const std::function<void(Json &, Files &)> &change) {
    Files files = good;
    Json manifest = Json::parse(files["manifest.json"]);
    change(manifest, files);
    files["manifest.json"] = manifest.dump(2) + "\n";
    pack.writeRenewed(files);
    return pack.verdict();
  };
  auto expectNamed = [&](const char *named, const std::function<void(Json &, Files &)> &change) {
    std::string verdict = refusal(change);
    EXPECT_NE(verdict.find(named), std::string::npos) << named << " is not in: " << verdict;
  };
  auto first = [](Json &json) -> Json & { return json["kernels"][0]; };
  EXPECT_EQ(refusal([](Json &, Files &) {}), "");
  expectNamed("tw_scaled.ptx", [](Json &, Files &files) { files["tw_scaled.ptx"] = ""; });
  expectNamed("tw_scaled.ll", [](Json &, Files &files) { files["tw_scaled.ll"] = "garbage"; });
  expectNamed("tw_sums.cubin", [](Json &, Files &files) { files["tw_sums.cubin"] += "x"; });
  expectNamed("tw_sums.cubin is missing",
              [](Json &, Files &files) { files.erase("tw_sums.cubin"); });
  expectNamed("made with LLVM 3.0", [](Json &json, Files &files) {
    json["llvm"] = "LLVM 3.0";
    files["tw_scaled.ll"] = "garbage";
  });
  expectNamed("'entry'", [&](Json &json, Files &) { first(json)["entry"] = "other"; });
  expectNamed("'parameters", [&](Json &json, Files &) {
    std::reverse(first(json)["parameters"].begin(), first(json)["parameters"].end());
  });
  expectNamed("'grid'", [&](Json &json, Files &) { first(json)["grid"] = {7, 1, 1}; });
  expectNamed("'block'", [&](Json &json, Files &) { first(json)["block"] = {64, 1, 1}; });
  expectNamed("'dynamic_shared_bytes'",
              [&](Json &json, Files &) { first(json)["dynamic_shared_bytes"] = 4; });
  expectNamed("'tolerance'", [&](Json &json, Files &) { first(json)["tolerance"] = 1e9; });
  expectNamed("'registers'", [&](Json &json, Files &) { first(json)["registers"] = 41; });
  expectNamed("'problems[0].expected", [](Json &json, Files &) {
    for (Json &value : json["problems"][0]["expected"][0]["values"])
      value = 0;
  });
  expectNamed("tw_scaled.cubin was written by ptxas 12.4.131, 'ptxas' says 12.4.130",
              [](Json &json, Files &) { json["ptxas"] = "12.4.130"; });
  expectNamed("'more'", [](Json &json, Files &) { json["more"] = 1; });
  expectNamed("tw_scaled.ptx", [](Json &json, Files &) { json["target"] = "sm_86"; });
  expectNamed("holds no kernels", [](Json &json, Files &) { json["kernels"] = Json::array(); });
  expectNamed("notes.txt belongs to none", [](Json &, Files &files) { files["notes.txt"] = "x"; });
}

TEST(PackCorruption, WhatAnAssemblerChangesIsDerivedAgain) {
  std::unique_ptr<PackOnDisk> pack;
  {
    FakePtxas ptxas(assembler("12.4.131"));
    pack = std::make_unique<PackOnDisk>();
    EXPECT_EQ(pack->verdict(), "");
  }
  Files good = pack->read();
  // The code asks for one CTA on a multiprocessor, which only the assembler's answer tells.
  EXPECT_NE(good["tw_scaled.ptx"].find(".minnctapersm"), std::string::npos);
  Json manifest = Json::parse(good["manifest.json"]);
  EXPECT_EQ(manifest["kernels"][0]["min_ctas_per_sm"], 1);
  EXPECT_EQ(manifest["ptxas"], "12.4.131");
  auto reasons = [&] {
    CheckedPack checked = llvm::cantFail(checkPack(pack->path()));
    EXPECT_TRUE(checked.passes());
    return checked.kernels[0].outcome.reason;
  };
  {
    FakePtxas other(assembler("12.4.99"));
    EXPECT_NE(reasons().find("was not assembled again: no ptxas 12.4.131 here"), std::string::npos);
  }
  FakePtxas same(assembler("12.4.131"));
  EXPECT_EQ(reasons(), "");
  manifest["kernels"][0].erase("min_ctas_per_sm");
  good["manifest.json"] = manifest.dump(2) + "\n";
  pack->writeRenewed(good);
  EXPECT_NE(pack->verdict().find("'min_ctas_per_sm' is missing"), std::string::npos);
}

} // namespace
} // namespace tilewright
