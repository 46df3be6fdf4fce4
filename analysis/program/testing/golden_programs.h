// The programs of tests/programs: their texts, references in HLO, and random sizes at which they
// are legal.
#pragma once

#include "analysis/import/import_file.h"
#include "analysis/ir/evaluator.h"
#include "analysis/program/interpret.h"
#include "analysis/program/substitute.h"
#include "analysis/program/text.h"

#include <gtest/gtest.h>
#include <random>

namespace tilewright::program::testing {

class SizeDice {
public:
  explicit SizeDice(uint64_t seed) : random(seed) {}
  int64_t in(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  }
  int64_t of(std::initializer_list<int64_t> list) { return list.begin()[random() % list.size()]; }
  uint64_t word() { return random(); }

private:
  std::mt19937_64 random;
};

struct GoldenProgram {
  std::string name;
  SizeValues (*sizes)(SizeDice &);
  double tolerance; ///< |result - reference| / (1 + |reference|)
};

/// Rows of 64 elements of 16 bits are what a swizzle of 128 bytes takes; rows in memory are
/// multiples of 4 bytes for cp.async and of 16 for tma.
inline void matrixSizes(SizeDice &d, SizeValues &s, bool isGroup) {
  s["WR"] = d.in(1, 2);
  s["WC"] = d.in(1, 2);
  s["W"] = s["WR"] * s["WC"] * (isGroup ? 4 : 1);
  s["BM"] = s["WR"] * (isGroup ? 64 : 16 * d.in(1, 2));
  s["BN"] = 64;
  s["BK"] = 64;
  s["M"] = d.in(1, isGroup ? 140 : 70);
  s["N"] = isGroup ? 8 * d.in(1, 12) : 2 * d.in(1, 45);
  s["K"] = isGroup ? 8 * d.in(1, 24) : 2 * d.in(1, 100);
}

inline SizeValues syncSizes(SizeDice &d) {
  SizeValues s;
  matrixSizes(d, s, false);
  s["S"] = d.in(1, 4);
  return s;
}
inline SizeValues groupSizes(SizeDice &d) {
  SizeValues s;
  matrixSizes(d, s, true);
  s["S"] = d.in(2, 4);
  return s;
}

inline const std::vector<GoldenProgram> &goldenPrograms() {
  static const std::vector<GoldenProgram> programs{
      {"transposed_add",
       [](SizeDice &d) {
         return SizeValues{{"M", d.in(1, 60)},
                           {"N", d.in(1, 60)},
                           {"BM", 8 * d.in(1, 4)},
                           {"BN", 8 * d.in(1, 4)},
                           {"W", d.of({1, 2, 4})}};
       },
       1e-6},
      {"window", // neighbours behind the first 64 of a row
       [](SizeDice &d) {
         int64_t n = d.of({1, 7, 16, 32, 48, 64, 100});
         return SizeValues{{"M", d.in(1, 20)},      {"N", n},
                           {"K", n + 64},           {"BM", d.in(1, 8)},
                           {"BN", 16 * d.in(1, 4)}, {"W", d.of({1, 2, 4})}};
       },
       1e-6},
      {"softmax",
       [](SizeDice &d) {
         return SizeValues{{"M", d.in(1, 12)},
                           {"C", d.of({1, 3, 6, 8, 20, 64, 100, 256, 300})},
                           {"R", d.of({1, 2, 3, 4, 8})},
                           {"W", d.of({1, 2, 4})}};
       },
       1e-5},
      {"softmax_steps",
       [](SizeDice &d) {
         int64_t c = d.of({1, 3, 6, 8, 20, 64, 100});
         return SizeValues{{"M", d.in(1, 12)},
                           {"C", c},
                           {"D", c * d.in(1, 4) - d.in(0, c - 1)},
                           {"R", d.of({1, 2, 3, 4, 8})},
                           {"W", d.of({1, 2, 4})}};
       },
       1e-5},
      {"layer_norm",
       [](SizeDice &d) {
         return SizeValues{{"M", d.in(1, 12)},
                           {"C", d.of({2, 3, 8, 20, 64, 100, 256})},
                           {"R", d.of({1, 2, 3, 4, 8})},
                           {"W", d.of({1, 2, 4})}};
       },
       1e-3},
      {"gemm_sync", syncSizes, 1e-2},
      {"gemm_roles", groupSizes, 2e-2},
      {"gemm_split",
       [](SizeDice &d) {
         SizeValues s = syncSizes(d);
         s["P"] = d.in(1, 4);
         return s;
       },
       1e-2},
      {"gemm_persistent",
       [](SizeDice &d) {
         SizeValues s = groupSizes(d);
         s["CTAS"] = d.in(1, 5);
         return s;
       },
       1e-2},
      {"attention",
       [](SizeDice &d) {
         SizeValues s{{"B", d.in(1, 2)},     {"N", d.in(1, 150)},     {"D", 64},
                      {"W", 4 * d.in(1, 2)}, {"BN", 16 * d.in(1, 3)}, {"S", d.in(1, 3)}};
         s["BM"] = 16 * s["W"];
         return s;
       },
       2e-2},
      {"swiglu", syncSizes, 1e-2},
      {"gemm_rows", syncSizes, 1e-2},
      {"norm_gemm", syncSizes, 1e-2},
      {"total",
       [](SizeDice &d) {
         return SizeValues{{"L", d.in(1, 3000)},
                           {"C", 32 * d.in(1, 8)},
                           {"P", d.in(1, 5)},
                           {"W", d.of({1, 2, 4})}};
       },
       1e-4},
      {"argmax_split",
       [](SizeDice &d) {
         return SizeValues{{"L", d.in(1, 3000)},
                           {"C", 32 * d.in(1, 8)},
                           {"P", d.in(1, 5)},
                           {"W", d.of({1, 2, 4})}};
       },
       0},
      {"argmax",
       [](SizeDice &d) {
         return SizeValues{{"M", d.in(1, 20)},
                           {"C", d.in(1, 100)},
                           {"R", d.of({1, 2, 3, 4, 8})},
                           {"W", d.of({1, 2, 4})}};
       },
       0},
      {"dequant_gemm",
       [](SizeDice &d) {
         SizeValues s = syncSizes(d);
         s["GS"] = d.of({8, 16, 32});
         s["K"] = s["GS"] * d.in(1, 8);
         s["N"] = 8 * d.in(1, 10);
         return s;
       },
       2e-2},
      {"embedding",
       [](SizeDice &d) {
         return SizeValues{{"V", d.in(1, 40)},
                           {"D", d.in(1, 40)},
                           {"N", d.in(1, 40)},
                           {"R", d.in(1, 8)},
                           {"W", d.of({1, 2, 4})}};
       },
       0},
      {"convolution",
       [](SizeDice &d) {
         SizeValues s = syncSizes(d);
         for (const char *unused : {"M", "N", "K", "BN"})
           s.erase(unused);
         s["BF"] = 64;
         s["B"] = d.in(1, 2);
         s["H"] = d.in(1, 7);
         s["WO"] = d.in(1, 7);
         s["C"] = 2 * d.in(1, 8);
         s["NF"] = 2 * d.in(1, 10);
         return s;
       },
       1e-2},
      {"scatter_add",
       [](SizeDice &d) {
         return SizeValues{{"V", d.in(1, 20)},
                           {"D", d.in(1, 40)},
                           {"N", d.in(1, 40)},
                           {"R", d.in(1, 8)},
                           {"W", d.of({1, 2, 4})}};
       },
       1e-5},
      {"gemm_triton",
       [](SizeDice &d) {
         SizeValues s = syncSizes(d);
         s["S"] = d.in(2, 4);
         return s;
       },
       1e-2},
  };
  return programs;
}

inline std::string readText(const std::string &path) {
  llvm::Expected<std::string> text = readFile(path);
  if (!text) {
    ADD_FAILURE() << takeDiag(text.takeError()).str();
    return "";
  }
  return *text;
}

inline std::string textOf(const std::string &name) {
  return readText("tests/programs/" + name + ".tile");
}

inline Program parsed(std::string text, const std::string &name = "program.tile") {
  llvm::Expected<Program> program = parseProgram(std::move(text), name);
  if (!program) {
    ADD_FAILURE() << takeDiag(program.takeError()).str();
    return {};
  }
  return std::move(*program);
}

inline Program withSizes(const Program &program, const SizeValues &sizes) {
  llvm::Expected<Program> concrete = substituteSizes(program, sizes);
  if (!concrete) {
    ADD_FAILURE() << takeDiag(concrete.takeError()).str();
    return program;
  }
  return std::move(*concrete);
}

inline std::string describe(const SizeValues &sizes) {
  std::string text;
  for (const auto &[name, value] : sizes)
    text += fmt::format("{}={} ", name, value);
  return text;
}

/// The reference's module at these sizes: "${M}" becomes its number.
inline Module referenceOf(const std::string &name, SizeValues sizes) {
  if (sizes.count("GS"))
    sizes["GROUPS"] = sizes["K"] / sizes["GS"];
  std::string text = readText("tests/programs/" + name + ".hlo.txt");
  for (const auto &[size, value] : sizes) {
    std::string wanted = "${" + size + "}";
    for (size_t at = 0; (at = text.find(wanted, at)) != std::string::npos;)
      text.replace(at, wanted.size(), std::to_string(value));
  }
  llvm::Expected<Module> module =
      importBuffer(std::make_shared<SourceBuffer>(name + ".hlo.txt", text));
  if (!module) {
    ADD_FAILURE() << takeDiag(module.takeError()).str();
    return {};
  }
  return std::move(*module);
}

} // namespace tilewright::program::testing
