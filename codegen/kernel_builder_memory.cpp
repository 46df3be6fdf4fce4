// Accesses of KernelBuilder to memory: loads and stores, copies to shared memory, atomics.
#include "codegen/kernel_builder.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace tilewright {

namespace intr = llvm::Intrinsic;

llvm::Value *KernelBuilder::globalAddress(unsigned buffer, llvm::Value *byteOffset) {
  return b.CreateGEP(i8, buffers[buffer], byteOffset);
}

llvm::Value *KernelBuilder::sharedAddress(llvm::Value *byteOffset) {
  // Offsets are small and not negative: constants in them can become part of the instruction.
  return b.CreateGEP(i8, shared, b.CreateZExt(byteOffset, i64));
}

llvm::Value *KernelBuilder::bytesOf(llvm::Type *type) {
  return c32(static_cast<int64_t>(type->getPrimitiveSizeInBits().getFixedValue() / 8));
}

llvm::Value *KernelBuilder::loadGlobal(llvm::Type *type, unsigned buffer, llvm::Value *byteOffset,
                                       unsigned align) {
  Step step(*this, "load");
  llvm::Value *address = globalAddress(buffer, byteOffset);
  if (isEmulation())
    callEmulator("twEmuGlobalRead", b.getVoidTy(), {address, bytesOf(type), c32(align)});
  auto *load = b.CreateAlignedLoad(type, address, llvm::Align(align));
  if (!isEmulation() && !outputs[buffer]) // allows the read-only cache
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context(), {}));
  return load;
}

void KernelBuilder::storeGlobal(llvm::Value *value, unsigned buffer, llvm::Value *byteOffset,
                                unsigned align) {
  Step step(*this, "store");
  llvm::Value *address = globalAddress(buffer, byteOffset);
  if (isEmulation())
    callEmulator("twEmuGlobalWrite", b.getVoidTy(),
                 {address, bytesOf(value->getType()), c32(align)});
  b.CreateAlignedStore(value, address, llvm::Align(align));
}

namespace {

/// "v4.b32" and the like for an access of so many bytes, with its registers from number `first` on.
struct WordList {
  std::string type, registers, constraint;
  unsigned words;
};

WordList wordsOf(unsigned bytes, unsigned first) {
  WordList list;
  list.words = std::max(bytes / 4, 1u);
  list.type =
      bytes >= 8 ? "v" + std::to_string(list.words) + ".b32" : "b" + std::to_string(bytes * 8);
  for (unsigned i = 0; i < list.words; ++i)
    list.registers += (i ? ", $" : "$") + std::to_string(first + i);
  if (list.words > 1)
    list.registers = "{" + list.registers + "}";
  list.constraint = bytes == 2 ? "h" : "r"; // a byte is in a word
  return list;
}

} // namespace

