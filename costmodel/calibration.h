// Calibration: parameters of the time formula fitted to measurements, with units, uncertainties,
// the data, the quality of the fit, and which parameters the data do not identify.
#pragma once

#include "costmodel/dataset.h"
#include "costmodel/parameters.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// The spread that a price starts from.
struct BaseSpread {
  double sigmaLn = 0;
  /// Measured on kernels of the same kind. Otherwise it is wider for kinds that are known to be
  /// predicted worse.
  bool isOfKind = false;
  BaseSpread(double sigmaLn, bool isOfKind = false) : sigmaLn(sigmaLn), isOfKind(isOfKind) {}
};

struct FitOptions {
  bool all = false; ///< also fit the weakly identified parameters
  /// Standard deviations of every ln(parameter) around its prior, and of the ln(measured /
  /// predicted) of a problem that no parameter explains. Their ratio decides how strongly the prior
  /// holds back a few problems; hundreds are hardly held back.
  double priorSigma = 0.3, modelError = 0.1;
  int maxIterations = 60;
};

struct CalibratedParameter {
  enum class Status {
    Prior, ///< from the device description; nothing measured
    Fixed, ///< kept at its prior while the others were fitted
    Fitted,
    NotIdentified, ///< fitted, but the data hardly constrain it, or it is at its bound
  };
  double value = 0;
  double prior = 0;
  double sigmaLn = 0; ///< standard deviation of ln(value)
  Status status = Status::Prior;
};
std::string_view toString(CalibratedParameter::Status status);

/// How far measured times of our own kernels of one kind lie from predictions.
struct KindSpread {
  std::string kind;   ///< see spreadKindOf()
  double sigmaLn = 0; ///< 68 % of |ln(measured / predicted)| are within it
  int64_t rows = 0;   ///< that it was taken of
  double inside = 0;  ///< share of them within it
  double bias = 0;    ///< median of ln(measured / predicted)
};

struct Calibration {
  std::string device;          ///< the device it prices
  std::string deviceDigest;    ///< of its description, Device::digest; empty in old files
  std::string transferredFrom; ///< the device it was fitted on, if different
  std::vector<CalibratedParameter> parameters; ///< in the order of parameters.def
  std::vector<std::string> files;              ///< empty: nothing was fitted
  std::string dataHash;
  FitOptions options;
  int64_t rows = 0, groups = 0;
  int iterations = 0;
  bool converged = false;
  double mape = 0;                 ///< over the fitted rows
  double sigmaLn = unknownSigmaLn; ///< robust spread of ln(predicted / measured)
  std::vector<KindSpread> spreads; ///< of our own kernels, by kind; sorted
  std::vector<std::string> spreadFiles;

  /// A guess, where nothing was measured.
  static constexpr double unknownSigmaLn = 0.35;

  Parameters values() const;
  bool isFitted() const { return !files.empty(); }
  /// What to expect of a kernel of our own of that kind; where none was measured, the guess, or
  /// the spread of other kernels if that is wider. Of other compilers' kernels (no kind) sigmaLn.
  BaseSpread spreadOf(std::string_view kind) const;
  /// In one line, for people: "none (priors)", "h100-sxm", "h100-sxm, carried over".
  std::string label() const;
};

/// The priors, from the device description alone.
Calibration priorCalibration(const Device &device);

/// Fits in log space. Each group weighs 1/√(groups of its family), so that neither large groups nor
/// common families dominate. BadInput if there are no rows.
llvm::Expected<Calibration> calibrate(const Dataset &data, const Device &device,
                                      const FitOptions &options = {});
/// The same on a subset of the rows.
llvm::Expected<Calibration> calibrate(const Dataset &data, std::span<const size_t> rows,
                                      const Device &device, const FitOptions &options = {});

/// The spreads of our own kernels among the rows, as the calibration prices them. A kind of fewer
/// than 8 rows has none.
std::vector<KindSpread> spreadsByKind(const Dataset &data, const Device &device,
                                      const Calibration &calibration);

/// JSON of schema "tilewright.calibration", one line a parameter; the same bytes for the same
/// content.
std::string toJson(const Calibration &calibration);
/// Errors (BadInput) are located.
llvm::Expected<Calibration> parseCalibration(std::string name, std::string text);

/// A calibration by path (if it ends in ".json") or by the name of a file in `folder`, see
/// findNamed().
llvm::Expected<Calibration> loadCalibration(const std::string &nameOrPath,
                                            const std::string &folder = dataFolder("calibrations"));
/// The calibration of that device's name if `folder` has one, else its priors.
llvm::Expected<Calibration>
defaultCalibration(const Device &device, const std::string &folder = dataFolder("calibrations"));
/// loadCalibration(), or defaultCalibration() for an empty text.
llvm::Expected<Calibration> calibrationFor(const Device &device, const std::string &nameOrPath,
                                           const std::string &folder);

/// The calibration carried over to a device by its description: each parameter keeps its ratio to
/// its prior, which scales with the clock, the bandwidths, the latencies and the L2 size of the
/// device; a prior without such a number does not change. The same where the description is the one
/// that it was fitted on: what a description says decides, not its name.
Calibration transferred(const Calibration &calibration, const Device &device);

/// Was the calibration fitted on a description that says the same? One that does not record it is
/// taken for that of the device of its name, if the priors agree.
bool isFittedOn(const Calibration &calibration, const Device &device);

/// The parameters of transferred().
Parameters parametersFor(const Calibration &calibration, const Device &device);

} // namespace tilewright
