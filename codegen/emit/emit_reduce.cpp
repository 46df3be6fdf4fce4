// Reductions and scans: registers, then lanes by shuffles, then warps through shared memory.
#include "codegen/emit/emission.h"

#include <bit>

namespace tilewright::emit {

namespace {

/// 0 or 1 of whether a value is not 0, for logic on types other than pred.
llvm::Value *truthOf(Emission &e, DType type, llvm::Value *x) {
  return type == DType::Pred
             ? x
             : e.ops.convert(DType::Pred, type, e.ops.convert(type, DType::Pred, x));
}

std::optional<Combiner> combinerOf(Monoid monoid, DType type) {
  switch (monoid) {
  case Monoid::Add:
    return Combiner::Add;
  case Monoid::Mul:
    return Combiner::Multiply;
  case Monoid::Max:
    return Combiner::Maximum;
  case Monoid::Min:
    return Combiner::Minimum;
  case Monoid::And: // of 0 and 1
    return type == DType::Pred ? Combiner::And : Combiner::Minimum;
  case Monoid::Or:
    return type == DType::Pred ? Combiner::Or : Combiner::Maximum;
  case Monoid::ArgMax:
  case Monoid::ArgMin:
    return std::nullopt;
  }
  return std::nullopt;
}

bool isLogic(Monoid monoid) { return monoid == Monoid::And || monoid == Monoid::Or; }

} // namespace

llvm::Value *combine(Emission &e, Monoid monoid, DType type, llvm::Value *x, llvm::Value *y) {
  return e.ops.combine(*combinerOf(monoid, type), type, x, y);
}

llvm::Value *identityValue(Emission &e, Monoid monoid, DType type) {
  if (monoid == Monoid::ArgMax || monoid == Monoid::ArgMin)
    return e.ops.identity(monoid == Monoid::ArgMax ? Combiner::Maximum : Combiner::Minimum, type);
  if (isLogic(monoid) && type != DType::Pred)
    return e.ops.constant(type, int64_t(monoid == Monoid::And ? 1 : 0));
  return e.ops.identity(*combinerOf(monoid, type), type);
}

/// Of equal values the first one.
Placed betterOf(Emission &e, Monoid monoid, DType type, const Placed &x, const Placed &y) {
  const bool isMax = monoid == Monoid::ArgMax;
  const bool isSigned = dtypeClass(type) == DTypeClass::Signed;
  llvm::Value *isBetter, *isEqual;
  if (isFloat(type)) {
    isBetter = isMax ? e.b.CreateFCmpOGT(y.value, x.value) : e.b.CreateFCmpOLT(y.value, x.value);
    isEqual = e.b.CreateFCmpOEQ(y.value, x.value);
  } else {
    using P = llvm::CmpInst::Predicate;
    P better =
        isMax ? (isSigned ? P::ICMP_SGT : P::ICMP_UGT) : (isSigned ? P::ICMP_SLT : P::ICMP_ULT);
    isBetter = e.b.CreateICmp(better, y.value, x.value);
    isEqual = e.b.CreateICmpEQ(y.value, x.value);
  }
  llvm::Value *isFirst = e.b.CreateAnd(isEqual, e.b.CreateICmpSLT(y.place, x.place));
  llvm::Value *takes = e.b.CreateOr(isBetter, isFirst);
  return {e.b.CreateSelect(takes, y.value, x.value), e.b.CreateSelect(takes, y.place, x.place)};
}

namespace {

/// A value, or a value and where it stands.
using Entry = std::vector<llvm::Value *>;

class Reduction {
public:
  Reduction(Emission &e, const Op &op, const ReduceOp &o, const HeldLayout &held)
      : e(e), op(op), o(o), held(held), type(o.value.type()), axes(e.p.axesOf(o.value)),
        kept(program::without(axes, o.over)), hasIndex(program::resultCount(o.monoid) == 2) {}