llvm::Value *KernelBuilder::loadGlobalIf(llvm::Value *valid, llvm::Value *otherwise,
                                         unsigned buffer, llvm::Value *byteOffset, int64_t constant,
                                         unsigned align) {
  Step step(*this, "load");
  llvm::Type *type = otherwise->getType();
  auto bytes = static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedValue() / 8);
  if (isEmulation()) { // announced with no bytes where it is not made
    llvm::Value *at = b.CreateSelect(valid, b.CreateAdd(byteOffset, c64(constant)), c64(0));
    llvm::Value *address = globalAddress(buffer, at);
    callEmulator("twEmuGlobalRead", b.getVoidTy(),
                 {address, b.CreateSelect(valid, c32(bytes), c32(0)), c32(align)});
    llvm::BasicBlock *before = b.GetInsertBlock();
    llvm::BasicBlock *then = llvm::BasicBlock::Create(context(), "then", function);
    llvm::BasicBlock *after = llvm::BasicBlock::Create(context(), "endif", function);
    b.CreateCondBr(valid, then, after);
    b.SetInsertPoint(then);
    llvm::Value *loaded = b.CreateAlignedLoad(type, address, llvm::Align(align));
    b.CreateBr(after);
    b.SetInsertPoint(after);
    llvm::PHINode *result = b.CreatePHI(type, 2);
    result->addIncoming(otherwise, before);
    result->addIncoming(loaded, then);
    return result;
  }
  // A predicated instruction: a branch would keep loads apart, and a harmless address would be read
  // for nothing.
  WordList list = wordsOf(bytes, 0);
  llvm::Type *word = bytes == 2 ? i16 : i32;
  Values arguments{globalAddress(buffer, byteOffset), valid};
  std::string outputs, inputs = "l,b";
  llvm::Value *whole = otherwise;
  if (bytes == 1)
    whole = b.CreateZExt(b.CreateBitCast(otherwise, i8), i32);
  else if (list.words > 1)
    whole = b.CreateBitCast(otherwise, llvm::FixedVectorType::get(i32, list.words));
  else
    whole = b.CreateBitCast(otherwise, word);
  for (unsigned i = 0; i < list.words; ++i) {
    outputs += "=" + list.constraint + ",";
    inputs += "," + std::to_string(i);
    arguments.push_back(list.words > 1 ? b.CreateExtractElement(whole, i) : whole);
  }
  std::string offset = constant ? "+" + std::to_string(constant) : "";
  std::string text = "@$" + std::to_string(list.words + 1) + " ld.global.nc." + list.type + " " +
                     list.registers + ", [$" + std::to_string(list.words) + offset + "];";
  std::vector<llvm::Type *> types;
  for (llvm::Value *argument : arguments)
    types.push_back(argument->getType());
  llvm::Type *made = list.words == 1 ? word
                                     : static_cast<llvm::Type *>(llvm::StructType::get(
                                           context(), std::vector<llvm::Type *>(list.words, word)));
  llvm::Value *loaded =
      b.CreateCall(llvm::InlineAsm::get(llvm::FunctionType::get(made, types, false), text,
                                        outputs + inputs, false),
                   arguments);
  if (bytes == 1)
    return b.CreateBitCast(b.CreateTrunc(loaded, i8), type);
  if (list.words == 1)
    return b.CreateBitCast(loaded, type);
  llvm::Value *result = llvm::PoisonValue::get(llvm::FixedVectorType::get(i32, list.words));
  for (unsigned i = 0; i < list.words; ++i)
    result = b.CreateInsertElement(result, b.CreateExtractValue(loaded, i), i);
  return b.CreateBitCast(result, type);
}

void KernelBuilder::storeGlobalIf(llvm::Value *valid, llvm::Value *value, unsigned buffer,
                                  llvm::Value *byteOffset, int64_t constant, unsigned align) {
  if (isEmulation()) {
    ifThen(valid,
           [&] { storeGlobal(value, buffer, b.CreateAdd(byteOffset, c64(constant)), align); });
    return;
  }
  Step step(*this, "store");
  llvm::Type *type = value->getType();
  auto bytes = static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedValue() / 8);
  WordList list = wordsOf(bytes, 2);
  Values arguments{globalAddress(buffer, byteOffset), valid};
  std::string constraints = "l,b";
  llvm::Value *whole = list.words > 1
                           ? b.CreateBitCast(value, llvm::FixedVectorType::get(i32, list.words))
                           : b.CreateBitCast(value, b.getIntNTy(bytes * 8));
  for (unsigned i = 0; i < list.words; ++i) {
    constraints += "," + list.constraint;
    arguments.push_back(list.words > 1 ? b.CreateExtractElement(whole, i)
                        : bytes == 1   ? b.CreateZExt(whole, i32)
                                       : whole);
  }
  std::vector<llvm::Type *> types;
  for (llvm::Value *argument : arguments)
    types.push_back(argument->getType());
  std::string offset = constant ? "+" + std::to_string(constant) : "";
  std::string text = "@$1 st.global." + list.type + " [$0" + offset + "], " + list.registers + ";";
  b.CreateCall(llvm::InlineAsm::get(llvm::FunctionType::get(b.getVoidTy(), types, false), text,
                                    constraints + ",~{memory}", true),
               arguments);
}

llvm::Value *KernelBuilder::loadShared(llvm::Type *type, llvm::Value *byteOffset, unsigned align) {
  Step step(*this, "load from shared memory");
  if (isEmulation())
    callEmulator("twEmuSharedRead", b.getVoidTy(), {byteOffset, bytesOf(type), c32(align)});
  return b.CreateAlignedLoad(type, sharedAddress(byteOffset), llvm::Align(align));
}

void KernelBuilder::storeShared(llvm::Value *value, llvm::Value *byteOffset, unsigned align) {
  Step step(*this, "store to shared memory");
  if (isEmulation())
    callEmulator("twEmuSharedWrite", b.getVoidTy(),
                 {byteOffset, bytesOf(value->getType()), c32(align)});
  b.CreateAlignedStore(value, sharedAddress(byteOffset), llvm::Align(align));
}

