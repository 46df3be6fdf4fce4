// Read from the answers of ptxas 13.0 (datasets/instructions), which they reproduce.
#include "analysis/instructions/form.h"

#include <fmt/format.h>

namespace tilewright {

namespace {

using Unit = InstructionUnit;
using Forms = std::vector<InstructionForm>;

constexpr std::string_view byteFloats = "e4m3|e5m2", narrowFloats = "e3m2|e2m3|e2m1",
                           smallFloats = "e4m3|e5m2|e3m2|e2m3|e2m1", bytes = "s8|u8",
                           nibbles = "s4|u4", sums32 = "f32", eitherSums = "f16|f32";
constexpr Availability turing{75, {}}, ampere{80, {}}, ada{89, {}}, hopper{90, {}},
    blackwell{100, {}};
constexpr Availability hopperAlone{0, "90a"};
constexpr Availability anyBlackwell{0, "100f 110f 120f"};
constexpr Availability hasTensorMemory{0, "100f 110f"}, hasTensorMemoryAlone{0, "100a 103a 110a"};
constexpr Availability consumer{0, "120f"}, consumerAlone{0, "120a 121a"};

/// mma.sync: n is 8.
InstructionForm mma(std::string slots, std::string_view a, std::string_view b,
                    std::string_view sums, std::string_view m, std::string_view k,
                    Availability where) {
  return {Unit::MmaSync, std::move(slots), a, b, sums, {m, "8", k}, where};
}

Forms denseMma() {
  return {
      mma("", "f16", "f16", "f16|f32|f32 from f16", "8", "4", turing), // of quarters of a warp
      mma("", "f16", "f16", eitherSums, "16", "8", turing),
      mma("", "f16", "f16", eitherSums, "16", "16", ampere),
      mma("", "bf16", "bf16", sums32, "16", "8|16", ampere),
      mma("", "tf32", "tf32", sums32, "16", "4|8", ampere),
      mma("", "f64", "f64", "f64", "8", "4", ampere),
      mma("", "f64", "f64", "f64", "16", "4|8|16", hopper),
      mma("", bytes, bytes, "s32", "8", "16", turing),
      mma("", bytes, bytes, "s32", "16", "16|32", ampere),
      mma("", nibbles, nibbles, "s32", "8", "32", turing),
      mma("", nibbles, nibbles, "s32", "16", "32|64", ampere),
      mma("xor popc", "b1", "b1", "s32", "8", "128", turing),
      mma("and popc", "b1", "b1", "s32", "8", "128", ampere),
      mma("xor|and popc", "b1", "b1", "s32", "16", "128|256", ampere),
      mma("", byteFloats, byteFloats, eitherSums, "16", "16|32", ada),
      mma("kind::f8f6f4", byteFloats, byteFloats, eitherSums, "16", "32", anyBlackwell),
      mma("kind::f8f6f4", smallFloats, narrowFloats, eitherSums, "16", "32", consumer),
      mma("kind::f8f6f4", narrowFloats, smallFloats, eitherSums, "16", "32", consumer),
  };
}

Forms sparseMma() {
  const char *either = "sp|sp::ordered_metadata", *ordered = "sp::ordered_metadata";
  return {
      mma(either, "f16", "f16", eitherSums, "16", "16|32", ampere),
      mma(either, "bf16", "bf16", sums32, "16", "16|32", ampere),
      mma(either, "tf32", "tf32", sums32, "16", "8|16", ampere),
      mma(either, bytes, bytes, "s32", "16", "32|64", ampere),
      mma(either, nibbles, nibbles, "s32", "16", "64|128", ampere),
      mma(either, byteFloats, byteFloats, sums32, "16", "64", ada),
      mma(ordered, byteFloats, byteFloats, "f16", "16", "64", consumer),
      mma("sp::ordered_metadata kind::f8f6f4", byteFloats, byteFloats, eitherSums, "16", "64",
          anyBlackwell),
      mma("sp::ordered_metadata kind::f8f6f4", smallFloats, narrowFloats, eitherSums, "16", "64",
          consumer),
      mma("sp::ordered_metadata kind::f8f6f4", narrowFloats, smallFloats, eitherSums, "16", "64",
          consumer),
  };
}

Forms scaledMma() {
  Forms forms;
  for (bool isSparse : {false, true}) {
    const std::string sparse = isSparse ? "sp::ordered_metadata " : "";
    const std::string_view k = isSparse ? "128" : "64";
    const Availability fours = isSparse ? consumerAlone : consumer;
    auto scaled = [&](std::string_view kind, std::string_view scales) {
      return fmt::format("{}kind::{} block_scale {}", sparse, kind, scales);
    };
    forms.push_back(mma(scaled("mxf8f6f4", "scale_vec::1X|- ue8m0"), smallFloats, smallFloats,
                        sums32, "16", isSparse ? "64" : "32", consumer));
    for (auto [kind, scales] :
         {std::pair{"mxf4", "scale_vec::2X|- ue8m0"}, std::pair{"mxf4nvf4", "scale_vec::2X ue8m0"},
          std::pair{"mxf4nvf4", "scale_vec::4X ue4m3"}})
      forms.push_back(mma(scaled(kind, scales), "e2m1", "e2m1", sums32, "16", k, fours));
  }
  return forms;
}

Forms wgmmaForms() {
  constexpr std::string_view eights = "8..256/8", sixteens = "8|16|24|32..256/16";
  Forms forms;
  for (bool isSparse : {false, true}) {
    auto add = [&](std::string_view types, std::string_view sums, std::string_view n,
                   std::string_view k, std::string_view sparseK, std::string_view op = {}) {
      if (isSparse && sparseK.empty())
        return;
      forms.push_back({Unit::Wgmma,
                       fmt::format("{}a::registers|- {}", isSparse ? "sp " : "", op),
                       types,
                       types,
                       sums,
                       {"64", n, isSparse ? sparseK : k},
                       hopperAlone});
    };
    add("f16", eitherSums, eights, "16", "32");
    add("bf16", sums32, eights, "16", "32");
    add("tf32", sums32, eights, "8", "16");
    add(byteFloats, eitherSums, eights, "32", "64");
    add(bytes, "s32", sixteens, "32", "64");
    add("b1", "s32", sixteens, "256", {}, "and popc");
  }
  return forms;
}

/// Of tcgen05.mma. Shapes and types stand in the instruction descriptor, which ptxas does not see:
/// they are those of table 39 of the PTX ISA 9.0, "various combinations of .kind and shapes".
struct Tcgen05Kind {
  std::string_view kind, types, sums, k, sparseK, n = "8..256/8", pairN = "16..256/16";
  Availability where = hasTensorMemory;
};
constexpr Tcgen05Kind tcgen05Kinds[] = {
    {"f16", "f16", eitherSums, "16", "32"},
    {"f16", "bf16", sums32, "16", "32"},
    {"tf32", "tf32", sums32, "8", "16"},
    {"f8f6f4", smallFloats, eitherSums, "32", "64"},
    {"i8", bytes, "s32", "32", "64", "8|16|24|32..256/16", "32..256/32", {0, "100a 110a"}},
};

Forms tcgen05Forms() {
  Forms forms;
  for (const Tcgen05Kind &each : tcgen05Kinds)
    for (bool isSparse : {false, true}) {
      auto add = [&](std::string_view slots, std::string_view m, std::string_view n) {
        forms.push_back({Unit::Tcgen05Mma,
                         fmt::format("{}kind::{} {}", isSparse ? "sp " : "", each.kind, slots),
                         each.types,
                         each.types,
                         each.sums,
                         {m, n, isSparse ? each.sparseK : each.k},
                         each.where});
      };
      add("cta_group::1 a::tensor_memory|-", "64|128", each.n);
      add("cta_group::2 a::tensor_memory|-", "128|256", each.pairN);
      add("ws cta_group::1 a::tensor_memory|-", "32|64|128", isSparse ? "64|128" : "64|128|256");
    }
  return forms;
}

Forms scaledTcgen05Forms() {
  struct Scaled {
    std::string_view kind, types, scales, k, sparseK;
    bool isSpecific; ///< the names that f targets don't take
  };
  constexpr Scaled all[] = {
      {"mxf8f6f4", smallFloats, "block32|-", "32", "64", false},
      {"mxf8f6f4", smallFloats, "scale_vec::1X", "32", "64", true},
      {"mxf4", "e2m1", "block32|-", "64", "128", false},
      {"mxf4", "e2m1", "scale_vec::2X", "64", "128", true},
      {"mxf4nvf4", "e2m1", "block16|block32", "64", "128", false},
      {"mxf4nvf4", "e2m1", "scale_vec::2X|scale_vec::4X", "64", "128", true},
  };
  Forms forms;
  for (const Scaled &each : all)
    for (bool isSparse : {false, true}) {
      const bool isOfFour = each.types == "e2m1";
      const Availability where =
          each.isSpecific || (isSparse && isOfFour) ? hasTensorMemoryAlone : hasTensorMemory;
      auto add = [&](int ctas, std::string_view m, std::string_view n, std::string_view k,
                     Availability takenBy) {
        forms.push_back({Unit::Tcgen05Mma,
                         fmt::format("{}kind::{} block_scale {} cta_group::{} a::tensor_memory|-",
                                     isSparse ? "sp " : "", each.kind, each.scales, ctas),
                         each.types,
                         each.types,
                         sums32,
                         {m, n, k},
                         takenBy});
      };
      const std::string_view k = isSparse ? each.sparseK : each.k;
      add(1, "128", "8..256/8", k, where);
      add(2, isSparse ? "256" : "128|256", "16..256/16", k, where);
      if (isOfFour && !isSparse)
        add(2, "256", "16..256/16", "96", {0, "103a"});
    }
  return forms;
}

/// A unit without matrix shapes.
InstructionForm plain(Unit unit, std::string slots, Availability where,
                      std::string_view number = {}) {
  return {unit, std::move(slots), {}, {}, {}, {"", "", number}, where};
}

Forms tensorMemoryForms(Unit unit) {
  const char *six = "b8x16|- b6x16_p32|b4x16_p64|-";
  switch (unit) {
  case Unit::Tcgen05Load:
  case Unit::Tcgen05Store: {
    const char *pack = unit == Unit::Tcgen05Load ? "pack::16b|-" : "unpack::16b|-";
    Forms forms;
    // At most 128 registers.
    for (auto [shapes, counts] :
         {std::pair{"32x32b|16x64b|16x32bx2", "x1|x2|x4|x8|x16|x32|x64|x128"},
          std::pair{"16x128b", "x1|x2|x4|x8|x16|x32|x64"},
          std::pair{"16x256b", "x1|x2|x4|x8|x16|x32"}})
      forms.push_back(plain(unit, fmt::format("{} {} {}", shapes, counts, pack), hasTensorMemory));
    if (unit == Unit::Tcgen05Load)
      forms.push_back(plain(unit, "red 32x32b|16x32bx2 x2|x4|x8|x16|x32|x64|x128 min|max f32",
                            {0, "103f 110f"}));
    return forms;
  }
  case Unit::Tcgen05Copy:
    return {
        plain(unit, fmt::format("cta_group::1|cta_group::2 128x256b|4x256b|128x128b {}", six),
              hasTensorMemory),
        plain(unit,
              fmt::format("cta_group::1|cta_group::2 64x128b warpx2::02_13|warpx2::01_23 {}", six),
              hasTensorMemory),
        plain(unit, fmt::format("cta_group::1|cta_group::2 32x128b warpx4 {}", six),
              hasTensorMemory)};
  case Unit::Tcgen05Alloc:
    return {plain(unit, "cta_group::1|cta_group::2 shared::cta|-", hasTensorMemory,
                  "32|64|128|256|512")};
  case Unit::Tcgen05Commit:
    return {plain(unit,
                  "cta_group::1|cta_group::2 mbarrier::arrive::one|- shared::cluster|- "
                  "multicast::cluster|-",
                  hasTensorMemory)};
  default:
    return {plain(unit, "cta_group::1|cta_group::2 down", hasTensorMemoryAlone)};
  }
}

Forms matrixMoves(Unit unit) {
  const char *packed = "b8x16 b6x16_p32|b4x16_p64";
  if (unit == Unit::Ldmatrix)
    return {plain(unit, "m8n8 x1|x2|x4 trans|- b16|- shared::cta|-", turing),
            plain(unit, fmt::format("m8n16 x1|x2|x4 {} shared::cta|-", packed), anyBlackwell),
            plain(unit, "m16n16 x1|x2 trans b8 shared::cta|-", anyBlackwell),
            plain(unit, fmt::format("m16n16 x1|x2 trans {} shared::cta|-", packed), anyBlackwell)};
  if (unit == Unit::Stmatrix)
    return {plain(unit, "m8n8 x1|x2|x4 trans|- b16|- shared::cta|-", hopper),
            plain(unit, "m16n8 x1|x2|x4 trans b8 shared::cta|-", anyBlackwell)};
  return {plain(unit, "m8n8 trans b16", turing)};
}

Forms copies(Unit unit) {
  if (unit == Unit::CpAsync)
    return {plain(unit, "ca shared::cta|-", ampere, "4|8|16"),
            plain(unit, "cg shared::cta|-", ampere, "16")};
  if (unit == Unit::Bulk)
    return {plain(unit, "shared::cluster|shared::cta|-", hopper),
            plain(unit, "reduce shared::cta|- add f32", hopper)};
  return {
      plain(unit, "1d|2d|3d|4d|5d shared::cluster|shared::cta|-", hopper),
      plain(unit, "1d|2d|3d|4d|5d shared::cluster|- multicast::cluster", hopper),
      plain(unit, "1d|2d|3d|4d|5d shared::cluster|- cta_group::1|cta_group::2", hasTensorMemory),
      plain(unit, "1d|2d|3d|4d|5d store shared::cta|-", hopper),
      plain(unit, "1d|2d|3d|4d|5d reduce shared::cta|- add|min|max|inc|dec|and|or|xor", hopper),
      plain(unit, "2d tile::gather4 shared::cta|-", blackwell),
      plain(unit, "2d tile::gather4 shared::cluster", hasTensorMemory),
      plain(unit, "2d tile::gather4 shared::cluster|- multicast::cluster", hasTensorMemory),
      plain(unit, "2d tile::scatter4 store|- shared::cta|-", hasTensorMemory),
      plain(unit, "3d|4d|5d im2col shared::cluster|shared::cta|-", hopper),
      plain(unit, "3d|4d|5d im2col::w shared::cluster|-", hasTensorMemory),
      plain(unit, "3d|4d|5d im2col::w shared::cta", blackwell)};
}

Forms makeForms(Unit unit) {
  Forms forms;
  auto append = [&](Forms more) {
    forms.insert(forms.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
  };
  switch (unit) {
  case Unit::MmaSync:
    append(denseMma());
    append(sparseMma());
    append(scaledMma());
    break;
  case Unit::Wgmma:
    append(wgmmaForms());
    break;
  case Unit::Tcgen05Mma:
    append(tcgen05Forms());
    append(scaledTcgen05Forms());
    break;
  case Unit::Ldmatrix:
  case Unit::Stmatrix:
  case Unit::Movmatrix:
    append(matrixMoves(unit));
    break;
  case Unit::CpAsync:
  case Unit::Tma:
  case Unit::Bulk:
    append(copies(unit));
    break;
  case Unit::SetMaxNReg:
    // ptxas takes 256, too, though a thread has 255.
    append({plain(unit, "inc|dec", {0, "90a 100f 110f 120f"}, "24..256/8")});
    break;
  case Unit::Other:
    break;
  default:
    append(tensorMemoryForms(unit));
  }
  return forms;
}

} // namespace

std::span<const InstructionForm> formsOf(InstructionUnit unit) {
  static const std::vector<Forms> all = [] {
    std::vector<Forms> made;
    for (size_t i = 0; i <= static_cast<size_t>(Unit::Other); ++i)
      made.push_back(makeForms(static_cast<Unit>(i)));
    return made;
  }();
  return all[static_cast<size_t>(unit)];
}

FormSource sourceOfShapes(InstructionUnit unit) {
  return unit == Unit::Tcgen05Mma ? FormSource::Documented : FormSource::Assembled;
}

std::string_view nameOfNumber(InstructionUnit unit) {
  switch (unit) {
  case Unit::CpAsync:
    return "bytes";
  case Unit::SetMaxNReg:
    return "registers";
  case Unit::Tcgen05Alloc:
    return "columns";
  default:
    return "k";
  }
}

} // namespace tilewright
