// A manifest in memory. Internal to templates.cpp and families.cpp.
#pragma once

#include "costmodel/templates.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>

namespace tilewright {

namespace template_parts {

/// The source of a value.
struct Source {
  std::string column; ///< empty: `constant`
  std::string constant;
  bool hasConstant = false; ///< of a column: the value of an empty cell
  std::vector<std::pair<std::string, std::string>> map;
};

struct Template {
  std::string fileName, familyText, about, hloText, hloName, unpriced;
  std::vector<std::pair<std::string, std::vector<std::string>>> filters;
  std::vector<std::pair<std::string, Source>> variables, parameters;
  std::vector<std::string> groupColumns, shapeColumns;
  std::string shapeName;

  std::string name() const { return fileName.substr(0, fileName.rfind('.')); }
};

/// The module and tiles of one shape, shared by its plans.
struct TiledShape {
  std::shared_ptr<const Module> module;
  std::shared_ptr<ExprContext> context;
  std::shared_ptr<const TiledGroup> tiled;
};

/// Replaces every ${name}; `valueOf` gives an error for unknown names.
llvm::Expected<std::string>
expand(std::string_view text,
       llvm::function_ref<llvm::Expected<std::string>(std::string_view)> valueOf);

} // namespace template_parts

struct TemplateLibrary::Impl {
  std::vector<template_parts::Template> templates;
  std::map<std::string, template_parts::TiledShape> shapes;

  llvm::Expected<template_parts::TiledShape> shapeOf(const template_parts::Template &t,
                                                     const TableRow &row);
  llvm::Expected<template_parts::TiledShape> tile(const template_parts::Template &t,
                                                  const TableRow &row, const std::string &text);
};

} // namespace tilewright