  llvm::Error run() {
    llvm::Expected<std::vector<Entry>> entries = overRegisters();
    if (!entries)
      return entries.takeError();
    if (llvm::Error error = overLanes(*entries))
      return error;
    if (auto exchange = e.shared.exchanges.find(&op); exchange != e.shared.exchanges.end())
      overWarps(*entries, exchange->second);
    for (size_t result = 0; result < op.results.size(); ++result) {
      Values values;
      for (const Entry &entry : *entries)
        values.push_back(result == 0 ? e.ops.round(type, entry[0]) : entry[1]);
      e.define(op.results[result], std::move(values));
    }
    return llvm::Error::success();
  }

private:
  bool isOver(const PlacedDigit &digit) const {
    return !digit.isCopy() && program::contains(o.over, digit.axis);
  }

  Entry merge(const Entry &x, const Entry &y) {
    if (!hasIndex)
      return {combine(e, o.monoid, type, x[0], y[0])};
    const Placed better = betterOf(e, o.monoid, type, {x[0], x[1]}, {y[0], y[1]});
    return {better.value, better.place};
  }

  /// One entry for each place along the axes that are kept: neighbours are combined first.
  llvm::Expected<std::vector<Entry>> overRegisters() {
    llvm::Expected<Values> values = evaluate(e, op, o.value, held);
    if (!values)
      return values.takeError();
    std::map<std::vector<int64_t>, size_t> places;
    std::vector<std::vector<Entry>> lists;
    for (int64_t r = 0; r < held.registers(); ++r) {
      auto [place, isNew] = places.try_emplace(held.parts(kept, r), lists.size());
      if (isNew)
        lists.emplace_back();
      lists[place->second].push_back(entryOf((*values)[static_cast<size_t>(r)], r));
    }
    std::vector<Entry> result;
    for (std::vector<Entry> &list : lists) {
      while (list.size() > 1) {
        std::vector<Entry> halved;
        for (size_t i = 0; i < list.size(); i += 2)
          halved.push_back(i + 1 < list.size() ? merge(list[i], list[i + 1]) : list[i]);
        list = std::move(halved);
      }
      result.push_back(list[0]);
    }
    return result;
  }

  Entry entryOf(llvm::Value *value, int64_t r) {
    if (isLogic(o.monoid))
      value = truthOf(e, type, value);
    std::vector<MapConstraint> inside;
    requireInside(e, inside, held, o.over, r);
    llvm::Value *valid = holdAll(e, inside);
    if (valid)
      value = e.b.CreateSelect(valid, value, identityValue(e, o.monoid, type));
    if (!hasIndex)
      return {value};
    Expr at = e.coordinate(o.over[0], e.laneOf(held, o.over[0], r));
    llvm::Value *index = e.b.CreateSExtOrTrunc(e.index.index(at), e.k.i32);
    if (valid) // behind all others
      index = e.b.CreateSelect(valid, index, e.k.c32(INT32_MAX));
    return {value, index};
  }

  llvm::Error overLanes(std::vector<Entry> &entries) {
    for (const PlacedDigit &digit : held.laneDigits()) {
      if (!isOver(digit))
        continue;
      if (!std::has_single_bit(static_cast<uint64_t>(digit.extent)) ||
          !std::has_single_bit(static_cast<uint64_t>(digit.place)))
        return e.unsupported(op, fmt::format("{} lanes along {} are no power of two", digit.extent,
                                             e.p[digit.axis].name));
      for (int64_t distance = 1; distance < digit.extent; distance *= 2)
        for (Entry &entry : entries) {
          Entry other;
          for (llvm::Value *part : entry)
            other.push_back(e.k.shuffleXor(part, static_cast<unsigned>(distance * digit.place)));
          entry = merge(entry, other);
        }
    }
    return llvm::Error::success();
  }

