// Input that nobody means: cut, mutated, deeply nested, huge. Each is read or refused, never a
// crash, and what is read prints and reads back.
#include "analysis/import/hlo_text.h"
#include "analysis/import/module_equal.h"

#include <gtest/gtest.h>
#include <random>

using namespace tilewright;

namespace {

struct Outcome {
  bool isRead = false;
  Diag diag;
};

/// Reads the text and prints what was read; the error must be located and of the user's class.
Outcome tryImport(std::string text) {
  auto source = std::make_shared<const SourceBuffer>("test", std::move(text));
  llvm::Expected<Module> module = importBuffer(source);
  Outcome outcome;
  if (!module) {
    outcome.diag = takeDiag(module.takeError());
    EXPECT_TRUE(outcome.diag.cls == DiagClass::BadInput ||
                outcome.diag.cls == DiagClass::Unsupported)
        << outcome.diag.str();
    EXPECT_FALSE(outcome.diag.message.empty());
    return outcome;
  }
  outcome.isRead = true;
  std::string printed = printHlo(*module);
  llvm::Expected<Module> again =
      importBuffer(std::make_shared<const SourceBuffer>("printed", printed));
  if (!again) {
    ADD_FAILURE() << takeDiag(again.takeError()).str() << source->text();
    return outcome;
  }
  std::string why;
  EXPECT_TRUE(equal(*module, *again, &why)) << why << "\n" << source->text();
  return outcome;
}

std::string model(const char *name) {
  llvm::Expected<std::string> text = readFile(std::string("datasets/models/") + name);
  if (text)
    return *text;
  ADD_FAILURE() << takeDiag(text.takeError()).str();
  return "";
}

std::string repeated(std::string_view piece, size_t count) {
  std::string out;
  out.reserve(piece.size() * count);
  for (size_t i = 0; i < count; ++i)
    out += piece;
  return out;
}

} // namespace

TEST(Hostile, TruncatedModels) {
  for (const char *name : {"resnet50_stem.hlo.txt", "resnet50_stem.xla_optimized.hlo.txt"}) {
    std::string text = model(name);
    size_t read = 0;
    // Every offset of the first part, where the header and the first computations are; then steps.
    for (size_t length = 0; length < text.size(); length += length < 1500 ? 1 : 37)
      read += tryImport(text.substr(0, length)).isRead;
    EXPECT_LT(read, 400u); // only cuts between computations can be whole modules
    EXPECT_TRUE(tryImport(text).isRead);
  }
}

TEST(Hostile, MutatedModels) {
  std::mt19937 random(20250);
  std::string text = model("resnet50_stem.hlo.txt");
  std::string optimized = model("gpt2_block.xla_optimized.hlo.txt").substr(0, 12000);
  const std::string_view alphabet = "(){}[]<>=,.:%\"\\/*-_x0123456789abfs \n\t\x01\xff";
  for (int round = 0; round < 3000; ++round) {
    std::string mutated = round % 2 ? optimized : text;
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits) {
      size_t at = random() % mutated.size();
      char c = alphabet[random() % alphabet.size()];
      switch (random() % 4) {
      case 0:
        mutated[at] = c;
        break;
      case 1:
        mutated.insert(at, 1, c);
        break;
      case 2:
        mutated.erase(at, 1 + random() % 20);
        break;
      case 3: // a piece of the text elsewhere
        mutated.insert(at, mutated.substr(random() % mutated.size(), random() % 60));
        break;
      }
    }
    tryImport(mutated);
  }
}

TEST(Hostile, DeepNesting) {
  constexpr size_t depth = 200000;
  for (std::string_view bracket : {"(", "[", "{"}) {
    std::string nested = repeated(bracket, depth);
    for (const std::string &text : {
             "HloModule m, x=" + nested,
             "HloModule m\nENTRY e {\n  a = " + nested,
             "HloModule m\nENTRY e {\n  a = f32[] parameter(0), x=" + nested,
             "HloModule m\nENTRY e {\n  a = f32[2] constant(" + nested,
             "HloModule m\nENTRY e {\n  a = f32[2] add(" + nested,
             "HloModule m\nENTRY e {\n  a = f32[2]{0:T" + nested,
             "HloModule m\nENTRY e (p: " + nested,
             "HloModule m\nFileNames\n1 " + nested,
             "HloModule m\nENTRY e " + nested,
             nested,
         }) {
      Outcome outcome = tryImport(text);
      EXPECT_FALSE(outcome.isRead);
      EXPECT_GT(outcome.diag.line, 0u) << outcome.diag.str();
    }
  }
  std::string tuple = repeated("(", depth) + "f32[]" + repeated(")", depth);
  EXPECT_EQ(tryImport("ENTRY e {\n  a = " + tuple + " parameter(0)\n}").diag.message,
            "tuples nest deeper than 256");
}

