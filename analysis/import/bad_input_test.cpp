// Files of bad modules, separated by "// -----". The line at which the error must be reported ends
// in its text:
//   q = f32[31] reshape(p)  // error at q: reshape: …
// "at TOKEN" may be left out; the column that is reported must be TOKEN's.
#include "analysis/import/import_file.h"

#include <fstream>
#include <gtest/gtest.h>

using namespace tilewright;

namespace {

struct BadModule {
  std::string text;
  unsigned firstLine = 1; ///< in the file
};

std::vector<BadModule> split(const std::string &text) {
  std::vector<BadModule> result;
  size_t begin = 0;
  unsigned line = 1;
  const std::string separator = "\n// -----\n";
  while (begin < text.size()) {
    size_t end = std::min(text.find(separator, begin), text.size());
    BadModule module{text.substr(begin, end - begin), line};
    while (!module.text.empty() && module.text.back() == '\n')
      module.text.pop_back();
    line += static_cast<unsigned>(std::count(module.text.begin(), module.text.end(), '\n')) + 2;
    result.push_back(std::move(module));
    begin = end + separator.size();
  }
  return result;
}

struct Expectation {
  unsigned line = 0; ///< 1-based; 0: the module has none
  std::string token, message;
};

Expectation expectationOf(const std::string &text) {
  Expectation result;
  size_t at = text.find("// error");
  if (at == std::string::npos)
    return result;
  result.line = lineColumn(text, static_cast<uint32_t>(at)).line;
  std::string rest = text.substr(at + 8, text.find('\n', at) - at - 8);
  size_t colon = rest.find(": ");
  if (colon == std::string::npos)
    return result;
  if (rest.starts_with(" at "))
    result.token = rest.substr(4, colon - 4);
  result.message = rest.substr(colon + 2);
  return result;
}

class BadInput : public testing::TestWithParam<const char *> {};

} // namespace

TEST_P(BadInput, IsRefusedAtTheRightPlaceWithTheRightWords) {
  llvm::Expected<std::string> file = readFile(GetParam());
  ASSERT_TRUE(static_cast<bool>(file));
  std::vector<BadModule> modules = split(*file);
  EXPECT_GT(modules.size(), 40u);
  for (const BadModule &bad : modules) {
    SCOPED_TRACE(fmt::format("{}:{}", GetParam(), bad.firstLine));
    llvm::Expected<Module> module =
        importBuffer(std::make_shared<const SourceBuffer>("bad", bad.text));
    ASSERT_FALSE(static_cast<bool>(module)) << bad.text;
    Diag diag = takeDiag(module.takeError());
    Expectation expected = expectationOf(bad.text);
    EXPECT_EQ(diag.message, expected.message);
    EXPECT_EQ(diag.line, expected.line) << diag.message;
    if (!expected.token.empty()) {
      std::string_view line = diag.sourceLine;
      EXPECT_TRUE(
          line.substr(std::min<size_t>(diag.column - 1, line.size())).starts_with(expected.token))
          << diag.str();
    }
    // Error texts are lower case and have no full stop.
    EXPECT_FALSE(std::isupper(static_cast<unsigned char>(diag.message.front())));
    EXPECT_NE(diag.message.back(), '.');
  }
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadInput,
    testing::Values("tests/import/bad_syntax.hlo.txt", "tests/import/bad_ops.hlo.txt",
                    "tests/import/bad_stablehlo.mlir"),
    [](const auto &info) {
      return std::string(info.index == 0 ? "Syntax" : info.index == 1 ? "Ops" : "StableHlo");
    });