  /// Each warp leaves its entry in a slot; all read those of their place in order.
  void overWarps(std::vector<Entry> &entries, int64_t offset) {
    const SharedRegion region = e.shared.regions.exchanges.at(&op).region;
    int64_t over = 1, places = 1;
    Expr mine = e.number(0), place = e.number(0);
    std::vector<MapConstraint> first; // of lanes with the same entry
    for (const PlacedDigit &digit : held.warpDigits())
      if (isOver(digit)) {
        mine = mine + digitOf(digit, e.warp) * over;
        over *= digit.extent;
      }
    for (auto [digits, number] :
         {std::pair(&held.laneDigits(), e.lane), {&held.warpDigits(), e.warp}})
      for (const PlacedDigit &digit : *digits) {
        if (!digit.isCopy() && !isOver(digit)) {
          place = place + digitOf(digit, number) * places;
          places *= digit.extent;
        } else if (digits == &held.laneDigits() || digit.isCopy()) {
          first.push_back({e.index.simplify(digitOf(digit, number)), Interval::point(0), 1, 0});
        }
      }
    e.beforeWrite(region);
    auto count = static_cast<int64_t>(entries.size());
    std::vector<int64_t> starts{offset};
    int64_t bytes = std::max<int64_t>(bitWidth(type) / 8, 4);
    starts.push_back(offset + places * count * over * bytes); // indices
    auto address = [&](size_t part, int64_t entry, Expr warp) {
      int64_t each = part == 0 ? bytes : 4;
      // Lanes have neighbouring places, and neighbours lie in banks of their own.
      Expr at = (warp * count + entry) * places + place;
      return e.b.CreateSExtOrTrunc(e.index.index(at * each + starts[part]), e.k.i32);
    };
    auto wide = [&](llvm::Value *value) { // slots hold words
      return value->getType()->isIntegerTy() && value->getType()->getIntegerBitWidth() < 32
                 ? e.b.CreateZExt(value, e.k.i32)
                 : value;
    };
    auto store = [&] {
      IndexEmitter::Scope scope(e.index);
      for (size_t i = 0; i < entries.size(); ++i)
        for (size_t part = 0; part < entries[i].size(); ++part)
          e.k.storeShared(wide(entries[i][part]), address(part, static_cast<int64_t>(i), mine),
                          static_cast<unsigned>(part == 0 ? bytes : 4));
    };
    if (llvm::Value *writes = holdAll(e, first))
      e.k.ifThen(writes, store);
    else
      store();
    e.barrier();
    for (size_t i = 0; i < entries.size(); ++i) {
      Entry sum;
      for (int64_t w = 0; w < over; ++w) {
        Entry entry;
        for (size_t part = 0; part < entries[i].size(); ++part) {
          llvm::Type *held = entries[i][part]->getType();
          llvm::Type *slot = wide(entries[i][part])->getType();
          llvm::Value *word =
              e.k.loadShared(slot, address(part, static_cast<int64_t>(i), e.number(w)),
                             static_cast<unsigned>(part == 0 ? bytes : 4));
          entry.push_back(slot == held ? word : e.b.CreateTrunc(word, held));
        }
        sum = w == 0 ? entry : merge(sum, entry);
      }
      entries[i] = sum;
    }
    e.pending.read(region);
  }

  Emission &e;
  const Op &op;
  const ReduceOp &o;
  const HeldLayout &held;
  DType type;
  AxisSet axes, kept;
  bool hasIndex;
};

} // namespace

llvm::Error emitOp(Emission &e, const Op &op, const ReduceOp &o) {
  AxisSet axes = e.p.axesOf(o.value);
  llvm::Expected<HeldLayout> held = e.held(op, heldAs(e.p, o.value, axes, std::nullopt));
  if (!held)
    return held.takeError();
  return Reduction(e, op, o, *held).run();
}

namespace {

/// An inclusive scan along an axis whose digits go on where the ones before end: neighbours in
/// registers, then lanes, then registers again.
class Scan {
public:
  Scan(Emission &e, const Op &op, const ScanOp &o, const HeldLayout &held)
      : e(e), op(op), o(o), held(held), type(o.value.type()) {}

