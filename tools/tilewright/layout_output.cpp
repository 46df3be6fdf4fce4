#include "tools/tilewright/layout_output.h"

#include "analysis/program/layout/legality.h"
#include "analysis/program/layout/picture.h"
#include "tools/tilewright/device_output.h"
#include "tools/tilewright/evaluation_output.h"

#include <fmt/ranges.h>

namespace tilewright::cli {

using layout::Hardware;
using layout::SharedAccess;
using layout::TileLayout;

namespace {

/// The dim with the widest vector; "2 along j", or "1".
std::string vectorText(const TileLayout &held) {
  for (size_t d = 0; d < held.rank(); ++d)
    if (held.vectorWidth(d) > 1)
      return fmt::format("{} along {}", held.vectorWidth(d), held.dims()[d].name);
  return "1";
}

/// 32-bit registers of a thread.
int64_t wordsOf(const TileLayout &held, DType type) {
  return (held.registers() * static_cast<int64_t>(bitWidth(type)) + 31) / 32;
}

std::string digitsText(const TileLayout &held) {
  std::string text = held.str();
  return text.substr(text.find("] ") + 2);
}

std::string accessText(const SharedAccess &access) {
  std::string text = fmt::format("{} B a lane, {} accesses, {} passes of {}", access.bytesPerLane,
                                 access.instructions, access.passes, access.leastPasses);
  if (access.kind == SharedAccess::Kind::Free)
    return text + ": no bank conflicts";
  if (access.kind == SharedAccess::Kind::Staggered)
    text += fmt::format(": no bank conflicts where lanes stagger their order, {} selects a thread; "
                        "in order",
                        access.selects);
  else
    text += ":";
  text += fmt::format(" {}-way bank conflicts", access.degree);
  if (access.witness)
    text += fmt::format(": lanes {} and {} of warp {} want two words of bank {} for register {}",
                        access.witness->first, access.witness->second, access.witnessWarp,
                        access.bank, access.witnessRegister);
  return text;
}

Json accessJson(const SharedAccess &access) {
  Json json = {{"kind", std::string(layout::toString(access.kind))},
               {"bytes_a_lane", access.bytesPerLane},
               {"accesses", access.instructions},
               {"passes", access.passes},
               {"least_passes", access.leastPasses},
               {"degree", access.degree},
               {"selects", access.selects}};
  if (access.witness)
    json["witness"] = {{"lanes", {access.witness->first, access.witness->second}},
                       {"warp", access.witnessWarp},
                       {"register", access.witnessRegister},
                       {"bank", access.bank}};
  return json;
}

Json digitsJson(const TileLayout &held, Hardware axis) {
  Json list = Json::array();
  for (const layout::Digit &digit : held.digits(axis))
    list.push_back({{"extent", digit.extent},
                    {"axis", digit.isCopy() ? Json() : Json(held.dims()[digit.dim].name)},
                    {"stride", digit.stride}});
  return list;
}

Json tileLayoutJson(const TileLayout &held, DType type) {
  Json dims = Json::array();
  for (const layout::TileDim &dim : held.dims())
    dims.push_back({{"axis", dim.name}, {"extent", dim.extent}, {"box", dim.box}});
  Json json = {{"tile", dims},
               {"type", std::string(toString(type))},
               {"digits",
                {{"register", digitsJson(held, Hardware::Register)},
                 {"lane", digitsJson(held, Hardware::Lane)},
                 {"warp", digitsJson(held, Hardware::Warp)}}},
               {"values_a_thread", held.registers()},
               {"registers", wordsOf(held, type)},
               {"copies", held.copies()},
               {"fault", held.fault().empty() ? Json() : Json(held.fault())}};
  Json vectors = Json::object();
  for (size_t d = 0; d < held.rank(); ++d)
    vectors[held.dims()[d].name] = held.vectorWidth(d);
  json["vector"] = vectors;
  return json;
}

std::string matrixText(const AskedLayout &asked) {
  std::string text;
  for (bool isTransposed : {false, true}) {
    layout::MatrixAccess access;
    access.isTransposed = isTransposed;
    std::string fault = layout::matrixAccessFault(asked.held, *asked.shared, access);
    text += fmt::format("  ldmatrix{}: {}\n", isTransposed ? ".trans" : "",
                        fault.empty() ? "legal" : "no: " + fault);
  }
  return text;
}

void printLayout(const AskedLayout &asked, const LayoutView &view) {
  const TileLayout &held = asked.held;
  say("{} of {}, {} warps\n", asked.name, toString(asked.type), held.count(Hardware::Warp));
  say("  {}\n", held.str());
  if (std::string fault = held.fault(); !fault.empty())
    say("  covers no tile: {}\n", fault);
  say("  {} values a thread in {} registers, {} holder{} of each element, vectors of {}\n",
      held.registers(), wordsOf(held, asked.type), held.copies(), held.copies() == 1 ? "" : "s",
      vectorText(held));
  if (!asked.owner.empty())
    for (const layout::Place &place : held.holders(asked.owner))
      say("  element ({}): warp {}, lane {}, value {}\n", fmt::join(asked.owner, ", "), place.warp,
          place.lane, place.reg);
  if (asked.shared) {
    llvm::Expected<SharedAccess> access = layout::accessOf(held, *asked.shared);
    std::string words =
        access ? accessText(*access) : "no: " + takeDiag(access.takeError()).message;
    say("shared memory, {}\n  {}\n{}", asked.shared->str(), words, matrixText(asked));
  }
  if (view.hasPicture)
    say("{}", layout::textPicture(held));
}

Json jsonOf(const AskedLayout &asked) {
  Json document = newDocument("layout");
  document["layout"] = asked.name;
  document.update(tileLayoutJson(asked.held, asked.type));
  if (!asked.owner.empty()) {
    document["holders"] = Json::array();
    for (const layout::Place &place : asked.held.holders(asked.owner))
      document["holders"].push_back(
          {{"warp", place.warp}, {"lane", place.lane}, {"value", place.reg}});
  }
  if (asked.shared) {
    Json shared = {{"place", asked.shared->str()}};
    if (llvm::Expected<SharedAccess> access = layout::accessOf(asked.held, *asked.shared))
      shared["access"] = accessJson(*access);
    else
      shared["reason"] = takeDiag(access.takeError()).message;
    for (bool isTransposed : {false, true}) {
      layout::MatrixAccess way;
      way.isTransposed = isTransposed;
      std::string fault = layout::matrixAccessFault(asked.held, *asked.shared, way);
      shared[isTransposed ? "ldmatrix_trans_fault" : "ldmatrix_fault"] =
          fault.empty() ? Json() : Json(fault);
    }
    document["shared"] = shared;
  }
  return document;
}

} // namespace

int showLayout(const AskedLayout &asked, const LayoutView &view) {
  if (view.isSvg)
    say("{}", layout::svgPicture(asked.held));
  else if (view.isJson)
    print(jsonOf(asked));
  else
    printLayout(asked, view);
  return asked.held.fault().empty() ? Fine : AnswerIsNo;
}

void printLayouts(const std::string &program, const layout::ProgramLayouts &layouts) {
  say("kernel {}: {} values\n", program, layouts.values.size());
  TextTable table;
  table.head = {"value", "tile", "registers", "copies", "vector", "layout"};
  for (const layout::ValueLayout &value : layouts.values)
    table.rows.push_back({value.name, value.tile,
                          fmt::format("{}", wordsOf(value.layout, value.type)),
                          fmt::format("{}", value.layout.copies()), vectorText(value.layout),
                          digitsText(value.layout)});
  if (!table.rows.empty())
    say("{}", table.text());
  if (!layouts.shared.empty())
    say("shared memory\n");
  for (const layout::SharedUse &use : layouts.shared) {
    say("  {}\n    {} {}{}{}\n", use.op, use.way, use.buffer, use.place.empty() ? "" : ", ",
        use.place);
    if (use.access)
      say("    {}\n", accessText(*use.access));
    if (!use.reason.empty())
      say("    {}\n", use.reason);
  }
  if (!layouts.copies.empty())
    say("copies\n");
  for (const layout::CopyUse &use : layouts.copies) {
    say("  {}\n", use.op);
    if (use.bytes != 0)
      say("    pieces of {} B\n", use.bytes);
    for (const std::string &reason : use.reasons)
      say("    no: {}\n", reason);
  }
  if (!layouts.global.empty())
    say("tensors, of the first CTA and step\n");
  for (const layout::GlobalUse &use : layouts.global)
    say("  {}\n    {}\n", use.op,
        use.reason.empty()
            ? fmt::format("{} B a lane, {} accesses, {} sectors of {}", use.bytesPerLane,
                          use.instructions, use.sectors, use.leastSectors)
            : use.reason);
}

Json layoutsJson(const std::string &program, const layout::ProgramLayouts &layouts) {
  Json document = newDocument("layout");
  document["program"] = program;
  document["values"] = Json::array();
  for (const layout::ValueLayout &value : layouts.values) {
    Json json = {{"value", value.name}};
    json.update(tileLayoutJson(value.layout, value.type));
    document["values"].push_back(std::move(json));
  }
  auto reasonJson = [](const std::string &reason) {
    return reason.empty() ? Json() : Json(reason);
  };
  document["shared"] = Json::array();
  for (const layout::SharedUse &use : layouts.shared)
    document["shared"].push_back({{"op", use.op},
                                  {"buffer", use.buffer},
                                  {"place", use.place},
                                  {"way", use.way},
                                  {"access", use.access ? accessJson(*use.access) : Json()},
                                  {"reason", reasonJson(use.reason)}});
  document["copies"] = Json::array();
  for (const layout::CopyUse &use : layouts.copies)
    document["copies"].push_back({{"op", use.op},
                                  {"buffer", use.buffer},
                                  {"way", use.way},
                                  {"piece_bytes", use.bytes ? Json(use.bytes) : Json()},
                                  {"reasons", use.reasons}});
  document["tensors"] = Json::array();
  for (const layout::GlobalUse &use : layouts.global)
    document["tensors"].push_back({{"op", use.op},
                                   {"tensor", use.tensor},
                                   {"bytes_a_lane", use.bytesPerLane},
                                   {"accesses", use.instructions},
                                   {"sectors", use.sectors},
                                   {"least_sectors", use.leastSectors},
                                   {"reason", reasonJson(use.reason)}});
  return document;
}

} // namespace tilewright::cli
