// What `tilewright layout` says, as text and JSON.
#pragma once

#include "analysis/program/layout/program_layouts.h"
#include "tools/tilewright/command.h"

namespace tilewright::cli {

/// One layout that was asked for: "@ wgmma(1, 1)" of a tile, and where it meets shared memory.
struct AskedLayout {
  std::string name;
  DType type = DType::F32;
  layout::TileLayout held;
  std::optional<layout::SharedLayout> shared;
  std::vector<int64_t> owner; ///< an element whose holders are asked for; none: nobody's
};

struct LayoutView {
  bool hasPicture = true, isJson = false, isSvg = false;
};

/// Prints it as text, JSON or SVG. Exit code: AnswerIsNo where it covers no tile.
int showLayout(const AskedLayout &asked, const LayoutView &view);

void printLayouts(const std::string &program, const layout::ProgramLayouts &layouts);
Json layoutsJson(const std::string &program, const layout::ProgramLayouts &layouts);

} // namespace tilewright::cli
