// The validated documents of a report as plain data.
#pragma once

#include "tools/report/report.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::report {

/// A quantity that the document may leave out (or give as null). Finite, and never negative unless
/// stated otherwise.
using Quantity = std::optional<double>;

/// Name and value of a tile or schedule parameter, the value as text.
using Parameters = std::vector<std::pair<std::string, std::string>>;

struct Device {
  std::string name, displayName;
  Quantity smCount, clockGhz, dramBytesPerS, l2Bytes;
  std::vector<std::pair<std::string, double>> peakFlopsPerS; ///< by dtype, sorted by name
};

struct Plan {
  Parameters tile; ///< parallel dims ("t0", "t1", …) first, then the others
  Parameters schedule;
  Quantity grid; ///< CTAs launched
};

struct Alternative {
  Plan plan;
  Quantity timeNs;
  std::string limiter;
};

/// Predicted times of a kernel's best plan with two of its sizes changed.
struct TileMap {
  struct Axis {
    std::string parameter; ///< empty for a single column
    std::vector<double> sizes;
  };
  struct Cell {
    Quantity timeNs; ///< missing: no plan
    std::string rule, reason;
    Parameters schedule; ///< where it is not the plan's
  };
  Axis rows, columns;
  std::vector<Cell> cells; ///< row by row, as many as rows times columns
};

/// Text that belongs to a kernel: its tile program, or the code that was made of it.
struct Listing {
  std::string what, html; ///< "PTX"; the text, escaped
  size_t lines = 0;
  bool isCut = false; ///< `html` is its begin alone
};

/// What a kernel would gain by.
struct Lever {
  std::string what;
  Quantity gainNs;
  std::string because; ///< what stands in its way; empty where that isn't known
};

struct Kernel {
  std::string name, rootShape, kind, limiter, computation;
  std::string layer, opName, sourceFile; ///< of the model's source; empty where it isn't known
  Quantity sourceLine;
  std::vector<std::string> ops;
  double tripCount = 1; ///< executions in one run of the model
  Plan plan;
  Quantity timeNs;  ///< one execution, behind the kernels before it
  Quantity aloneNs; ///< the same alone, as its bound, its terms and the alternatives are
  Quantity sigmaLn; ///< standard deviation of ln(time)
  std::vector<std::pair<std::string, double>> termsNs;
  Quantity flops, transcendentals, dramBytes, l2Bytes; ///< one execution; work is useful work
  Quantity issuedFlops;                                ///< by the tiles of the plan
  std::vector<std::string> notes;
  Quantity lowerBoundNs;     ///< no kernel of these ops takes less
  std::vector<Lever> levers; ///< the most first
  Quantity registersPerThread, sharedBytes, threads, ctasPerSm;
  Quantity rawCandidates, feasibleCandidates, pricedCandidates;
  std::vector<Alternative> alternatives; ///< best first
  std::vector<std::string> reads;        ///< names of the kernels whose results it reads
  std::optional<TileMap> tileMap;
  std::string planFile; ///< beside the document; may be empty
  std::vector<Listing> listings;
};

struct OpNote {
  std::string op, reason;
  std::string layer; ///< of the model's source; empty where it isn't known
};

/// An op without a plan, priced by what a library's kernels are taken to do.
struct AssumedNote {
  std::string op, reason, layer;
  Quantity timeNs;      ///< as of a kernel
  double tripCount = 1; ///< as of a kernel
};

/// A group of ops that was split into several kernels.
struct SplitNote {
  std::string root, reason;
  Quantity ops;
};

struct Model {
  std::string name;
  Quantity ops, computations;
  std::vector<Kernel> kernels;
  std::vector<OpNote> unsupported, noKernel;
  std::vector<OpNote> notes; ///< where the file contradicts itself
  std::vector<AssumedNote> assumed;
  std::vector<SplitNote> split;
  Quantity totalNs; ///< in the order they run, with what L2 holds
  Quantity aloneNs; ///< of the same kernels each alone, as the next is
  Quantity simpleGroupingNs, lowerBoundNs;
  bool totalIsComplete = true;
};

/// A model that could not be explored.
struct FailedModel {
  std::string file, message;
};

struct Exploration {
  std::string file, toolVersion, calibration; ///< calibration empty: priors only
  Device device;
  std::vector<std::string> notes; ///< what a reader of its prices has to know of the device
  std::vector<Model> models;
  std::vector<FailedModel> failures;
  std::function<std::vector<ReportListing>(const std::string &)> listings; ///< as of its input
};

/// Accuracy of one family, or of all. Fractions: 0.1 is 10 %.
struct Accuracy {
  std::string family;
  Quantity groups, rows, unpricedRows;
  Quantity mape, medianApe, p90Ape;
  Quantity bias; ///< may be negative
  Quantity oracleAt1, worstAt1, oracleAt5, oracleAt10, randomAt5;
};

struct Measured {
  std::string family, group; ///< of one problem; empty in documents without them
  Parameters plan;           ///< tile sizes and schedule together
  Quantity predictedNs, measuredNs;
};

/// Both times are known and positive.
inline bool hasBothTimes(const Measured &row) {
  return row.predictedNs && row.measuredNs && *row.predictedNs > 0 && *row.measuredNs > 0;
}

struct Evaluation {
  std::string file, toolVersion, device, calibration;
  std::vector<Accuracy> families;
  std::optional<Accuracy> overall;
  std::vector<Measured> rows;
};

struct CalibratedParameter {
  std::string name, unit, status, meaning;
  Quantity value, prior, sigmaLn;
};

struct CalibrationDocument {
  std::string file, device;
  Quantity rows, groups, mape, sigmaLn;
  std::vector<CalibratedParameter> parameters;
};

struct Documents {
  std::vector<Exploration> explorations;
  std::vector<Evaluation> evaluations;
  std::vector<CalibrationDocument> calibrations;
};

/// Parses and checks every input. Errors as in report.h.
llvm::Expected<Documents> readDocuments(std::span<const ReportInput> inputs);

} // namespace tilewright::report
