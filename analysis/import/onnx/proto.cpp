#include "analysis/import/onnx/proto.h"

#include "analysis/import/hlo_lexer.h"
#include "analysis/support/printable.h"

#include <algorithm>
#include <exception>
#include <google/protobuf/stubs/logging.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

namespace tilewright::onnx_format {

namespace {

/// ONNX's reader of text follows brackets by recursion.
llvm::Error checkNesting(const SourceBuffer &source) {
  const std::string_view text = source.text();
  unsigned depth = 0;
  bool isString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (isString) {
      i += c == '\\';
      isString = c != '"';
      continue;
    }
    isString = c == '"';
    depth += c == '(' || c == '[' || c == '{' || c == '<';
    if (depth > 0 && (c == ')' || c == ']' || c == '}' || c == '>'))
      --depth;
    if (depth > hlo_limits::depth)
      return makeError(diagAt(source, SourceLoc{static_cast<uint32_t>(i)},
                              fmt::format("brackets are nested over {} deep", hlo_limits::depth)));
  }
  return llvm::Error::success();
}

/// "[ParseError at position (line: 3 column: 7)]" and what follows it.
llvm::Error textError(const SourceBuffer &source, std::string message) {
  unsigned line = 0, column = 0;
  const size_t at = message.find("(line:");
  SourceLoc loc;
  if (at != std::string::npos &&
      std::sscanf(message.c_str() + at, "(line: %u column: %u)", &line, &column) == 2 && line > 0) {
    size_t offset = 0;
    for (unsigned l = 1; l < line && offset != std::string_view::npos; ++l) {
      offset = source.text().find('\n', offset);
      offset += offset != std::string_view::npos;
    }
    if (offset != std::string_view::npos)
      loc = SourceLoc{static_cast<uint32_t>(
          std::min(source.text().size(), offset + (column > 0 ? column - 1 : 0)))};
    message = message.substr(std::min(message.find('\n', at), message.size()));
  }
  std::replace(message.begin(), message.end(), '\n', ' ');
  const size_t begin = message.find_first_not_of(' ');
  message = begin == std::string::npos ? "" : message.substr(begin);
  return makeError(diagAt(source, loc, "this is not ONNX's text form: " + message));
}

} // namespace

llvm::Expected<std::shared_ptr<const ::onnx::ModelProto>>
readModelProto(const SourceBuffer &source) {
  google::protobuf::SetLogHandler(nullptr);
  auto model = std::make_shared<::onnx::ModelProto>();
  const std::string_view bytes = source.text();
  if (!bytes.empty() && bytes[0] == 0x08) {
    if (bytes.size() > hlo_limits::bytes)
      return makeError(diagAt(source, {}, "the file is too large"));
    if (!model->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      return makeError(diagAt(source, {},
                              "this is not a whole ONNX model: its protocol buffer ends early, is "
                              "damaged, or is nested over 100 deep"));
  } else {
    if (llvm::Error error = checkNesting(source))
      return error;
    const std::string text(bytes);
    std::string problem;
    try {
      ::onnx::OnnxParser parser(text.c_str());
      const ::onnx::Common::Status status = parser.Parse(*model);
      if (!status.IsOK())
        problem = status.ErrorMessage();
    } catch (const std::exception &error) {
      problem = error.what();
    }
    if (!problem.empty())
      return textError(source, problem);
  }
  if (!model->has_graph())
    return makeError(diagAt(source, {}, "the ONNX model has no graph"));
  return std::shared_ptr<const ::onnx::ModelProto>(std::move(model));
}

} // namespace tilewright::onnx_format
