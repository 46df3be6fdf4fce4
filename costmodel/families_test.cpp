#include "costmodel/families.h"
#include "costmodel/templates.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

const TemplateLibrary &bundledFamilies() {
  static const TemplateLibrary library = llvm::cantFail(TemplateLibrary::load());
  return library;
}

llvm::Expected<Module> moduleFrom(std::string_view family, std::string_view text) {
  llvm::Expected<FamilyArguments> arguments = parseFamilyArguments(text);
  if (!arguments)
    return arguments.takeError();
  return bundledFamilies().moduleOf(family, *arguments);
}

std::string refusal(std::string_view family, std::string_view text) {
  llvm::Expected<Module> module = moduleFrom(family, text);
  return module ? "" : takeDiag(module.takeError()).message;
}

} // namespace

TEST(Families, ArgumentsHaveTheNamesOfTheText) {
  for (const Family &family : bundledFamilies().families())
    if (family.name == "bgemm_nn") {
      std::vector<std::string> names;
      for (const FamilyArgument &argument : family.arguments)
        names.push_back(argument.name);
      EXPECT_EQ(names, (std::vector<std::string>{"batch", "m", "n", "k", "dtype"}));
      return;
    }
  FAIL() << "no bgemm_nn";
}

TEST(Families, EveryExampleMakesItsModule) {
  EXPECT_EQ(bundledFamilies().families().size(), bundledFamilies().size());
  for (const Family &family : bundledFamilies().families()) {
    EXPECT_FALSE(family.about.empty()) << family.name;
    EXPECT_EQ(refusal(family.name, family.example), "") << family.name << " " << family.example;
  }
}

TEST(Families, SizesAndTypesAreThoseGiven) {
  llvm::Expected<Module> module = moduleFrom("GEMM", "m=256,n=512 k=64 dtype=e4m3");
  ASSERT_TRUE(static_cast<bool>(module)) << takeDiag(module.takeError()).str();
  const Graph &graph = module->entry();
  EXPECT_EQ(graph[graph.root()].shape.str(false), "bf16[256,512]");
  EXPECT_EQ(graph[OpId{0}].shape.str(false), "f8e4m3fn[256,64]");
}

TEST(Families, RefusalsNameWhatIsAllowed) {
  EXPECT_NE(refusal("gem", "m=1").find("no family 'gem' (did you mean 'gemm'?)"),
            std::string::npos);
  EXPECT_NE(refusal("gemm", "m=8 n=8 k=8").find("gemm needs dtype, as in 'gemm m=4096"),
            std::string::npos);
  EXPECT_NE(refusal("gemm", "m=8 n=8 k=8 dtyp=bf16").find("(did you mean 'dtype'?); it has m, n"),
            std::string::npos);
  EXPECT_NE(refusal("gemm", "m=8 n=8 k=8 dtype=bf61").find("did you mean 'bf16'?"),
            std::string::npos);
  for (const char *size : {"0", "-1", "x", "1e3", "99999999999999999999"})
    EXPECT_NE(refusal("gemm", fmt::format("m={} n=8 k=8 dtype=bf16", size)).find("m is '"),
              std::string::npos)
        << size;
  EXPECT_NE(refusal("gemm", "m=8 m=9").find("'m' is given twice"), std::string::npos);
  for (const char *word : {"m", "=4", "m="})
    EXPECT_NE(refusal("gemm", word).find("is not NAME=VALUE"), std::string::npos) << word;
  // Sizes that are numbers and no shape.
  EXPECT_NE(refusal("gemm", "m=9223372036854775807 n=8 k=8 dtype=bf16"), "");
}

} // namespace tilewright
