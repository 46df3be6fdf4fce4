// The `report` command's back end: explorations and evaluations in, one readable document out.
//
// The HTML form is a single file that needs no network, no script and no mouse: every chart is
// inline SVG, and its Content-Security-Policy allows nothing but its own style sheet and its own
// script (which adds search and sorting, and rows only once they are looked at). The Markdown form
// has the same tables for a pull request, the CSV form has them for other programs: every row,
// every digit. The trace shows the kernels of models along time, as predicted and as measured, in
// chrome://tracing or Perfetto.
//
// The documents are untrusted: names are escaped and shortened, numbers may be missing, and long
// lists are truncated with a count of what was omitted, so that the result stays small.
#pragma once

#include "llvm/Support/Error.h"

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

/// What was made of a kernel's plan.
struct ReportListing {
  std::string what; ///< "Tile program", "PTX for sm_90a"
  std::string text;
};

/// One JSON document as `explore` ("tilewright.explore", of several devices
/// "tilewright.explore.devices") or `evaluate` ("tilewright.evaluate") wrote it, version 1.
struct ReportInput {
  std::string name; ///< the file's name, for errors and captions
  std::string json; ///< the file's text, at most 64 MiB
  /// What a page shows beside a kernel, by the document's `plan_file`; may be missing. It is asked
  /// for the most expensive kernels.
  std::function<std::vector<ReportListing>(const std::string &planFile)> listings = {};
};

/// All documents as one self-contained HTML page, explorations first, each in the order given.
/// BadInput for no documents, invalid JSON (with line and column), an unknown schema or a field of
/// the wrong type (with its JSON path, such as "models[0].kernels[3].time_ns").
llvm::Expected<std::string> renderReport(std::span<const ReportInput> inputs);

/// The same content, without the charts, as GitHub-flavoured Markdown. Same errors.
llvm::Expected<std::string> renderMarkdown(std::span<const ReportInput> inputs);

/// A table of the report as CSV (RFC 4180, LF), with a name for its file.
struct ReportTable {
  std::string name; ///< "kernels", "unsupported", "accuracy", "rows", "regrets", "calibration"
  std::string csv;
};

/// The tables that the documents have rows for, in full. Columns carry their units, numbers have
/// the documents' precision, missing values are empty. Same errors.
llvm::Expected<std::vector<ReportTable>> renderCsv(std::span<const ReportInput> inputs);

/// Times of kernels, in order of execution unless stated otherwise.
struct MeasuredTrack {
  std::string name;                                    ///< the file's
  std::vector<std::pair<std::string, double>> kernels; ///< name, ns
};

/// A trace in Chrome's format (JSON): one process a model, in it the predicted track and one for
/// each measured track that names kernels of it, both in the order of execution. A track that names
/// no kernel of any model belongs to the only model, or else stands for itself. Same errors.
llvm::Expected<std::string> renderTrace(std::span<const ReportInput> inputs,
                                        std::span<const MeasuredTrack> measured);

} // namespace tilewright
