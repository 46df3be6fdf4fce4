#include "analysis/program/layout/picture.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>

namespace tilewright::layout {

namespace {

/// The part of a tile that is shown.
struct Window {
  int64_t rows = 1, columns = 1, allRows = 1, allColumns = 1;
  bool isSlice = false; ///< dims in front of the last two are left out
  std::string rowName, columnName;

  Window(const TileDims &dims, const PictureLimits &limits) {
    const size_t rank = dims.size();
    if (rank >= 1) {
      allColumns = dims[rank - 1].extent;
      columnName = dims[rank - 1].name;
    }
    if (rank >= 2) {
      allRows = dims[rank - 2].extent;
      rowName = dims[rank - 2].name;
    }
    for (size_t d = 0; d + 2 < rank; ++d)
      isSlice = isSlice || dims[d].extent > 1;
    rows = std::min(allRows, limits.rows);
    columns = std::min(allColumns, limits.columns);
  }

  /// What is not shown, a line; empty: all is.
  std::string leftOut() const {
    std::string text;
    if (rows < allRows || columns < allColumns)
      text = fmt::format("{} x {} of {} x {} elements", rows, columns, allRows, allColumns);
    if (isSlice)
      text += std::string(text.empty() ? "" : ", ") + "the first slice of the other dims";
    return text.empty() ? "" : text + "\n";
  }
};

struct Holder {
  int64_t thread = -1, reg = -1;
};

/// The first holder of each element of the window, row-major.
std::vector<Holder> holdersIn(const Window &window, const TileLayout &layout) {
  std::vector<Holder> holders(static_cast<size_t>(window.rows * window.columns));
  const int64_t lanes = layout.count(Hardware::Lane);
  const size_t rank = layout.rank();
  std::vector<int64_t> at(rank);
  for (int64_t thread = 0; thread < layout.threads(); ++thread)
    for (int64_t r = 0; r < layout.registers(); ++r) {
      layout.coordinates({thread / lanes, thread % lanes, r}, at);
      bool isShown = true;
      for (size_t d = 0; d + 2 < rank; ++d)
        isShown = isShown && at[d] == 0;
      const int64_t row = rank >= 2 ? at[rank - 2] : 0, column = rank >= 1 ? at[rank - 1] : 0;
      if (!isShown || row >= window.rows || column >= window.columns)
        continue;
      Holder &holder = holders[static_cast<size_t>(row * window.columns + column)];
      if (holder.thread < 0)
        holder = {thread, r};
    }
  return holders;
}

std::string grid(const Window &window, const std::function<std::string(int64_t, int64_t)> &cell) {
  size_t width = 1;
  std::vector<std::string> cells;
  for (int64_t row = 0; row < window.rows; ++row)
    for (int64_t column = 0; column < window.columns; ++column) {
      cells.push_back(cell(row, column));
      width = std::max(width, cells.back().size());
    }
  std::string corner = window.rowName.empty()
                           ? window.columnName
                           : fmt::format("{}\\{}", window.rowName, window.columnName);
  const size_t head = std::max<size_t>(corner.size(), fmt::format("{}", window.rows).size());
  std::string text = fmt::format("{:>{}}", corner, head);
  for (int64_t column = 0; column < window.columns; ++column)
    text += fmt::format(" {:>{}}", column, width);
  text += "\n";
  for (int64_t row = 0; row < window.rows; ++row) {
    text += fmt::format("{:>{}}", row, head);
    for (int64_t column = 0; column < window.columns; ++column)
      text +=
          fmt::format(" {:>{}}", cells[static_cast<size_t>(row * window.columns + column)], width);
    text += "\n";
  }
  return text + window.leftOut();
}

std::string labelOf(const Holder &holder) {
  return holder.thread < 0 ? "-" : fmt::format("t{}.{}", holder.thread, holder.reg);
}

/// Neighbouring numbers far apart in colour: steps of the golden angle.
std::string colourOf(int64_t thread) {
  return thread < 0
             ? "white"
             : fmt::format("hsl({},60%,{}%)", thread * 137 % 360, 72 + 6 * (thread / 32 % 4));
}

} // namespace

std::string textPicture(const TileLayout &layout, const PictureLimits &limits) {
  Window window(layout.dims(), limits);
  std::vector<Holder> holders = holdersIn(window, layout);
  return grid(window, [&](int64_t row, int64_t column) {
    return labelOf(holders[static_cast<size_t>(row * window.columns + column)]);
  });
}

std::string svgPicture(const TileLayout &layout, const PictureLimits &limits) {
  Window window(layout.dims(), limits);
  std::vector<Holder> holders = holdersIn(window, layout);
  constexpr int64_t cellWidth = 44, cellHeight = 20, margin = 30;
  std::string text =
      fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
                  "font-family=\"monospace\" font-size=\"10\" text-anchor=\"middle\">\n",
                  margin + window.columns * cellWidth + 1, margin + window.rows * cellHeight + 1);
  auto label = [&](int64_t x, int64_t y, std::string_view words) {
    text += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", x, y, words);
  };
  for (int64_t column = 0; column < window.columns; ++column)
    label(margin + column * cellWidth + cellWidth / 2, margin - 8, fmt::format("{}", column));
  for (int64_t row = 0; row < window.rows; ++row) {
    const int64_t y = margin + row * cellHeight;
    label(margin / 2, y + 14, fmt::format("{}", row));
    for (int64_t column = 0; column < window.columns; ++column) {
      const Holder &holder = holders[static_cast<size_t>(row * window.columns + column)];
      const int64_t x = margin + column * cellWidth;
      text += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" "
                          "stroke=\"#444\"/>\n",
                          x, y, cellWidth, cellHeight, colourOf(holder.thread));
      label(x + cellWidth / 2, y + 14, labelOf(holder));
    }
  }
  return text + "</svg>\n";
}

std::string textPicture(const SharedLayout &layout, const PictureLimits &limits) {
  Window window(layout.dims(), limits);
  const size_t rank = layout.dims().size();
  return grid(window, [&](int64_t row, int64_t column) {
    std::vector<int64_t> at(rank, 0);
    if (rank >= 2)
      at[rank - 2] = row;
    at[rank - 1] = column;
    constexpr int64_t wordBytes = 4, banks = 32;
    return fmt::format("{}", layout.byteAddress(at) / wordBytes % banks);
  });
}

} // namespace tilewright::layout
