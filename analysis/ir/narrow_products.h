// Products of 8-bit floats that are written as products of wider ones.
//
//     a' = multiply(convert(a: f8), broadcast(s))           d  = dot(a, b) in f32
//     b' = multiply(convert(b: f8), broadcast(t))      →    d' = convert(d · broadcast(s·t))
//     d' = dot(a', b')
//
// A factor that all elements of an operand share is one of the product, too, and a tensor core
// takes the 8-bit operands themselves, in half the time. This is what XLA makes of such programs
// (GemmRewriter). Values differ by roundings that are left out: those of a·s to the wider type.
#pragma once

#include "analysis/ir/graph.h"

namespace tilewright {

/// The module with such dots rewritten, also those without a factor. The product that is `d'` keeps
/// its name; the dot itself is called `d'.f8`, with "_" behind it where that is taken. Ops that
/// only dots read are left, without a reader.
Module withNarrowProducts(const Module &module);

/// Whether an op is a dot that was rewritten: of two 8-bit floats in f32, and called so.
bool isNarrowedDot(const Graph &graph, const Op &op);

} // namespace tilewright
