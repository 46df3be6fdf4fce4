// The `report` command's back end: explorations and evaluations in, one readable document out.
//
// The HTML form is a single file that needs no network, no script and no mouse: every chart is
// inline SVG, and its Content-Security-Policy allows nothing but its own style sheet and its own
// script (which only adds sorting). The Markdown form has the same tables for a pull request.
//
// The documents are untrusted: names are escaped and shortened, numbers may be missing, and long
// lists are cut with a note of how much was left out, so that the result stays small.
#pragma once

#include "llvm/Support/Error.h"

#include <span>
#include <string>

namespace tilewright {

/// One JSON document as `explore` ("tilewright.explore") or `evaluate` ("tilewright.evaluate")
/// wrote it, version 1 of either.
struct ReportInput {
  std::string name; ///< the file's name, for errors and captions
  std::string json; ///< the file's text, at most 64 MiB
};

/// All documents as one self-contained HTML page, explorations first, each in the order given.
/// BadInput for no documents, invalid JSON (with line and column), an unknown schema or a field of
/// the wrong type (with its JSON path, such as "models[0].kernels[3].time_ns").
llvm::Expected<std::string> renderReport(std::span<const ReportInput> inputs);

/// The same content, without the charts, as GitHub-flavoured Markdown. Same errors.
llvm::Expected<std::string> renderMarkdown(std::span<const ReportInput> inputs);

} // namespace tilewright
