#include "tools/explore/twins.h"

#include "tools/explore/kernels.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

namespace tilewright {

std::string renamed(std::string_view text, const Graph &first, const Group &from,
                    const Graph &second, const Group &to) {
  std::map<std::string_view, std::string_view> names;
  auto add = [&](OpId a, OpId b) { names.emplace(first.op(a).name, second.op(b).name); };
  for (size_t i = 0; i < from.ops.size(); ++i) {
    const std::vector<OpId> &a = first.op(from.ops[i]).operands;
    const std::vector<OpId> &b = second.op(to.ops[i]).operands;
    add(from.ops[i], to.ops[i]);
    for (size_t o = 0; o < a.size(); ++o)
      add(a[o], b[o]);
  }
  std::string result;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (text[at] == '%')
      while (end < text.size() &&
             (llvm::isAlnum(text[end]) || llvm::StringRef("._-").contains(text[end])))
        ++end;
    std::string_view word = text.substr(at, end - at);
    // A full stop after a name is no part of it.
    std::string_view tail;
    auto known = names.find(word.substr(1));
    if (known == names.end() && word.size() > 1 && word.ends_with('.'))
      known = names.find(word.substr(1, word.size() - 2)), tail = ".";
    if (word.front() == '%' && known != names.end())
      result.append("%").append(known->second).append(tail);
    else
      result.append(word);
    at = end;
  }
  return result;
}

bool hasSharedPlans(const ExploredKernel &kernel) {
  const KernelPlan &plan = kernel.plans.front().plan;
  return plan.graph != kernel.source.graph || plan.tiled->group.ops != kernel.source.group.ops;
}

llvm::Expected<KernelPlan> ownPlan(const ExploredKernel &kernel, const KernelPlan &plan) {
  if (!hasSharedPlans(kernel))
    return plan;
  llvm::Expected<TiledKernel> tiled = tileKernel(*plan.module, kernel.source);
  if (!tiled)
    return tiled.takeError();
  KernelPlan own = plan;
  own.name = kernel.source.name;
  own.graph = kernel.source.graph;
  own.context = tiled->context;
  own.tiled = tiled->tiled;
  return own;
}

} // namespace tilewright
