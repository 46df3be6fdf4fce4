#include "analysis/import/hlo_text.h"
#include "analysis/import/import_file.h"
#include "analysis/import/proto/hlo_proto.h"
#include "analysis/ir/literal.h"
#include "analysis/ir/origin.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <map>

using namespace tilewright;

namespace {

const std::string folder = "tests/import/proto/";

Module moduleOf(const std::string &path) {
  llvm::Expected<Module> module = importFile(path);
  if (module)
    return std::move(*module);
  ADD_FAILURE() << takeDiag(module.takeError()).str();
  return {};
}

std::string bytesOf(const std::string &path) {
  llvm::Expected<std::string> bytes = readFile(path);
  if (bytes)
    return std::move(*bytes);
  ADD_FAILURE() << takeDiag(bytes.takeError()).str();
  return {};
}

std::string messageOf(std::string bytes) {
  llvm::Expected<std::string> text = hloTextOfProto(SourceBuffer("m.pb", std::move(bytes)));
  return text ? "" : takeDiag(text.takeError()).message;
}

std::map<std::string, std::string> attributesOf(const Op &op) {
  std::map<std::string, std::string> attributes;
  for (const RawAttribute &attribute : op.rawAttrs)
    attributes[attribute.name] = attribute.text;
  return attributes;
}

std::vector<std::string> calledBy(const Module &module, const Op &op) {
  std::vector<std::string> names;
  for (const CalledGraph &called : op.called)
    names.push_back(module.graph(called.graph).name());
  return names;
}

void expectSameOp(const Op &a, const Op &b) {
  SCOPED_TRACE(a.name);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.opcode, b.opcode);
  EXPECT_EQ(a.shape, b.shape) << a.shape.str() << " " << b.shape.str();
  EXPECT_EQ(a.operands, b.operands);
  EXPECT_TRUE(a.attrs == b.attrs);
  EXPECT_EQ(attributesOf(a), attributesOf(b));
  EXPECT_EQ(a.isElidedConstant(), b.isElidedConstant());
  if (a.opcode != Opcode::Constant || a.isElidedConstant() || b.isElidedConstant())
    return;
  llvm::Expected<Tensor> left = parseLiteral(a.shape, a.literal),
                         right = parseLiteral(b.shape, b.literal);
  ASSERT_TRUE(left && right) << a.literal << " " << b.literal;
  EXPECT_EQ(packTensor(*left), packTensor(*right)) << a.literal << " " << b.literal;
}

void expectSame(const Module &a, const Module &b) {
  EXPECT_EQ(a.name, b.name);
  ASSERT_EQ(a.all().size(), b.all().size());
  EXPECT_EQ(a.entry().name(), b.entry().name());
  std::map<std::string, std::string> left, right;
  for (const RawAttribute &attribute : a.attributes)
    left[attribute.name] = attribute.text;
  for (const RawAttribute &attribute : b.attributes)
    right[attribute.name] = attribute.text;
  for (const auto &[name, text] : right)
    EXPECT_EQ(left[name], text) << name;
  for (const Graph &x : a.all()) { // in whatever order
    SCOPED_TRACE(x.name());
    ASSERT_TRUE(b.find(x.name()).isValid());
    const Graph &y = b.graph(b.find(x.name()));
    ASSERT_EQ(x.size(), y.size());
    EXPECT_EQ(x.root(), y.root());
    for (uint32_t i = 0; i < x.size(); ++i) {
      expectSameOp(x.op(OpId{i}), y.op(OpId{i}));
      EXPECT_EQ(calledBy(a, x.op(OpId{i})), calledBy(b, y.op(OpId{i})));
    }
  }
}

} // namespace

TEST(HloProto, ReadsToTheGraphOfItsText) {
  size_t count = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".pb") {
      const std::string path = entry.path().string();
      SCOPED_TRACE(path);
      expectSame(moduleOf(path.substr(0, path.size() - 3) + ".txt"), moduleOf(path));
      ++count;
    }
  EXPECT_EQ(count, 3u);
}

TEST(HloProto, SourceLinesComeFromItsFrames) {
  const Module text = moduleOf(folder + "layer.hlo.txt"), proto = moduleOf(folder + "layer.hlo.pb");
  const OpOrigins ofText(text), ofProto(proto);
  size_t named = 0;
  for (uint32_t i = 0; i < text.entry().size(); ++i) {
    const OpOrigin origin = ofText.of(text.entry().op(OpId{i}));
    EXPECT_EQ(origin, ofProto.of(proto.entry().op(OpId{i})));
    named += !origin.file.empty() && !origin.name.empty() && origin.line > 0;
  }
  EXPECT_GT(named, 5u);
}