  llvm::Error run() {
    if (llvm::Error error = findDigits())
      return error;
    llvm::Expected<Values> values = evaluate(e, op, o.value, held);
    if (!values)
      return values.takeError();
    if (isLogic(o.monoid))
      for (llvm::Value *&value : *values)
        value = truthOf(e, type, value);
    AxisSet others = program::without(e.p.axesOf(o.value), {o.over});
    std::map<std::vector<int64_t>, std::map<int64_t, size_t>> lines; // registers by lane part
    for (int64_t r = 0; r < held.registers(); ++r)
      lines[held.parts(others, r)][held.registerPart(o.over, r)] = static_cast<size_t>(r);
    for (const auto &[place, line] : lines)
      scanLine(*values, line);
    for (llvm::Value *&value : *values)
      value = e.ops.round(type, value);
    e.define(op.results[0], std::move(*values));
    return llvm::Error::success();
  }

private:
  llvm::Error findDigits() {
    for (const PlacedDigit &digit : held.warpDigits())
      if (digit.axis == o.over && !digit.isCopy())
        return e.unsupported(op, fmt::format("a scan along {}, which is spread over warps: hold it "
                                             "within each",
                                             e.p[o.over].name));
    for (const PlacedDigit &digit : held.laneDigits())
      if (digit.axis == o.over && !digit.isCopy()) {
        if (lanes)
          return e.unsupported(op, "a scan along two digits of lanes");
        lanes = digit;
      }
    for (const PlacedDigit &digit : held.registerDigits())
      if (digit.axis == o.over && (!lanes || digit.stride < lanes->stride))
        neighbours *= digit.extent;
    return llvm::Error::success();
  }

  llvm::Value *joined(llvm::Value *before, llvm::Value *value) {
    return before ? combine(e, o.monoid, type, before, value) : value;
  }

  void scanLine(Values &values, const std::map<int64_t, size_t> &line) {
    llvm::Value *carried = nullptr; // of all before the block
    int64_t inRun = 0;
    std::vector<size_t> run;
    for (auto [part, r] : line) {
      run.push_back(r);
      if (++inRun < neighbours)
        continue;
      carried = scanRun(values, run, carried);
      run.clear();
      inRun = 0;
    }
  }

  /// Gives the total up to the end of the block that all lanes have of it.
  llvm::Value *scanRun(Values &values, const std::vector<size_t> &run, llvm::Value *carried) {
    for (size_t i = 1; i < run.size(); ++i)
      values[run[i]] = combine(e, o.monoid, type, values[run[i - 1]], values[run[i]]);
    llvm::Value *before = carried, *total = values[run.back()];
    if (lanes) {
      auto word = [&](Expr expr) { return e.b.CreateSExtOrTrunc(e.index.index(expr), e.k.i32); };
      Expr mine = digitOf(*lanes, e.lane), base = e.lane - mine * lanes->place;
      for (int64_t distance = 1; distance < lanes->extent; distance *= 2) {
        Expr from = base + (mine - distance).max(0) * lanes->place;
        llvm::Value *other = e.k.shuffleIndex(total, word(from));
        llvm::Value *has = e.b.CreateICmpSGE(word(mine), e.k.c32(distance));
        total = e.b.CreateSelect(has, combine(e, o.monoid, type, other, total), total);
      }
      llvm::Value *isFirst = e.b.CreateICmpEQ(word(mine), e.k.c32(0));
      llvm::Value *lower = e.k.shuffleIndex(total, word(base + (mine - 1).max(0) * lanes->place));
      lower = e.b.CreateSelect(isFirst, identityValue(e, o.monoid, type), lower);
      before = joined(carried, lower);
      total = e.k.shuffleIndex(total, word(base + (lanes->extent - 1) * lanes->place));
    }
    if (before)
      for (size_t r : run)
        values[r] = combine(e, o.monoid, type, before, values[r]);
    return joined(carried, total);
  }

  Emission &e;
  const Op &op;
  const ScanOp &o;
  const HeldLayout &held;
  DType type;
  std::optional<PlacedDigit> lanes;
  int64_t neighbours = 1;
};

} // namespace

llvm::Error emitOp(Emission &e, const Op &op, const ScanOp &o) {
  AxisSet axes = e.p.axesOf(o.value);
  llvm::Expected<HeldLayout> held = e.held(op, heldAs(e.p, o.value, axes, std::nullopt));
  if (!held)
    return held.takeError();
  return Scan(e, op, o, *held).run();
}

} // namespace tilewright::emit
