// Zip archives, as far as numpy writes them: stored and deflated members, with zip64 sizes.
#pragma once

#include "analysis/support/diag.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

struct ZipMember {
  std::string name, bytes;
};

/// True of bytes that begin as a zip archive does, also an empty one.
bool isZip(std::string_view bytes);

/// The members in the order of the archive's directory, unpacked and compared with their CRC.
/// BadInput, with the byte where it is, for an archive that is cut off, contradicts itself, is
/// encrypted, spans several files, packs otherwise or unpacks to more than `maxBytes`.
llvm::Expected<std::vector<ZipMember>> readZip(const std::string &name, std::string_view bytes,
                                               uint64_t maxBytes = uint64_t(1) << 32);

} // namespace tilewright
