#include "analysis/compiled/launches.h"

#include "analysis/support/digest.h"

#include <cctype>
#include <fmt/format.h>
#include <map>

namespace tilewright {

bool isLaunched(const Op &op) {
  switch (op.opcode) {
  case Opcode::Parameter:
  case Opcode::Constant:
  case Opcode::Bitcast:
  case Opcode::Tuple:
  case Opcode::GetTupleElement:
  case Opcode::AfterAll:
  case Opcode::AddDependency:
  case Opcode::PartitionId:
  case Opcode::ReplicaId:
  case Opcode::OptimizationBarrier:
  case Opcode::AsyncDone:
  case Opcode::AsyncUpdate:
  case Opcode::CopyDone:
    return false;
  default:
    return true;
  }
}

std::string kernelName(std::string_view opName) {
  std::string name(opName);
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  return name;
}

namespace {

/// JSON text without the fields that name an op.
std::string withoutNames(std::string text) {
  for (const char *key : {"\"scheduling_name\":\"", "\"op_name\":\""})
    for (size_t at = text.find(key); at != std::string::npos; at = text.find(key, at)) {
      const size_t end = text.find('"', at + std::string_view(key).size());
      text.erase(at, end == std::string::npos ? std::string::npos : end + 1 - at);
    }
  return text;
}

/// Texts of bodies; equal ones for equal bodies, whatever their names are.
class Bodies {
public:
  explicit Bodies(const Module &module) : module(module) {}

  std::string of(GraphId id) {
    if (auto found = known.find(id.index); found != known.end())
      return found->second;
    std::string text;
    for (const Op &op : module.graph(id).all())
      add(op, text);
    // Bodies are called by others, whose texts would grow without bound.
    Digest digest;
    digest.add(text);
    return known[id.index] = digest.str();
  }

private:
  void add(const Op &op, std::string &text) {
    text += fmt::format("{} {}(", op.shape.str(), toString(op.opcode));
    for (OpId operand : op.operands)
      text += fmt::format("{},", operand.index);
    text += op.literal + ") ";
    for (const RawAttribute &attribute : op.rawAttrs)
      if (attribute.name != "metadata" && attribute.name != "backend_config" &&
          attribute.name != "to_apply" && attribute.name != "calls")
        text += attribute.name + "=" + attribute.text + " ";
    if (op.opcode == Opcode::Parameter)
      text += fmt::format("#{}", op.attrs.parameterNumber);
    for (const CalledGraph &called : op.called)
      text += "{" + of(called.graph) + "}";
    text += "\n";
  }

  const Module &module;
  std::map<uint32_t, std::string> known;
};

} // namespace

std::string kernelIdentity(const Module &module, const Op &fusion) {
  std::string text = fusion.attrs.fusionKind;
  for (const RawAttribute &attribute : fusion.rawAttrs)
    if (attribute.name == "backend_config")
      text += withoutNames(attribute.text);
  text += "\n";
  Bodies bodies(module);
  for (const CalledGraph &called : fusion.called)
    text += bodies.of(called.graph);
  return text;
}

} // namespace tilewright
