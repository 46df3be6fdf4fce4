#include "codegen/kernel_steps.h"

#include "analysis/support/printable.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"

#include <fmt/format.h>
#include <map>
#include <optional>

namespace tilewright {

namespace {

constexpr unsigned sharedSpace = 3;
constexpr size_t maxPlace = 160; // characters
constexpr int maxNodes = 60;     // of an expression

class StepPrinter {
public:
  explicit StepPrinter(const KernelModule &kernel) : kernel(kernel) {
    for (const llvm::Function &each : kernel.ir())
      if (each.getName() == kernel.entry)
        function = const_cast<llvm::Function *>(&each);
  }

  std::string run() {
    text = fmt::format("{}: {}, {} CTAs of {} threads, {} bytes of shared memory\n", kernel.entry,
                       kernel.kind, kernel.launch.grid, kernel.launch.threads,
                       kernel.launch.sharedBytes);
    for (const KernelParameter &parameter : kernel.parameters)
      text += fmt::format("  {} %{} {}\n", parameter.isOutput ? "result" : "input ", parameter.name,
                          parameter.shape.str());
    for (const KernelWorkspace &workspace : kernel.workspaces)
      text += fmt::format("  workspace for {}, {} bytes\n", workspace.name, workspace.bytes);
    for (const std::string &note : kernel.notes)
      text += "  " + note + "\n";
    if (!function)
      return text;
    dominators.recalculate(*function);
    postDominators.recalculate(*function);
    loops.analyze(dominators);
    walk(&function->getEntryBlock(), nullptr, 1);
    flush();
    return text;
  }

private:
  struct Line {
    std::string what, place;
    unsigned depth = 0, count = 0;
    std::optional<uint64_t> number;
  };

  void flush() {
    if (pending.count == 0)
      return;
    text += margin(pending.number, pending.depth);
    if (pending.count > 1)
      text += fmt::format("{} x ", pending.count);
    text += pending.what + (pending.place.empty() ? "" : ": " + pending.place) + "\n";
    pending = {};
  }

  static std::string margin(std::optional<uint64_t> number, unsigned depth) {
    return (number ? fmt::format("{:>5}", *number) : std::string(5, ' ')) +
           std::string(depth * 2, ' ');
  }

  void add(unsigned depth, std::string what, std::string place = "") {
    if (pending.count > 0 && pending.what == what && pending.depth == depth) {
      ++pending.count;
      return;
    }
    flush();
    pending = {std::move(what), std::move(place), depth, 1, currentNumber};
  }

  /// Blocks from `block` to `end`, which is left out. The lowering makes structured code alone.
  void walk(llvm::BasicBlock *block, llvm::BasicBlock *end, unsigned depth) {
    while (block && block != end) {
      llvm::Loop *loop = loops.getLoopFor(block);
      bool isHead = loop && loop->getHeader() == block;
      if (isHead) {
        flush();
        auto carried = std::distance(block->phis().begin(), block->phis().end());
        auto counter = block->phis().begin();
        if (counter != block->phis().end())
          counters[&*counter] = fmt::format("i{}", loop->getLoopDepth() - 1);
        text += fmt::format("{}loop {}{}\n", margin({}, depth),
                            counter == block->phis().end() ? "" : counters[&*counter],
                            carried > 1 ? fmt::format(", {} carried", carried - 1) : "");
      }
      for (llvm::Instruction &instruction : *block)
        step(instruction, depth);
      auto *branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
      if (!branch)
        return;
      if (!branch->isConditional()) {
        llvm::BasicBlock *next = branch->getSuccessor(0);
        if (loop && loop->getHeader() == next)
          return; // back at the loop's head
        block = next;
        continue;
      }
      llvm::BasicBlock *first = branch->getSuccessor(0), *second = branch->getSuccessor(1);
      if (isHead) {
        bool firstIsInside = loop->contains(first);
        walk(firstIsInside ? first : second, block, depth + 1);
        flush();
        block = firstIsInside ? second : first;
        continue;
      }
      auto *node = postDominators.getNode(block);
      llvm::BasicBlock *join = node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
      flush();
      text += fmt::format("{}if {}\n", margin({}, depth), shown(branch->getCondition()));
      walk(first, join, depth + 1);
      flush();
      if (second != join) {
        size_t before = text.size();
        text += margin({}, depth) + "else\n";
        size_t after = text.size();
        walk(second, join, depth + 1);
        flush();
        if (text.size() == after) // an empty branch
          text.resize(before);
      }
      block = join;
    }
  }

  static std::string typeText(llvm::Type *type) {
    auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    llvm::Type *element = type->getScalarType();
    std::string name =
        element->isFloatTy() ? "f32"
        : element->isDoubleTy()
            ? "f64"
            : fmt::format("{} bits", element->getPrimitiveSizeInBits().getFixedValue());
    return vector ? fmt::format("{} of {}", vector->getNumElements(), name) : name;
  }