llvm::Value *KernelBuilder::loadTable(llvm::ArrayRef<llvm::Constant *> table, llvm::Value *index) {
  auto *type = llvm::ArrayType::get(table[0]->getType(), table.size());
  auto *data = llvm::ConstantArray::get(type, table);
  llvm::GlobalVariable *&global = tables[data]; // never iterated
  if (!global)
    global = new llvm::GlobalVariable(*moduleOwner, type, true, llvm::GlobalValue::InternalLinkage,
                                      data, "table_" + std::to_string(tables.size()), nullptr,
                                      llvm::GlobalValue::NotThreadLocal, isEmulation() ? 0 : 1);
  return b.CreateLoad(table[0]->getType(), b.CreateGEP(table[0]->getType(), global, index));
}

void KernelBuilder::copyAsync16(llvm::Value *sharedOffset, unsigned buffer, llvm::Value *byteOffset,
                                llvm::Value *valid) {
  copyAsync(sharedOffset, buffer, byteOffset, 16,
            valid ? b.CreateSelect(valid, c32(16), c32(0)) : nullptr);
}

void KernelBuilder::copyAsync(llvm::Value *sharedOffset, unsigned buffer, llvm::Value *byteOffset,
                              unsigned bytes, llvm::Value *validBytes) {
  Step step(*this, "copy to shared memory");
  if (isEmulation()) {
    callEmulator("twEmuCopyAsync", b.getVoidTy(),
                 {sharedOffset, globalAddress(buffer, byteOffset), c32(bytes),
                  validBytes ? validBytes : c32(bytes)});
    return;
  }
  // Past L1 where all of a line's part is taken.
  intr::ID whole = bytes == 16  ? intr::nvvm_cp_async_cg_shared_global_16
                   : bytes == 8 ? intr::nvvm_cp_async_ca_shared_global_8
                                : intr::nvvm_cp_async_ca_shared_global_4;
  intr::ID part = bytes == 16  ? intr::nvvm_cp_async_cg_shared_global_16_s
                  : bytes == 8 ? intr::nvvm_cp_async_ca_shared_global_8_s
                               : intr::nvvm_cp_async_ca_shared_global_4_s;
  llvm::Value *to = sharedAddress(sharedOffset), *from = globalAddress(buffer, byteOffset);
  if (validBytes)
    b.CreateIntrinsic(part, {}, {to, from, validBytes});
  else
    b.CreateIntrinsic(whole, {}, {to, from});
}

llvm::Value *KernelBuilder::atomicAdd(unsigned buffer, llvm::Value *byteOffset,
                                      llvm::Value *value) {
  Step step(*this, "atomic addition");
  llvm::Value *address = globalAddress(buffer, byteOffset);
  if (isEmulation())
    return callEmulator("twEmuAtomicAdd", i32, {address, value});
  return b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, address, value, llvm::MaybeAlign(4),
                           llvm::AtomicOrdering::Monotonic);
}

void KernelBuilder::atomicUpdate(Update update, DType type, unsigned buffer,
                                 llvm::Value *byteOffset, llvm::Value *value) {
  Step step(*this, "atomic update");
  llvm::Value *address = globalAddress(buffer, byteOffset);
  unsigned bits = bitWidth(type);
  if (isEmulation()) {
    llvm::Value *word = b.CreateZExt(b.CreateBitCast(value, b.getIntNTy(bits)), i64);
    callEmulator(
        "twEmuAtomicUpdate", b.getVoidTy(),
        {address, c32(static_cast<int64_t>(update)), c32(static_cast<int64_t>(type)), word});
    return;
  }
  using Rmw = llvm::AtomicRMWInst;
  bool isSigned = dtypeClass(type) == DTypeClass::Signed;
  Rmw::BinOp op = update == Update::And   ? Rmw::And
                  : update == Update::Or  ? Rmw::Or
                  : update == Update::Max ? (isSigned ? Rmw::Max : Rmw::UMax)
                  : update == Update::Min ? (isSigned ? Rmw::Min : Rmw::UMin)
                  : isFloat(type)         ? Rmw::FAdd
                                          : Rmw::Add;
  if (type == DType::F16 || type == DType::BF16)
    value = b.CreateBitCast(value, type == DType::F16 ? b.getHalfTy() : b.getBFloatTy());
  b.CreateAtomicRMW(op, address, value, llvm::MaybeAlign(bits / 8),
                    llvm::AtomicOrdering::Monotonic);
}

} // namespace tilewright
