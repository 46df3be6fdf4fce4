#include "analysis/program/layout/legality.h"

#include "analysis/support/diag.h"

#include <fmt/format.h>

namespace tilewright::layout {

namespace {

constexpr int64_t rowBytes = 16; ///< of an 8x8 matrix

/// One 32-bit register of a warp, as the bits where its elements lie.
struct WarpRegister {
  const AddressTable &table;
  int64_t warp, number, perRegister, bits;
  int64_t at(int64_t lane, int64_t element) const {
    return table.at(warp, lane, number * perRegister + element);
  }

  /// Rows of four lanes are 16 consecutive, aligned bytes.
  std::string faultOfRows() const {
    for (int64_t lane = 0; lane < warpLanes; ++lane)
      for (int64_t e = 1; e < perRegister; ++e)
        if (at(lane, e) != at(lane, 0) + e * bits)
          return fmt::format("register {}: its {} values are not consecutive in shared memory",
                             number, perRegister);
    for (int64_t lane = 0; lane < warpLanes; ++lane) {
      const int64_t row = lane / 4 * 4, start = at(row, 0);
      if (at(lane, 0) != start + lane % 4 * 32)
        return fmt::format("register {}: lanes {} to {} do not cover {} consecutive bytes", number,
                           row, row + 3, rowBytes);
      if (start % (rowBytes * 8) != 0)
        return fmt::format("register {}: a row of {} bytes starts at byte {}, no multiple of {}",
                           number, rowBytes, start / 8, rowBytes);
    }
    return "";
  }

  /// Lane l holds elements (2·(l mod 4) + h, ⌊l/4⌋): for a fixed (l mod 4, h) eight lanes are a
  /// row.
  std::string faultOfColumns() const {
    for (int64_t a = 0; a < 4; ++a)
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t lane = a; lane < warpLanes; lane += 4)
          if (at(a, h) % (rowBytes * 8) != 0 || at(lane, h) != at(a, h) + lane / 4 * bits)
            return fmt::format("register {}: row {} of the stored matrix is not {} consecutive, "
                               "aligned bytes",
                               number, 2 * a + h, rowBytes);
    return "";
  }
};

std::string matrixTargetFault(const MatrixAccess &access, unsigned bits) {
  if (access.isStore && access.computeCapability < 90)
    return fmt::format("stmatrix is there from sm_90 on, this is sm_{}", access.computeCapability);
  if (!access.isStore && access.computeCapability < 75)
    return fmt::format("ldmatrix is there from sm_75 on, this is sm_{}", access.computeCapability);
  if (access.isTransposed && bits != 16)
    return fmt::format("the transposing form moves elements of 16 bits, these have {} (of 8 bits: "
                       "forms with .b8 of sm_100a)",
                       bits);
  return "";
}

} // namespace

std::string matrixAccessFault(const TileLayout &registers, const SharedLayout &shared,
                              const MatrixAccess &access) {
  const unsigned bits = shared.elementBits();
  if (std::string fault = matrixTargetFault(access, bits); !fault.empty())
    return fault;
  if (registers.count(Hardware::Lane) != warpLanes)
    return fmt::format("{} lanes: a warp has {}", registers.count(Hardware::Lane), warpLanes);
  if (bits > 32)
    return fmt::format("elements of {} bits do not fit a 32-bit register", bits);
  const int64_t perRegister = 32 / bits;
  if (registers.registers() % perRegister != 0)
    return fmt::format("{} values of {} bits a lane do not fill 32-bit registers",
                       registers.registers(), bits);
  if (registers.isPadded())
    return "some lanes hold no element: a matrix has all";
  AddressTable table(registers, shared);
  for (int64_t w = 0; w < table.warps(); ++w)
    for (int64_t k = 0; k < table.registers() / perRegister; ++k) {
      WarpRegister one{table, w, k, perRegister, bits};
      std::string fault = access.isTransposed ? one.faultOfColumns() : one.faultOfRows();
      if (!fault.empty())
        return fault;
    }
  return "";
}

llvm::Expected<SharedAccess> matrixAccessOf(const TileLayout &registers, const SharedLayout &shared,
                                            const MatrixAccess &access) {
  if (std::string fault = matrixAccessFault(registers, shared, access); !fault.empty())
    return makeError(DiagClass::Unsupported, "{}", fault);
  AddressTable table(registers, shared);
  const int64_t perRegister = 32 / shared.elementBits();
  SharedAccess result;
  result.bytesPerLane = rowBytes;
  for (int64_t w = 0; w < table.warps(); ++w)
    for (int64_t k = 0; k < table.registers() / perRegister; ++k) {
      WarpRegister one{table, w, k, perRegister, shared.elementBits()};
      std::vector<int64_t> rows; // lane l of the instruction gives the address of row l
      for (int64_t row = 0; row < 8; ++row)
        rows.push_back((access.isTransposed ? one.at(row / 2, row % 2) : one.at(row * 4, 0)) / 8);
      BankConflicts here = conflictsOf(rows, rowBytes);
      result.instructions += 1;
      result.passes += here.passes;
      result.leastPasses += here.leastPasses;
      if (here.degree <= result.degree)
        continue;
      result.kind = SharedAccess::Kind::Conflict;
      result.degree = here.degree;
      result.witness = here.witness;
      result.bank = here.bank;
      result.witnessWarp = w;
      result.witnessRegister = k * perRegister;
    }
  return result;
}