TEST(HloProto, AModuleInAnHloProtoOrASnapshot) {
  const std::string module = bytesOf(folder + "layer.hlo.pb");
  auto wrapped = [](const std::string &inner) {
    std::string out = "\x0a"; // field 1, its length in groups of seven bits
    for (size_t rest = inner.size(); rest > 0 || out.size() == 1; rest >>= 7)
      out += static_cast<char>((rest & 0x7f) | (rest >> 7 ? 0x80 : 0));
    return out + inner;
  };
  const Module plain = moduleOf(folder + "layer.hlo.pb");
  for (const std::string &bytes : {wrapped(module), wrapped(wrapped(module))}) {
    llvm::Expected<Module> inside = importBuffer(std::make_shared<const SourceBuffer>("x", bytes));
    ASSERT_TRUE(static_cast<bool>(inside));
    expectSame(plain, *inside);
  }
}

TEST(HloProto, EveryPartOfAFileEndsInAMessage) {
  const std::string whole = bytesOf(folder + "ops.hlo.pb");
  for (size_t size = 1; size < whole.size(); size += 7) {
    llvm::Expected<Module> module =
        importBuffer(std::make_shared<const SourceBuffer>("x", whole.substr(0, size)));
    EXPECT_FALSE(static_cast<bool>(module)) << size;
    if (llvm::Error error = module.takeError()) {
      const Diag diag = takeDiag(std::move(error));
      EXPECT_TRUE(diag.cls == DiagClass::BadInput || diag.cls == DiagClass::Unsupported)
          << size << " " << diag.message;
    }
  }
}

// A byte of a string may be anything: what is read is printed as text, and read again as the same.
TEST(HloProto, BytesOfStringsStayReadable) {
  const std::string whole = bytesOf(folder + "ops.hlo.pb");
  const std::string key = "{\"known_trip_count\":{\"n\":\"";
  const size_t at = whole.find(key);
  ASSERT_NE(at, std::string::npos);
  for (int byte = 0; byte < 256; ++byte) {
    std::string bytes = whole;
    bytes[at + key.size()] = static_cast<char>(byte);
    llvm::Expected<Module> module =
        importBuffer(std::make_shared<const SourceBuffer>("x", std::move(bytes)));
    if (!module) { // no count
      EXPECT_EQ(takeDiag(module.takeError()).cls, DiagClass::BadInput) << byte;
      continue;
    }
    llvm::Expected<Module> again =
        importBuffer(std::make_shared<const SourceBuffer>("again", printHlo(*module)));
    ASSERT_TRUE(static_cast<bool>(again)) << byte << " " << takeDiag(again.takeError()).str();
    expectSame(*module, *again);
  }
}

TEST(HloProto, ErrorsNameTheByteAndTheInstruction) {
  using namespace std::string_literals;
  EXPECT_EQ(messageOf("\x0a\x01m\x32"s), "m.pb: byte 3: field 6 should go on behind the end (read "
                                         "as a protocol buffer of XLA's HLO)");
  EXPECT_EQ(messageOf("\x0a\x01m\x30\x01\x0c"s),
            "m.pb: byte 5: field 1 has wire type 4, which is not read (read as a protocol buffer "
            "of XLA's HLO)");
  EXPECT_EQ(messageOf("\x0a\x01m\x30\x01"s),
            "m.pb: byte 0: there is no computation (read as a protocol buffer of XLA's HLO)");
  // A computation `c` (id 1) of one instruction `p` (id 2) without an opcode.
  EXPECT_EQ(messageOf("\x0a\x01m\x30\x01\x1a\x0f\x0a\x01"
                      "c\x12\x06\x0a\x01p\x98\x02\x02\x28\x01\x30\x02"s),
            "m.pb: byte 12, in %p: an opcode has no name (read as a protocol buffer of XLA's HLO)");
}

TEST(HloProto, ErrorsOfTheModuleQuoteItsText) {
  std::string bytes = bytesOf(folder + "layer.hlo.pb");
  const size_t at = bytes.find("dot_general", bytes.find("\x12\x03"
                                                         "dot") -
                                                  40);
  const size_t opcode = bytes.find("\x12\x03"
                                   "dot",
                                   at);
  ASSERT_NE(opcode, std::string::npos);
  bytes.replace(opcode + 2, 3, "dut");
  llvm::Expected<Module> module = importBuffer(std::make_shared<const SourceBuffer>("m.pb", bytes));
  ASSERT_FALSE(static_cast<bool>(module));
  const std::string shown = takeDiag(module.takeError()).str();
  EXPECT_NE(shown.find("m.pb (as text):"), std::string::npos) << shown;
  EXPECT_NE(shown.find("'dut' is not an opcode"), std::string::npos) << shown;
}
