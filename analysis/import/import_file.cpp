#include "analysis/import/import_file.h"

#include "analysis/import/hlo_text.h"
#include "analysis/ir/verifier.h"

#include "llvm/Support/ConvertUTF.h"

#include <algorithm>

namespace tilewright {

namespace {

/// The text from its first word on; HLO and MLIR both have `//` comments.
std::string_view skipToWord(std::string_view text) {
  while (true) {
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

} // namespace

ModelFormat detectFormat(std::string_view bytes) {
  if (bytes.starts_with("ML\xefR"))
    return ModelFormat::MlirBytecode;
  // An ONNX ModelProto begins with field 1, the IR version, a small varint.
  if (bytes.size() > 2 && bytes[0] == 0x08 && bytes[1] > 0 && bytes[1] < 0x20)
    return ModelFormat::Onnx;
  if (firstBinaryByte(bytes) != std::string_view::npos)
    return ModelFormat::OtherBinary;
  std::string_view text = skipToWord(bytes);
  if (text.empty())
    return ModelFormat::Empty;
  std::string_view word = text.substr(0, text.find_first_of(" \t\r\n{(="));
  if (word == "module" || word == "func.func" || word.starts_with('#') || word.starts_with('!') ||
      word.starts_with('"'))
    return ModelFormat::Mlir;
  return ModelFormat::HloText;
}

llvm::Expected<Module> importBuffer(std::shared_ptr<const SourceBuffer> source) {
  auto refuse = [&](SourceLoc where, std::string message, DiagClass cls) {
    return makeError(diagAt(*source, where, std::move(message), cls));
  };
  std::string_view text = source->text();
  switch (detectFormat(text)) {
  case ModelFormat::Mlir:
    return refuse({}, "this is MLIR text; StableHLO is not supported yet, give HLO text",
                  DiagClass::Unsupported);
  case ModelFormat::MlirBytecode:
    return refuse({}, "this is MLIR bytecode; it is not supported yet, give HLO text",
                  DiagClass::Unsupported);
  case ModelFormat::Onnx:
    return refuse({}, "this looks like an ONNX model; it is not supported yet, give HLO text",
                  DiagClass::Unsupported);
  case ModelFormat::OtherBinary: {
    size_t at = firstBinaryByte(text);
    return refuse({},
                  fmt::format("this is no text: byte {} is {:#04x}; give HLO text", at,
                              static_cast<unsigned char>(text[at])),
                  DiagClass::BadInput);
  }
  case ModelFormat::Empty:
    return refuse({}, "the file holds no model", DiagClass::BadInput);
  case ModelFormat::HloText:
    break;
  }
  const auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.data());
  const llvm::UTF8 *stop = begin;
  if (!llvm::isLegalUTF8String(&stop, begin + text.size()))
    return refuse(SourceLoc{static_cast<uint32_t>(stop - begin)}, "this byte is not UTF-8",
                  DiagClass::BadInput);
  llvm::Expected<Module> module = parseHlo(source);
  if (!module)
    return module.takeError();
  if (llvm::Error error = verify(*module))
    return error;
  return module;
}

llvm::Expected<Module> importFile(const std::string &path) {
  llvm::Expected<std::string> bytes = readFile(path);
  if (!bytes)
    return bytes.takeError();
  return importBuffer(std::make_shared<const SourceBuffer>(path, std::move(*bytes)));
}

} // namespace tilewright
