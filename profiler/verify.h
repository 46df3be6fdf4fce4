// Numbers before times: what a kernel wrote against what the pack expects.
#pragma once

#include "profiler/pack_reader.h"

#include <functional>

namespace tilewright::profile {

/// Reads bytes of output number `parameter` from the device.
using ReadOutput =
    std::function<Status(size_t parameter, uint64_t offset, std::span<std::byte> to)>;

struct Verification {
  bool isRight = true;
  double maxError = 0; ///< relative, see below
  std::string reason;  ///< of a failure: the element, what it is and what it must be
};

/// Compares the elements that the pack has values of; the error of one is
/// |value - expected| / max(|expected|, scale of the output). Outputs were filled with 0xff before
/// the launch; where that is not a value of the output's type, blocks of it that nothing overwrote
/// are a failure, too. Large outputs are read in part.
/// Fails only when reading does.
Result<Verification> verify(const PackKernel &kernel, const ReadOutput &read);

} // namespace tilewright::profile
