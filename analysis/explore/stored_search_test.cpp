#include "analysis/explore/explore.h"
#include "analysis/explore/prepared_model.h"
#include "analysis/explore/stored_search.h"
#include "analysis/import/hlo_text.h"
#include "analysis/import/import_file.h"

#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <set>

namespace tilewright {
namespace {

class MapStore : public PlanStore {
public:
  std::optional<std::string> find(const std::string &key) override {
    std::lock_guard lock(mutex);
    auto at = texts.find(key);
    ++(at == texts.end() ? misses : hits);
    return at == texts.end() ? std::nullopt : std::optional(at->second);
  }
  void keep(const std::string &key, const std::string &text) override {
    std::lock_guard lock(mutex);
    texts[key] = text;
  }

  std::map<std::string, std::string> texts;
  size_t hits = 0, misses = 0;

private:
  std::mutex mutex;
};

Module storedModule(const std::string &text) {
  return llvm::cantFail(parseHlo(std::make_shared<SourceBuffer>("m.hlo", text)));
}

/// A dot with something behind it, the parts that a test changes in braces of their own.
struct DotText {
  std::string rows = "256", type = "bf16", name = "d", op = "exponential", contracted = "0",
              metadata, constant = "2", reducer = "add";
  std::string str() const {
    const std::string shape = type + "[" + rows + ",128]", other = type + "[128,128]";
    return "HloModule m\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = "
           "f32[] " +
           reducer + "(a, b)\n}\nENTRY e {\n  x = " + shape + " parameter(0)\n  w = " + other +
           " parameter(1)\n  c = " + type + "[] constant(" + constant + ")\n  m = " + shape +
           " broadcast(c), dimensions={}\n  " + name + " = " + shape +
           " dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={" + contracted + "}" +
           metadata + "\n  f = " + shape + " multiply(" + name + ", m)\n  ROOT y = " + shape + " " +
           op + "(f)\n}\n";
  }
};

std::string keyOf(const DotText &text, const PlanOptions &plans = {},
                  const PlanSearchOptions &search = {}, std::string_view context = "device") {
  PreparedModel model = llvm::cantFail(prepareModel(storedModule(text.str())));
  KernelSource source = llvm::cantFail(findKernel(model, ""));
  return searchKey(*model.module, source, plans, search, context);
}

struct Priced {
  std::vector<double> times;
  std::vector<std::vector<int64_t>> values;
  uint64_t feasible = 0;
  bool operator==(const Priced &) const = default;
};

std::vector<Priced> explored(const Module &module, PlanStore *store) {
  const Device device = llvm::cantFail(loadDevice("h100-sxm"));
  const Calibration calibration = llvm::cantFail(defaultCalibration(device));
  ExploreOptions options;
  options.search.maxPriced = 60;
  options.store = store;
  options.storeContext = "h100";
  ExploredModel model = llvm::cantFail(exploreModel(module, device, calibration, options));
  std::vector<Priced> result;
  for (const ExploredKernel &kernel : model.kernels) {
    result.emplace_back().feasible = kernel.feasible;
    for (const RankedPlan &plan : kernel.plans) {
      result.back().times.push_back(plan.estimate.timeNs);
      result.back().values.push_back(plan.plan.values);
    }
  }
  return result;
}

} // namespace

TEST(StoredSearch, TheKeyIsOfWhatTheSearchDependsOn) {
  const std::string key = keyOf({});
  EXPECT_EQ(key.size(), 64u);
  DotText same;
  same.name = "product";
  same.metadata = ", metadata={op_name=\"jit(f)/dot\"}";
  EXPECT_EQ(keyOf(same), key);
  std::set<std::string> keys = {key};
  auto differs = [&](const std::string &other, const char *why) {
    EXPECT_TRUE(keys.insert(other).second) << why;
  };
  const std::pair<std::string DotText::*, const char *> changes[] = {{&DotText::rows, "512"},
                                                                     {&DotText::type, "f32"},
                                                                     {&DotText::op, "tanh"},
                                                                     {&DotText::contracted, "1"},
                                                                     {&DotText::constant, "3"}};
  for (const auto &[part, text] : changes) {
    DotText changed;
    changed.*part = text;
    differs(keyOf(changed), text);
  }
  PlanOptions cold;
  cold.cache = CacheState::Flushed;
  differs(keyOf({}, cold), "cache");
  PlanOptions fma;
  fma.instruction = Instruction::Fma;
  differs(keyOf({}, fma), "instruction");
  PlanOptions registers;
  registers.registers = 64;
  differs(keyOf({}, registers), "registers");
  PlanSearchOptions search;
  search.top = 7;
  differs(keyOf({}, {}, search), "top");
  search.maxPriced = 7;
  differs(keyOf({}, {}, search), "budget");
  differs(keyOf({}, {}, {}, "other"), "context");
}

TEST(StoredSearch, BodiesOfCallsCount) {
  auto reduceKey = [](const std::string &reducer) {
    const std::string text =
        "HloModule m\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = "
        "f32[] " +
        reducer +
        "(a, b)\n}\nENTRY e {\n  x = f32[64,128] parameter(0)\n  z = f32[] constant(0)\n  ROOT r = "
        "f32[64] reduce(x, z), dimensions={1}, to_apply=sum\n}\n";
    PreparedModel model = llvm::cantFail(prepareModel(storedModule(text)));
    KernelSource source = llvm::cantFail(findKernel(model, ""));
    return searchKey(*model.module, source, {}, {}, "");
  };
  EXPECT_NE(reduceKey("add"), reduceKey("maximum"));
}

/// What was found in one model is taken in others that hold the same kernels, with the same result.
TEST(StoredSearch, GivesWhatTheSearchGives) {
  MapStore store;
  for (const char *model : {"resnet50_stem", "gpt2_block", "gpt2_block.xla_optimized"}) {
    Module module =
        llvm::cantFail(importFile(std::string("datasets/models/") + model + ".hlo.txt"));
    const std::vector<Priced> expected = explored(module, nullptr);
    EXPECT_EQ(explored(module, &store), expected) << model;
    store.hits = store.misses = 0;
    EXPECT_EQ(explored(module, &store), expected) << model;
    EXPECT_GT(store.hits, 3 * store.misses) << model; // refusals are not kept
  }
}

TEST(StoredSearch, WhatDoesNotFitIsNotTaken) {
  const Module module = storedModule(DotText().str());
  const std::vector<Priced> expected = explored(module, nullptr);
  MapStore store;
  explored(module, &store);
  const std::map<std::string, std::string> good = store.texts;
  for (const std::string &bad :
       {std::string(), std::string("\n"), std::string("1 2 3"), std::string("1 2 3 1\n"),
        std::string("1 2 3 1\nwgmma\n"), std::string("1 2 3 1\nwgmma 1 2\n"),
        std::string("1 2 3 1\nnonsense 1 128 64 4 1 1 1\n"),
        std::string("1 2 3 1\nfma 0 0 0 0 0 0 0\n"), std::string("a b c d\n")}) {
    for (auto &[key, text] : store.texts)
      text = bad;
    EXPECT_EQ(explored(module, &store), expected) << bad;
    EXPECT_EQ(store.texts, good) << bad; // and it is replaced
  }
}

} // namespace tilewright
