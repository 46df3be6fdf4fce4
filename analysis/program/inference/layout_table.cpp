#include "analysis/program/inference/layout_table.h"

#include <bit>
#include <fmt/format.h>

namespace tilewright::inference {

using layout::Hardware;
using layout::Place;
using layout::SharedLayout;
using layout::TileDims;

Place LayoutEntry::holderOf(std::span<const int64_t> at) const {
  int64_t numbers[3] = {0, 0, 0};
  for (const Part &part : parts)
    numbers[static_cast<size_t>(part.of)] += at[part.dim] / part.stride % part.extent * part.place;
  return {numbers[2], numbers[1], numbers[0]};
}

bool LayoutEntry::isHeldBy(int64_t warp, std::span<const int64_t> at) const {
  for (const Part &part : parts)
    if (part.of == Hardware::Warp &&
        at[part.dim] / part.stride % part.extent != warp / part.place % part.extent)
      return false;
  return true;
}

bool LayoutEntry::isHeldBy(int64_t warp, int64_t lane, std::span<const int64_t> at) const {
  for (const Part &part : parts)
    if (part.of == Hardware::Lane &&
        at[part.dim] / part.stride % part.extent != lane / part.place % part.extent)
      return false;
  return isHeldBy(warp, at);
}

bool LayoutEntry::isInside(std::span<const int64_t> at) const {
  for (size_t d = 0; d < at.size(); ++d)
    if (at[d] >= layout.dims()[d].extent)
      return false;
  return true;
}

LayoutId LayoutTable::intern(TileLayout tile) {
  std::string text = tile.str();
  auto [found, isNew] = byText.try_emplace(text, static_cast<LayoutId>(entries.size()));
  if (!isNew)
    return found->second;
  layout::CoordinateTable coordinates(tile);
  LayoutEntry entry{
      std::move(tile), std::move(coordinates), std::nullopt, std::move(text), {}, {}, 1, 1, 1, 1};
  if (!entry.layout.isPadded())
    entry.view = layout::f2View(entry.layout);
  entry.registers = entry.layout.registers();
  entry.lanes = entry.layout.count(Hardware::Lane);
  entry.warps = entry.layout.count(Hardware::Warp);
  for (const layout::TileDim &dim : entry.layout.dims())
    entry.elements *= dim.extent;
  for (Hardware axis : layout::allHardware) {
    int64_t place = 1;
    for (const layout::Digit &digit : entry.layout.digits(axis)) {
      if (!digit.isCopy())
        entry.parts.push_back({axis, digit.dim, digit.stride, digit.extent, place});
      else if (axis == Hardware::Lane)
        entry.laneCopies.emplace_back(digit.extent, place);
      if (digit.isCopy())
        (axis == Hardware::Register ? entry.registerCopies
         : axis == Hardware::Lane   ? entry.copiesOfLanes
                                    : entry.warpCopies) *= digit.extent;
      place *= digit.extent;
    }
  }
  entries.push_back(std::make_unique<LayoutEntry>(std::move(entry)));
  return found->second;
}

namespace {

/// Addresses of the elements that are powers of two; of a tile of powers of two without padding
/// those of the others are their sums.
SharedForm formOf(const TileDims &dims, std::vector<size_t> order, SharedLayout shared,
                  std::string text, int64_t swizzle) {
  SharedForm form{std::move(order), std::move(shared), std::move(text), swizzle, 0, 0, true, {}};
  int64_t elements = 1;
  for (const layout::TileDim &dim : dims) {
    form.isLinear = form.isLinear && std::has_single_bit(static_cast<uint64_t>(dim.extent));
    elements *= dim.extent;
  }
  form.isLinear = form.isLinear && form.shared.bytes() * 8 ==
                                       elements * static_cast<int64_t>(form.shared.elementBits());
  if (!form.isLinear)
    return form;
  std::vector<int64_t> at(dims.size());
  for (size_t d = dims.size(); d-- > 0;)
    for (int64_t bit = 1; bit < dims[d].extent; bit *= 2) {
      std::fill(at.begin(), at.end(), 0);
      for (size_t n = 0; n < form.order.size(); ++n)
        if (form.order[n] == d)
          at[n] = bit;
      form.addressOfBit.push_back(static_cast<uint64_t>(form.shared.bitAddress(at)));
    }
  return form;
}

/// Makes the forms of one tile.
class FormMaker {
public:
  FormMaker(const TileDims &dims, unsigned bits) : dims(dims), bits(bits) {}