TEST(Hostile, NestingUpToTheLimitIsRead) {
  std::string tuple = repeated("(", 200) + "f32[]" + repeated(")", 200);
  EXPECT_TRUE(tryImport("ENTRY e {\n  a = " + tuple + " parameter(0)\n}").isRead);
}

TEST(Hostile, BinaryAndEmptyInput) {
  EXPECT_EQ(tryImport("").diag.message, "the file holds no model");
  EXPECT_EQ(tryImport(" \n// only a comment").diag.message, "the file holds no model");
  EXPECT_EQ(tryImport(std::string("HloModule m\0", 12)).diag.message,
            "this is not text: byte 11 is 0x00; give HLO text, HLO protos, StableHLO text "
            "or ONNX");
  EXPECT_EQ(tryImport(std::string("\x7f"
                                  "ELF\x02\x01\x01",
                                  7))
                .diag.message,
            "this is not text: byte 4 is 0x02; give HLO text, HLO protos, StableHLO text "
            "or ONNX");
  EXPECT_EQ(tryImport(std::string("\x08\x07\x12\x04"
                                  "onnx"))
                .diag.message,
            "the ONNX model has no graph");
  EXPECT_EQ(tryImport("module @jit_f {\n}").diag.message, "the module has no function");
  EXPECT_EQ(
      tryImport("ML\xefR\x0d").diag.message,
      "this is MLIR bytecode; scripts/stablehlo_text.py makes StableHLO text of it, give that");
  Diag utf8 = tryImport("HloModule m\n// caf\xe9\n").diag;
  EXPECT_EQ(utf8.message, "this byte is not UTF-8");
  EXPECT_EQ(utf8.line, 2u);
}

// Sizes at which anything quadratic would be felt: the whole test takes well under a second.
TEST(Hostile, LongInputsAreLinear) {
  std::string chain = "ENTRY e {\n  v0 = f32[4] parameter(0)\n";
  for (int i = 1; i < 50000; ++i)
    chain += fmt::format("  v{} = f32[4] negate(v{})\n", i, i - 1);
  EXPECT_TRUE(tryImport(chain + "}").isRead);

  std::string wide = "ENTRY e {\n  v = f32[] parameter(0)\n  ROOT t = (f32[]";
  wide += repeated(", f32[]", 49999) + ") tuple(v" + repeated(", v", 49999) + ")\n}";
  EXPECT_TRUE(tryImport(wide).isRead);

  std::string values =
      "ENTRY e {\n  c = s32[200000] constant({0" + repeated(", 7", 199999) + "})\n}";
  EXPECT_TRUE(tryImport(values).isRead);

  std::string computations;
  for (int i = 0; i < 20000; ++i)
    computations += fmt::format("c{} {{ p = f32[] parameter(0) }}\n", i);
  EXPECT_TRUE(tryImport(computations).isRead);

  std::string attributes = "ENTRY e {\n  p = f32[] parameter(0)";
  for (int i = 0; i < 10000; ++i)
    attributes += fmt::format(", a{}=1", i);
  EXPECT_EQ(tryImport(attributes + "\n}").diag.message, "an op has over 256 attributes");
}

TEST(Hostile, ChainsOfCallsOfAnyDepth) {
  std::string text = "f0 { p = f32[] parameter(0) ROOT r = f32[] negate(p) }\n";
  for (int i = 1; i < 20000; ++i)
    text += fmt::format("f{} {{ p = f32[] parameter(0) ROOT r = f32[] call(p), to_apply=f{} }}\n",
                        i, i - 1);
  EXPECT_TRUE(tryImport(text).isRead);
  Outcome outcome = tryImport("f { p = f32[] parameter(0) ROOT r = f32[] call(p), to_apply=g }\n"
                              "g { p = f32[] parameter(0) ROOT r = f32[] call(p), to_apply=f }\n");
  EXPECT_EQ(outcome.diag.message, "call: computation %f calls itself through %r");
}

// Many short calls that hand the same long tuple to the same long computation.
TEST(Hostile, CallsOfOneComputationAreCheckedInLinearTime) {
  std::string tuple = "(f32[]" + repeated(", f32[]", 20000) + ")";
  std::string text = "f {\n  p = " + tuple + " parameter(0)\n  v0 = f32[] constant(1)\n";
  for (int i = 1; i < 20000; ++i)
    text += fmt::format("  v{} = f32[] negate(v{})\n", i, i - 1);
  text += "}\nENTRY e {\n  p = " + tuple + " parameter(0)\n  k = s32[] parameter(1)\n";
  for (int i = 0; i < 20000; ++i)
    text += fmt::format("  c{} = f32[] fusion(p), kind=kLoop, calls=f\n", i);
  text += "  ROOT r = f32[] conditional(k" + repeated(", p", 20000) + "), branch_computations={f" +
          repeated(", f", 19999) + "}\n}";
  EXPECT_TRUE(tryImport(text).isRead);
}
