#include "codegen/dim_factors.h"

namespace tilewright {

int DimFactors::add(int64_t size) {
  factors.push_back({size, -1, {}, size == 0});
  return static_cast<int>(factors.size()) - 1;
}

int DimFactors::find(int factor) const {
  while (factors[static_cast<size_t>(factor)].same >= 0)
    factor = factors[static_cast<size_t>(factor)].same;
  return factor;
}

DimFactors::List DimFactors::leaves(const List &list) const {
  List result, work(list.rbegin(), list.rend());
  while (!work.empty()) {
    int factor = find(work.back());
    work.pop_back();
    const Factor &f = factors[static_cast<size_t>(factor)];
    if (!f.parts.empty())
      work.insert(work.end(), f.parts.rbegin(), f.parts.rend());
    else if (f.size != 1)
      result.push_back(factor);
  }
  return result;
}

void DimFactors::split(int leaf, int64_t minor) {
  int64_t major = size(leaf) / minor;
  bool isFrozen = factors[static_cast<size_t>(leaf)].isFrozen;
  List parts{add(major), add(minor)};
  for (int part : parts)
    factors[static_cast<size_t>(part)].isFrozen = isFrozen;
  factors[static_cast<size_t>(leaf)].parts = std::move(parts);
}

void DimFactors::freeze(const List &list) {
  for (int leaf : leaves(list))
    factors[static_cast<size_t>(leaf)].isFrozen = true;
}

void DimFactors::unify(const List &a, const List &b) {
  List left = leaves(a), right = leaves(b); // compared from the minor end
  while (!left.empty() && !right.empty()) {
    int l = left.back(), r = right.back();
    if (l == r) {
      left.pop_back();
      right.pop_back();
    } else if (size(l) == size(r)) {
      factors[static_cast<size_t>(l)].isFrozen |= isFrozen(r);
      factors[static_cast<size_t>(r)].same = l;
      left = leaves(left);
      right = leaves(right);
    } else if (size(r) != 0 && size(l) % size(r) == 0) {
      split(l, size(r));
      left = leaves(left);
      right = leaves(right);
    } else if (size(l) != 0 && size(r) % size(l) == 0) {
      split(r, size(l));
      left = leaves(left);
      right = leaves(right);
    } else {
      break;
    }
  }
  freeze(left); // empty where the two sides match
  freeze(right);
}

} // namespace tilewright
