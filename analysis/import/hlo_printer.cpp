#include "analysis/import/hlo_attribute_printer.h"
#include "analysis/import/hlo_text.h"

namespace tilewright {

namespace {

class HloPrinter {
public:
  explicit HloPrinter(const Module &module) : module(module) {}

  std::string run() {
    if (!module.name.empty()) {
      out += "HloModule " + module.name;
      for (const RawAttribute &attribute : module.attributes)
        printAttribute(attribute.name, attribute.text);
      out += "\n\n";
    }
    out += module.preamble;
    for (uint32_t i = 0; i < module.all().size(); ++i)
      printGraph(GraphId{i});
    return std::move(out);
  }

private:
  void printAttribute(std::string_view name, std::string_view text) {
    out += ", ";
    out += name;
    out += '=';
    out += text;
  }

  void printGraph(GraphId id) {
    const Graph &graph = module.graph(id);
    if (id == module.entryId)
      out += "ENTRY ";
    out += "%" + graph.name() + " ";
    if (!graph.signature.empty())
      out += graph.signature + " ";
    out += "{\n";
    for (uint32_t i = 0; i < graph.size(); ++i)
      printOp(graph, OpId{i});
    out += "}" + graph.suffix + "\n\n";
  }

  void printOp(const Graph &graph, OpId id) {
    const Op &op = graph.op(id);
    out += id == graph.root() ? "  ROOT %" : "  %";
    out += op.name;
    out += " = ";
    out += op.shape.str();
    out += ' ';
    if (op.attrs.asyncOpcode) // async-start that is written reduce-scatter-start
      out += std::string(toString(*op.attrs.asyncOpcode)) +
             std::string(toString(op.opcode).substr(std::string_view("async").size()));
    else
      out += toString(op.opcode);
    out += '(';
    if (op.opcode == Opcode::Parameter)
      out += std::to_string(op.attrs.parameterNumber);
    else if (op.opcode == Opcode::Constant)
      out += op.literal;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      out += i ? ", %" : "%";
      out += graph.op(op.operands[i]).name;
    }
    out += ')';
    for (const RawAttribute &attribute : op.rawAttrs)
      printAttribute(attribute.name, attribute.text);
    // Ops read from a file keep their attributes' text; others have typed attributes only.
    if (op.rawAttrs.empty())
      for (const auto &[name, text] : typedAttributes(module, op))
        printAttribute(name, text);
    out += '\n';
  }

  const Module &module;
  std::string out;
};

} // namespace

std::string printHlo(const Module &module) { return HloPrinter(module).run(); }

} // namespace tilewright
