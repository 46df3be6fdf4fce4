#include "analysis/import/import_file.h"

#include "analysis/import/hlo_lexer.h"
#include "analysis/import/hlo_text.h"
#include "analysis/import/onnx/onnx_import.h"
#include "analysis/import/proto/hlo_proto.h"
#include "analysis/import/stablehlo/stablehlo_text.h"
#include "analysis/ir/verifier.h"
#include "analysis/support/printable.h"

#include "llvm/Support/ConvertUTF.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <set>

namespace tilewright {

namespace {

/// The text from its first word on; HLO and MLIR both have `//` comments.
std::string_view skipToWord(std::string_view text) {
  while (true) {
    while (text.starts_with(byteOrderMark))
      text.remove_prefix(byteOrderMark.size());
    size_t begin = text.find_first_not_of(" \t\r\n\v\f");
    if (begin == std::string_view::npos)
      return {};
    text.remove_prefix(begin);
    if (!text.starts_with("//"))
      return text;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
}

/// Offset of the first byte that no text has, or npos.
size_t firstBinaryByte(std::string_view bytes) {
  auto it = std::find_if(bytes.begin(), bytes.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && !(c >= '\t' && c <= '\r') && c != 0x1b;
  });
  return it == bytes.end() ? std::string_view::npos : static_cast<size_t>(it - bytes.begin());
}

/// Letters, digits and '_' at the beginning.
std::string_view identifierAt(std::string_view text) {
  return text.substr(0, std::find_if_not(text.begin(), text.end(), [](unsigned char c) {
                          return std::isalnum(c) || c == '_';
                        }) - text.begin());
}

/// A protocol buffer as text, behind its `#` comments: `name: "m"`, or a message `hlo_module { … }`
/// with such a field, or another message, right behind the brace.
bool isProtoText(std::string_view text) {
  while (text.starts_with('#'))
    text = skipToWord(text.substr(std::min(text.find('\n'), text.size())));
  for (unsigned depth = 0; depth < 8; ++depth) {
    std::string_view field = identifierAt(text);
    text = skipToWord(text.substr(field.size()));
    if (field.empty() || text.empty())
      return false;
    if (text.front() == ':')
      return true;
    if (text.front() != '{')
      return false;
    text = skipToWord(text.substr(1));
  }
  return false;
}

} // namespace

ModelFormat detectFormat(std::string_view bytes) {
  if (bytes.starts_with("ML\xefR"))
    return ModelFormat::MlirBytecode;
  // An ONNX ModelProto begins with field 1, the IR version, a small varint.
  if (bytes.size() > 2 && bytes[0] == 0x08 && bytes[1] > 0 && bytes[1] < 0x20)
    return ModelFormat::Onnx;
  // An HloProto begins with its module, field 1, a module with its name, also field 1.
  if (firstBinaryByte(bytes) != std::string_view::npos)
    return bytes[0] == 0x0a ? ModelFormat::HloProto : ModelFormat::OtherBinary;
  std::string_view text = skipToWord(bytes);
  if (text.empty())
    return ModelFormat::Empty;
  if (text.front() == '<')
    return ModelFormat::OnnxText;
  if (isProtoText(text))
    return ModelFormat::HloProtoText;
  std::string_view word = text.substr(0, text.find_first_of(" \t\r\n{(="));
  if (word == "module" || word == "builtin.module" || word == "func.func" ||
      word.starts_with('#') || word.starts_with('!') || word.starts_with('"'))
    return ModelFormat::Mlir;
  return ModelFormat::HloText;
}

namespace {

/// What is wrong with bytes that are neither HLO nor MLIR text; success for those that may be.
llvm::Error checkFormat(const SourceBuffer &source, ModelFormat format) {
  auto refuse = [&](std::string message, DiagClass cls) {
    return makeError(diagAt(source, {}, std::move(message), cls));
  };
  std::string_view text = source.text();
  switch (format) {
  case ModelFormat::HloProtoText:
    return refuse("this is a protocol buffer in text form; print the module as HLO text (its "
                  "ToString(), or hlo-translate) and give that",
                  DiagClass::Unsupported);
  case ModelFormat::MlirBytecode:
    return refuse("this is MLIR bytecode; scripts/stablehlo_text.py makes StableHLO text of it, "
                  "give that",
                  DiagClass::Unsupported);
  case ModelFormat::OtherBinary: {
    size_t at = firstBinaryByte(text);
    return refuse(
        fmt::format("this is not text: byte {} is {:#04x}; give HLO text, HLO protos, StableHLO "
                    "text or ONNX",
                    at, static_cast<unsigned char>(text[at])),
        DiagClass::BadInput);
  }
  case ModelFormat::Empty:
    return refuse("the file holds no model", DiagClass::BadInput);
  case ModelFormat::HloProto:
  case ModelFormat::Onnx:
    return llvm::Error::success();
  case ModelFormat::OnnxText:
  case ModelFormat::HloText:
  case ModelFormat::Mlir:
    break;
  }
  const auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.data());
  const llvm::UTF8 *stop = begin;
  if (!llvm::isLegalUTF8String(&stop, begin + text.size()))
    return makeError(
        diagAt(source, SourceLoc{static_cast<uint32_t>(stop - begin)}, "this byte is not UTF-8"));
  return llvm::Error::success();
}

/// "main, main.2 and 7 more"
std::string listed(const std::vector<std::string> &names) {
  constexpr size_t most = 8;
  std::string out;
  for (size_t i = 0; i < std::min(most, names.size()); ++i)
    out += (i ? ", " : "") + names[i];
  return names.size() > most ? fmt::format("{} and {} more", out, names.size() - most) : out;
}

} // namespace

