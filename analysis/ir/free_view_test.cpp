// Views that move no byte, against the addresses of every element; arguments that may be
// overwritten.
#include "analysis/import/hlo_text.h"
#include "analysis/ir/donation.h"
#include "analysis/ir/free_view.h"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

Module parsed(const std::string &text) {
  return llvm::cantFail(parseHlo(std::make_shared<SourceBuffer>("test", text)));
}

std::string list(const std::vector<int64_t> &values) {
  return fmt::format("{}", fmt::join(values, ","));
}

/// Where an element of a tensor lies, in elements from its start.
int64_t addressOf(const Shape &shape, const std::vector<int64_t> &index) {
  int64_t address = 0, stride = 1;
  for (int64_t dim : shape.minorToMajorOrDefault()) {
    address += index[static_cast<size_t>(dim)] * stride;
    stride *= shape.dims[static_cast<size_t>(dim)];
  }
  return address;
}

std::vector<int64_t> indexOf(int64_t position, const std::vector<int64_t> &dims) {
  std::vector<int64_t> index(dims.size());
  for (size_t d = dims.size(); d-- > 0; position /= dims[d])
    index[d] = position % dims[d];
  return index;
}

TEST(FreeView, TransposesMoveNothingWhereEveryAddressStays) {
  int still = 0, moved = 0;
  for (const std::vector<int64_t> &dims : {std::vector<int64_t>{2, 3, 4}, {2, 1, 4}, {1, 3, 1}}) {
    std::vector<int64_t> permutation{0, 1, 2};
    do {
      std::vector<int64_t> from{0, 1, 2};
      do {
        std::vector<int64_t> to{0, 1, 2};
        do {
          std::vector<int64_t> out;
          for (int64_t dim : permutation)
            out.push_back(dims[static_cast<size_t>(dim)]);
          Module module =
              parsed(fmt::format("HloModule m\nENTRY e {{\n  x = f32[{}]{{{}}} parameter(0)\n"
                                 "  ROOT y = f32[{}]{{{}}} transpose(x), dimensions={{{}}}\n}}\n",
                                 list(dims), list(from), list(out), list(to), list(permutation)));
          const Graph &graph = module.entry();
          const Shape &x = graph[OpId{0}].shape, &y = graph[OpId{1}].shape;
          bool isStill = true;
          for (int64_t i = 0; i < *y.elementCount(); ++i) {
            const std::vector<int64_t> index = indexOf(i, y.dims);
            std::vector<int64_t> source(3);
            for (size_t d = 0; d < 3; ++d)
              source[static_cast<size_t>(permutation[d])] = index[d];
            isStill = isStill && addressOf(y, index) == addressOf(x, source);
          }
          EXPECT_EQ(movesNoByte(graph, OpId{1}), isStill) << printHlo(module);
          (isStill ? still : moved) += 1;
        } while (std::next_permutation(to.begin(), to.end()));
      } while (std::next_permutation(from.begin(), from.end()));
    } while (std::next_permutation(permutation.begin(), permutation.end()));
  }
  EXPECT_GT(still, 100);
  EXPECT_GT(moved, 100);
}

TEST(FreeView, CopiesAndReshapes) {
  Module module = parsed(R"(HloModule m
ENTRY e {
  x = f32[8,1,4]{2,1,0} parameter(0)
  same = f32[8,1,4]{2,1,0} copy(x)
  unit = f32[8,1,4]{2,0,1} copy(x)
  turned = f32[8,1,4]{0,1,2} copy(x)
  host = f32[8,1,4]{2,1,0:S(5)} copy(x)
  flat = f32[32]{0} reshape(x)
  other = f32[4,8]{0,1} reshape(x)
  b = f32[4,8]{0,1} bitcast(x)
  n = f32[8,1,4]{2,1,0} negate(x)
  ROOT t = (f32[32]{0}, f32[8,1,4]{2,1,0}) tuple(flat, n)
})");
  const Graph &graph = module.entry();
  auto isFree = [&](const char *name) { return movesNoByte(graph, graph.find(name)); };
  for (const char *name : {"same", "unit", "flat", "b"})
    EXPECT_TRUE(isFree(name)) << name;
  for (const char *name : {"turned", "host", "other", "n", "t", "x"})
    EXPECT_FALSE(isFree(name)) << name;
  // Whoever assigned buffers meant it.
  EXPECT_FALSE(movesNoByte(graph, graph.find("same"), true));
  EXPECT_TRUE(movesNoByte(graph, graph.find("flat"), true));
}

TEST(Donation, ArgumentsOfAliasesAndDonors) {
  const char *body = "\nENTRY e {\n  ROOT x = f32[8] parameter(0)\n}\n";
  auto donated = [&](const std::string &attributes) {
    return donatedArguments(parsed("HloModule m" + attributes + body));
  };
  EXPECT_TRUE(donated("").empty());
  EXPECT_EQ(donated(", input_output_alias={ {}: (0, {}, may-alias) }"),
            (std::set<EntryArgument>{{0, -1}}));
  EXPECT_EQ(donated(", input_output_alias={ {0}: (2, {1}, must-alias), {1}: (0, {}, may-alias) }, "
                    "buffer_donor={ (3, {}), (1, {4}) }"),
            (std::set<EntryArgument>{{2, 1}, {0, -1}, {3, -1}, {1, 4}}));
  // Elements of nested tuples are nobody's here.
  EXPECT_TRUE(donated(", input_output_alias={ {}: (0, {1,2}, may-alias) }").empty());
}

} // namespace
} // namespace tilewright