  std::string bufferName(const llvm::Argument &argument) const {
    unsigned number = argument.getArgNo();
    if (number < kernel.parameters.size())
      return "%" + kernel.parameters[number].name;
    return fmt::format("workspace {}", number - kernel.parameters.size());
  }

  /// The buffer and byte offset of an address, or shared memory.
  std::pair<std::string, std::string> placeOf(llvm::Value *address) const {
    std::string offset;
    while (auto *gep = llvm::dyn_cast<llvm::GEPOperator>(address)) {
      std::string own = shown(gep->getOperand(1));
      offset = offset.empty() ? own : own + " + " + offset;
      address = gep->getPointerOperand();
    }
    std::string base = "a table";
    if (auto *argument = llvm::dyn_cast<llvm::Argument>(address))
      base = bufferName(*argument);
    else if (address->getType()->getPointerAddressSpace() == sharedSpace)
      base = "shared memory";
    return {base, offset};
  }

  void step(llvm::Instruction &instruction, unsigned depth) {
    currentNumber.reset();
    if (llvm::MDNode *node = instruction.getMetadata(stepMetadata))
      currentNumber =
          llvm::mdconst::extract<llvm::ConstantInt>(node->getOperand(0))->getZExtValue();
    if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      auto [base, place] = placeOf(load->getPointerOperand());
      add(depth, fmt::format("load {} from {}", typeText(load->getType()), base), place);
    } else if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      auto [base, place] = placeOf(store->getPointerOperand());
      add(depth, fmt::format("store {} to {}", typeText(store->getValueOperand()->getType()), base),
          place);
    } else if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
      called(*call, depth);
    } else if (llvm::isa<llvm::AtomicRMWInst>(&instruction)) {
      add(depth, "atomic addition");
    }
  }

  /// "@$5 ld.global.nc.v4.b32 {$0, …}, [$4+16];" of an address and a predicate.
  void predicated(llvm::CallInst &call, llvm::StringRef ptx, unsigned depth) {
    auto [base, place] = placeOf(call.getArgOperand(0));
    llvm::StringRef offset = ptx.substr(ptx.find('[')).take_until([](char c) { return c == ']'; });
    if (size_t plus = offset.find('+'); plus != llvm::StringRef::npos)
      place += " + " + offset.substr(plus + 1).str();
    llvm::StringRef type = ptx.substr(ptx.find(" ")).ltrim();
    type = type.take_until([](char c) { return c == ' '; });
    const bool isLoad = type.starts_with("ld");
    llvm::StringRef width = type.substr(type.rfind(".b") + 2);
    size_t vector = type.find(".v");
    std::string count =
        vector == llvm::StringRef::npos ? "" : type.substr(vector + 2, 1).str() + " of ";
    std::string what =
        fmt::format("{}{} bits {} {}", count, width.str(), isLoad ? "from" : "to", base);
    add(depth,
        fmt::format("{} {} if {}", isLoad ? "load" : "store", what, shown(call.getArgOperand(1))),
        place);
  }

  void called(llvm::CallInst &call, unsigned depth) {
    if (auto *code = llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand())) {
      llvm::StringRef ptx = code->getAsmString();
      if (ptx.starts_with("@"))
        return predicated(call, ptx, depth);
      // The instruction itself, without surrounding declarations.
      size_t from = std::min(ptx.find("wgmma"), ptx.find("mbarrier"));
      if (from == llvm::StringRef::npos)
        from = 0;
      add(depth, ptx.substr(from, ptx.find_first_of(" ;", from) - from).str());
      return;
    }
    llvm::Function *callee = call.getCalledFunction();
    llvm::StringRef name = callee ? callee->getName() : "";
    if (name.contains("cp.async.cg")) {
      auto [base, place] = placeOf(call.getArgOperand(1));
      add(depth, fmt::format("copy 16 bytes from {} to shared memory", base),
          fmt::format("{}, to {}", place, placeOf(call.getArgOperand(0)).second));
    } else if (name.contains("cp.async.commit")) {
      add(depth, "commit copies");
    } else if (name.contains("cp.async.wait")) {
      add(depth,
          fmt::format("wait for copies, {} groups may be in flight", shown(call.getArgOperand(0))));
    } else if (name.contains("barrier")) {
      add(depth, "barrier");
    } else if (name.contains("ldmatrix")) {
      add(depth,
          fmt::format("ldmatrix {}{}",
                      name.contains(".x4")   ? "x4"
                      : name.contains(".x2") ? "x2"
                                             : "x1",
                      name.contains(".trans") ? " transposed" : ""),
          placeOf(call.getArgOperand(0)).second);
    } else if (name.contains(".mma.")) {
      add(depth, name.substr(name.find(".mma.") + 1).str());
    } else if (name.contains("shfl.sync.bfly")) {
      add(depth, "exchange with the thread", "tid xor " + shown(call.getArgOperand(2)));
    } else if (name.contains("membar")) {
      add(depth, "fence");
    }
  }

  /// A value as a function of the thread, the CTA and counters; cut short where that is long.
  std::string shown(llvm::Value *value) const {
    nodesLeft = maxNodes;
    std::string result = expression(value);
    return excerpt(result, maxPlace);
  }

  std::string expression(llvm::Value *value) const {
    if (auto *constant = llvm::dyn_cast<llvm::ConstantInt>(value))
      return constant->getBitWidth() == 1 ? (constant->isZero() ? "false" : "true")
                                          : std::to_string(constant->getSExtValue());
    if (auto known = counters.find(value); known != counters.end())
      return known->second;
    if (nodesLeft-- <= 0)
      return "…";
    if (auto *call = llvm::dyn_cast<llvm::CallInst>(value)) {
      llvm::StringRef name = call->getCalledFunction() ? call->getCalledFunction()->getName() : "";
      if (name.contains("ctaid.x"))
        return "cta";
      if (name.contains("tid.x"))
        return "tid";
      if (name.contains("smin") || name.contains("smax"))
        return fmt::format("{}({}, {})", name.contains("smin") ? "min" : "max",
                           expression(call->getArgOperand(0)), expression(call->getArgOperand(1)));
      return "…";
    }
    if (auto *cast = llvm::dyn_cast<llvm::CastInst>(value))
      return expression(cast->getOperand(0));
    if (auto *select = llvm::dyn_cast<llvm::SelectInst>(value))
      return fmt::format("({} ? {} : {})", expression(select->getCondition()),
                         expression(select->getTrueValue()), expression(select->getFalseValue()));
    if (auto *compare = llvm::dyn_cast<llvm::ICmpInst>(value))
      return fmt::format("{} {} {}", expression(compare->getOperand(0)),
                         relation(compare->getPredicate()), expression(compare->getOperand(1)));
    auto *operation = llvm::dyn_cast<llvm::BinaryOperator>(value);
    if (!operation)
      return "…";
    std::string left = expression(operation->getOperand(0));
    std::string right = expression(operation->getOperand(1));
    switch (operation->getOpcode()) {
    case llvm::Instruction::Add:
      return left == "0" ? right : right == "0" ? left : fmt::format("({} + {})", left, right);
    case llvm::Instruction::Sub:
      return fmt::format("({} - {})", left, right);
    case llvm::Instruction::Mul:
      return fmt::format("{}*{}", left, right);
    case llvm::Instruction::UDiv:
    case llvm::Instruction::SDiv:
      return fmt::format("({}/{})", left, right);
    case llvm::Instruction::URem:
    case llvm::Instruction::SRem:
      return fmt::format("({}%{})", left, right);
    case llvm::Instruction::Shl:
      return fmt::format("({} << {})", left, right);
    case llvm::Instruction::LShr:
      return fmt::format("({} >> {})", left, right);
    case llvm::Instruction::And:
      return fmt::format("({} and {})", left, right);
    case llvm::Instruction::Or:
      return fmt::format("({} or {})", left, right);
    case llvm::Instruction::Xor:
      return fmt::format("({} xor {})", left, right);
    default:
      return "…";
    }
  }

  static std::string_view relation(llvm::CmpInst::Predicate predicate) {
    switch (predicate) {
    case llvm::CmpInst::ICMP_EQ:
      return "=";
    case llvm::CmpInst::ICMP_NE:
      return "!=";
    case llvm::CmpInst::ICMP_SLT:
    case llvm::CmpInst::ICMP_ULT:
      return "<";
    case llvm::CmpInst::ICMP_SLE:
    case llvm::CmpInst::ICMP_ULE:
      return "<=";
    case llvm::CmpInst::ICMP_SGT:
    case llvm::CmpInst::ICMP_UGT:
      return ">";
    default:
      return ">=";
    }
  }

  const KernelModule &kernel;
  llvm::Function *function = nullptr;
  llvm::DominatorTree dominators;
  llvm::PostDominatorTree postDominators;
  llvm::LoopInfo loops;
  std::map<const llvm::Value *, std::string> counters; // never iterated
  std::string text;
  Line pending;
  std::optional<uint64_t> currentNumber; ///< of the step at hand
  mutable int nodesLeft = 0;
};

} // namespace

std::string printSteps(const KernelModule &kernel) { return StepPrinter(kernel).run(); }

} // namespace tilewright