std::vector<std::string> moduleNames(std::span<const Module> modules) {
  std::set<std::string> taken;
  std::vector<std::string> names;
  for (const Module &module : modules) {
    const std::string base = module.name.empty() ? "module" : module.name;
    std::string name = base;
    for (size_t number = 2; !taken.insert(name).second; ++number)
      name = fmt::format("{}.{}", base, number);
    names.push_back(std::move(name));
  }
  return names;
}

namespace {

llvm::Expected<std::vector<Module>>
modulesOf(ModelFormat format, std::shared_ptr<const SourceBuffer> source, const DimSizes &sizes) {
  const bool isOnnx = format == ModelFormat::Onnx || format == ModelFormat::OnnxText;
  if (!isOnnx && !sizes.empty())
    return makeError(diagAt(*source, {},
                            fmt::format("there is no dim '{}': dims of ONNX's inputs have names",
                                        excerpt(sizes.begin()->first))));
  if (format == ModelFormat::Mlir)
    return parseStableHloModules(std::move(source));
  if (!isOnnx)
    return parseHloModules(std::move(source));
  llvm::Expected<Module> module = parseOnnx(std::move(source), {}, sizes);
  if (!module)
    return module.takeError();
  std::vector<Module> modules;
  modules.push_back(std::move(*module));
  return modules;
}

} // namespace

llvm::Expected<std::vector<Module>> importModules(std::shared_ptr<const SourceBuffer> source,
                                                  std::string_view name, const DimSizes &sizes) {
  const ModelFormat format = detectFormat(source->text());
  if (llvm::Error error = checkFormat(*source, format))
    return error;
  if (format == ModelFormat::HloProto) {
    llvm::Expected<std::string> text = hloTextOfProto(*source);
    if (!text)
      return text.takeError();
    source = std::make_shared<const SourceBuffer>(source->name() + " (as text)", std::move(*text));
  }
  llvm::Expected<std::vector<Module>> modules = modulesOf(format, source, sizes);
  if (!modules)
    return modules.takeError();
  if (!name.empty()) {
    const std::vector<std::string> names = moduleNames(*modules);
    auto it = std::find(names.begin(), names.end(), name);
    if (it == names.end())
      return makeError(diagAt(
          *source, {},
          fmt::format("there is no module '{}', there is {}", excerpt(name, 80), listed(names))));
    Module chosen = std::move((*modules)[static_cast<size_t>(it - names.begin())]);
    modules->clear();
    modules->push_back(std::move(chosen));
  }
  for (const Module &module : *modules)
    if (llvm::Error error = verify(module))
      return error;
  return modules;
}

llvm::Expected<Module> importBuffer(std::shared_ptr<const SourceBuffer> source,
                                    std::string_view name, const DimSizes &sizes) {
  llvm::Expected<std::vector<Module>> modules = importModules(source, name, sizes);
  if (!modules)
    return modules.takeError();
  if (modules->size() > 1)
    return makeError(diagAt(*source, (*modules)[1].loc,
                            fmt::format("a second module begins here; of the {} choose one with "
                                        "--module: {}",
                                        modules->size(), listed(moduleNames(*modules)))));
  return std::move(modules->front());
}

llvm::Expected<Module> importFile(const std::string &path, std::string_view module) {
  llvm::Expected<std::string> bytes = readFile(path);
  if (!bytes)
    return bytes.takeError();
  return importBuffer(std::make_shared<const SourceBuffer>(path, std::move(*bytes)), module);
}

} // namespace tilewright