namespace {

std::string pieceFault(const SharedLayout &shared, const GlobalRows &global, int64_t bytes) {
  const int64_t elements = bytes * 8 / shared.elementBits();
  const TileDims &dims = shared.dims();
  if (global.innerStride != 1)
    return fmt::format("neighbours lie {} elements apart in the tensor", global.innerStride);
  if (bytes * 8 % shared.elementBits() != 0 || dims.back().extent % elements != 0)
    return fmt::format("rows of {} elements are no whole pieces of {} bytes", dims.back().extent,
                       bytes);
  if (global.baseAlignment % bytes != 0)
    return fmt::format("the tensor is aligned to {} bytes, not to {}", global.baseAlignment, bytes);
  for (int64_t stride : global.strideBytes)
    if (stride % bytes != 0)
      return fmt::format("rows of the tensor are {} bytes apart, no multiple of {}", stride, bytes);
  std::vector<int64_t> at(dims.size(), 0);
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < dims.size(); ++d)
    rows *= dims[d].extent;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t rest = row;
    for (size_t d = dims.size() - 1; d-- > 0;) {
      at[d] = rest % dims[d].extent;
      rest /= dims[d].extent;
    }
    for (int64_t j = 0; j < dims.back().extent; ++j) {
      at.back() = j - j % elements;
      const int64_t start = shared.bitAddress(at);
      at.back() = j;
      if (start % (bytes * 8) != 0)
        return fmt::format("a piece of row {} starts at byte {} of shared memory, no multiple of "
                           "{}",
                           row, start / 8, bytes);
      if (shared.bitAddress(at) != start + j % elements * shared.elementBits())
        return fmt::format("{} bytes of row {} do not lie in one piece in shared memory", bytes,
                           row);
    }
  }
  return "";
}

} // namespace

AsyncCopyPieces asyncCopyPieces(const SharedLayout &shared, const GlobalRows &global) {
  AsyncCopyPieces result;
  for (int64_t bytes : {16, 8, 4}) {
    std::string fault = pieceFault(shared, global, bytes);
    if (fault.empty()) {
      result.bytes = bytes;
      break;
    }
    result.reasons.push_back(fmt::format("{} bytes: {}", bytes, fault));
  }
  return result;
}

std::vector<std::string> tensorCopyFaults(const TensorCopy &copy) {
  constexpr int64_t mostBox = 256, mostStride = int64_t(1) << 40, strideUnit = 16;
  std::vector<std::string> faults;
  auto fault = [&](std::string text) { faults.push_back(std::move(text)); };
  const size_t rank = copy.box.size();
  if (rank < 1 || rank > 5)
    fault(fmt::format("rank {} is not 1 to 5", rank));
  if (copy.global.baseAlignment % strideUnit != 0)
    fault(fmt::format("the tensor is aligned to {} bytes, not to {}", copy.global.baseAlignment,
                      strideUnit));
  for (size_t d = 0; d < copy.global.strideBytes.size(); ++d) {
    const int64_t stride = copy.global.strideBytes[d];
    if (stride % strideUnit != 0)
      fault(fmt::format("the stride of dim {} is {} bytes, no multiple of {}", d, stride,
                        strideUnit));
    if (stride < 0 || stride >= mostStride)
      fault(fmt::format("the stride of dim {} is {} bytes, not below 2^40", d, stride));
  }
  if (copy.global.innerStride != 1)
    fault(fmt::format("neighbours along the last dim lie {} elements apart",
                      copy.global.innerStride));
  for (size_t d = 0; d < rank; ++d)
    if (copy.box[d] < 1 || copy.box[d] > mostBox)
      fault(fmt::format("the box has {} elements along dim {}, not 1 to {}", copy.box[d], d,
                        mostBox));
  if (rank == 0)
    return faults;
  const int64_t rowBits = copy.box.back() * copy.global.elementBits;
  if (rowBits % (strideUnit * 8) != 0)
    fault(fmt::format("an inner row of {} bits is no multiple of {} bytes", rowBits, strideUnit));
  if (copy.swizzle != 0 && copy.swizzle != 32 && copy.swizzle != 64 && copy.swizzle != 128)
    fault(fmt::format("swizzle {}: there are 32, 64 and 128 bytes", copy.swizzle));
  else if (copy.swizzle != 0 && rowBits > copy.swizzle * 8)
    fault(fmt::format("an inner row of {} bytes is longer than the {}-byte swizzle", rowBits / 8,
                      copy.swizzle));
  return faults;
}

} // namespace tilewright::layout