  std::vector<SharedForm> run() {
    const size_t rank = dims.size();
    std::vector<size_t> order(rank);
    for (size_t d = 0; d < rank; ++d)
      order[d] = d;
    addOrder(order, "rows");
    if (rank >= 2) {
      std::swap(order[rank - 1], order[rank - 2]);
      addOrder(order, "columns");
    }
    return std::move(forms);
  }

private:
  void addOrder(const std::vector<size_t> &order, const std::string &name) {
    TileDims ordered;
    for (size_t d : order)
      ordered.emplace_back(dims[d].name, dims[d].extent);
    const int64_t row = ordered.empty() ? bits : ordered.back().extent * bits;
    add(order, name, 0, SharedLayout::rows(ordered, bits));
    for (int64_t swizzle : {32, 64, 128})
      if (bits >= 8 && row % (swizzle * 8) == 0)
        add(order, fmt::format("{}, swizzle {}", name, swizzle), swizzle,
            SharedLayout::panels(ordered, bits, swizzle));
    if (ordered.size() < 2)
      return;
    const bool isPowers =
        row % 32 == 0 && std::has_single_bit(static_cast<uint64_t>(row)) &&
        std::has_single_bit(static_cast<uint64_t>(ordered[order.size() - 2].extent));
    for (int64_t step : {1, 2, 4, 8})
      if (isPowers && bits >= 8)
        if (SharedForm *form =
                add(order, fmt::format("{}, permuted by {}", name, step), 0,
                    SharedLayout::permuted(
                        ordered, bits, 0,
                        layout::permutationOf(ordered[order.size() - 2].extent, row / 8, step))))
          form->permute = step;
    constexpr int64_t padBits = 128;
    if (padBits % bits == 0)
      if (SharedForm *form = add(order, fmt::format("{}, padded by 16 bytes", name), 0,
                                 SharedLayout::rows(ordered, bits, padBits / bits)))
        form->padElements = padBits / bits;
  }

  /// Null where there is no such form.
  SharedForm *add(const std::vector<size_t> &order, std::string name, int64_t swizzle,
                  llvm::Expected<SharedLayout> shared) {
    if (!shared) {
      llvm::consumeError(shared.takeError());
      return nullptr;
    }
    forms.push_back(formOf(dims, order, std::move(*shared), std::move(name), swizzle));
    return &forms.back();
  }

  const TileDims &dims;
  unsigned bits;
  std::vector<SharedForm> forms;
};

} // namespace

const std::vector<FormId> &LayoutTable::formsOf(const TileDims &dims, unsigned bits) {
  std::string key = fmt::format("{}:", bits);
  for (const layout::TileDim &dim : dims)
    key += fmt::format("{}={},", dim.name, dim.extent);
  auto [found, isNew] = formsByTile.try_emplace(key);
  if (!isNew)
    return found->second;
  for (SharedForm &form : FormMaker(dims, bits).run()) {
    found->second.push_back(static_cast<FormId>(forms.size()));
    forms.push_back(std::make_unique<SharedForm>(std::move(form)));
  }
  return found->second;
}

FormId LayoutTable::addForm(const TileDims &dims, std::vector<size_t> order, SharedLayout shared,
                            int64_t swizzle) {
  for (FormId id : formsOf(dims, shared.elementBits()))
    if (form(id).order == order && form(id).shared == shared)
      return id;
  std::string text = shared.str();
  forms.push_back(std::make_unique<SharedForm>(
      formOf(dims, std::move(order), std::move(shared), std::move(text), swizzle)));
  return static_cast<FormId>(forms.size() - 1);
}

} // namespace tilewright::inference
