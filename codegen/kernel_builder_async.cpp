// The operations of sm_90a: all inline PTX, since the oldest LLVM that is supported lacks most.
#include "codegen/kernel_builder.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace tilewright {

namespace intr = llvm::Intrinsic;

void KernelBuilder::annotateTensorMaps(unsigned first, unsigned count) {
  // Passed by value as a grid constant: otherwise LLVM would copy the map to local memory, where
  // TMA can't read it.
  std::vector<llvm::Metadata *> indices;
  for (unsigned i = first; i < first + count; ++i) {
    function->addParamAttr(
        i, llvm::Attribute::getWithByValType(context(), llvm::ArrayType::get(i8, 128)));
    function->addParamAttr(i, llvm::Attribute::getWithAlignment(context(), llvm::Align(64)));
#if LLVM_VERSION_MAJOR >= 21
    function->addParamAttr(i, llvm::Attribute::get(context(), "nvvm.grid_constant"));
#endif
    indices.push_back(llvm::ConstantAsMetadata::get(b.getInt32(i + 1))); // counted from 1
    tensorMaps.push_back(function->getArg(i));
  }
#if LLVM_VERSION_MAJOR < 21
  if (count)
    moduleOwner->getOrInsertNamedMetadata("nvvm.annotations")
        ->addOperand(llvm::MDNode::get(context(), {llvm::ValueAsMetadata::get(function),
                                                   llvm::MDString::get(context(), "grid_constant"),
                                                   llvm::MDNode::get(context(), indices)}));
#endif
}

llvm::Value *KernelBuilder::inlinePtx(const std::string &text, const std::string &constraints,
                                      llvm::ArrayRef<llvm::Value *> arguments, llvm::Type *result) {
  std::vector<llvm::Type *> types;
  for (llvm::Value *argument : arguments)
    types.push_back(argument->getType());
  auto *type = llvm::FunctionType::get(result ? result : b.getVoidTy(), types, false);
  auto *call = b.CreateCall(llvm::InlineAsm::get(type, text, constraints, true), arguments);
  call->addFnAttr(llvm::Attribute::Convergent);
  return call;
}

llvm::Value *KernelBuilder::sharedWindowAddress(llvm::Value *byteOffset) {
  if (isEmulation())
    return byteOffset;
  return b.CreateAdd(b.CreatePtrToInt(shared, i32), byteOffset);
}

void KernelBuilder::initBarrier(llvm::Value *barrier, int64_t arrivals) {
  Step step(*this, "initialise a barrier");
  if (isEmulation())
    callEmulator("twEmuInitBarrier", b.getVoidTy(), {barrier, c32(arrivals)});
  else
    inlinePtx("mbarrier.init.shared::cta.b64 [$0], $1;", "r,n,~{memory}",
              {sharedWindowAddress(barrier), c32(arrivals)});
}

void KernelBuilder::fenceBarrierInit() {
  Step step(*this, "fence of barriers");
  if (isEmulation())
    callEmulator("twEmuFenceBarrierInit", b.getVoidTy(), {});
  else
    inlinePtx("fence.mbarrier_init.release.cluster;", "~{memory}", {});
}

void KernelBuilder::arrive(llvm::Value *barrier) {
  Step step(*this, "arrive at a barrier");
  if (isEmulation())
    callEmulator("twEmuArrive", b.getVoidTy(), {barrier, c32(0)});
  else
    inlinePtx("mbarrier.arrive.shared::cta.b64 _, [$0];", "r,~{memory}",
              {sharedWindowAddress(barrier)});
}

void KernelBuilder::arriveExpecting(llvm::Value *barrier, int64_t bytes) {
  Step step(*this, "arrive at a barrier, expecting bytes");
  if (isEmulation())
    callEmulator("twEmuArrive", b.getVoidTy(), {barrier, c32(bytes)});
  else
    inlinePtx("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,n,~{memory}",
              {sharedWindowAddress(barrier), c32(bytes)});
}

void KernelBuilder::waitBarrier(llvm::Value *barrier, llvm::Value *parity) {
  Step step(*this, "wait at a barrier");
  if (isEmulation())
    callEmulator("twEmuWaitBarrier", b.getVoidTy(), {barrier, parity});
  else // labels are local to the braces
    inlinePtx("{\n\t.reg .pred complete;\n\tWAIT:\n\t"
              "mbarrier.try_wait.parity.shared::cta.b64 complete, [$0], $1;\n\t"
              "@complete bra DONE;\n\tbra WAIT;\n\tDONE:\n\t}",
              "r,r,~{memory}", {sharedWindowAddress(barrier), parity});
}

void KernelBuilder::prefetchTensorMap(unsigned map) {
  if (!isEmulation())
    inlinePtx("prefetch.tensormap [$0];", "l,~{memory}", {tensorMaps[map]});
}

void KernelBuilder::copyTensor(unsigned map, llvm::Value *sharedOffset, llvm::Value *barrier,
                               llvm::ArrayRef<llvm::Value *> coordinates) {
  Step step(*this, "copy a box of a tensor");
  size_t rank = coordinates.size();
  if (isEmulation()) {
    Values arguments{tensorMaps[map], sharedOffset, barrier, c32(static_cast<int64_t>(rank))};
    for (size_t i = 0; i < 5; ++i)
      arguments.push_back(i < rank ? coordinates[i] : c32(0));
    callEmulator("twEmuCopyTensor", b.getVoidTy(), arguments);
    return;
  }
  Values arguments{sharedWindowAddress(sharedOffset), tensorMaps[map],
                   sharedWindowAddress(barrier)};
  std::string at, constraints = "r,l,r";
  for (size_t i = 0; i < rank; ++i) {
    at += (i ? ", $" : "$") + std::to_string(i + 3);
    constraints += ",r";
    arguments.push_back(coordinates[i]);
  }
  inlinePtx("cp.async.bulk.tensor." + std::to_string(rank) +
                "d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {" + at +
                "}], [$2];",
            constraints + ",~{memory}", arguments);
}

void KernelBuilder::fenceAsyncProxy() {
  Step step(*this, "fence before asynchronous reads");
  if (isEmulation())
    callEmulator("twEmuFenceAsyncProxy", b.getVoidTy(), {});
  else
    inlinePtx("fence.proxy.async.shared::cta;", "~{memory}", {});
}

void KernelBuilder::setMaxRegisters(int64_t count, bool isIncrease) {
  Step step(*this, "change the number of registers");
  if (isEmulation())
    callEmulator("twEmuSetMaxRegisters", b.getVoidTy(), {c32(count), c32(isIncrease)});
  else
    b.CreateIntrinsic(isIncrease ? intr::nvvm_setmaxnreg_inc_sync_aligned_u32
                                 : intr::nvvm_setmaxnreg_dec_sync_aligned_u32,
                      {}, {c32(count)});
}

llvm::Value *KernelBuilder::matrixDescriptor(llvm::Value *sharedOffset, int64_t leadingBytes,
                                             int64_t strideBytes, int64_t swizzleBytes) {
  uint64_t layout = swizzleBytes == 128 ? 1 : swizzleBytes == 64 ? 2 : 3;
  uint64_t fixed = layout << 62 | static_cast<uint64_t>(strideBytes / 16) << 32 |
                   static_cast<uint64_t>(leadingBytes / 16) << 16;
  llvm::Value *address = b.CreateAnd(sharedWindowAddress(sharedOffset), c32(0x3ffff));
  return b.CreateOr(b.CreateZExt(b.CreateLShr(address, 4), i64),
                    llvm::ConstantInt::get(i64, fixed));
}

llvm::Value *KernelBuilder::advanceDescriptor(llvm::Value *descriptor, llvm::Value *bytes) {
  return b.CreateAdd(descriptor, b.CreateZExt(b.CreateLShr(bytes, 4), i64));
}

void KernelBuilder::warpgroupFence() {
  Step step(*this, "fence of products");
  if (isEmulation())
    callEmulator("twEmuWarpgroupFence", b.getVoidTy(), {});
  else
    inlinePtx("wgmma.fence.sync.aligned;", "~{memory}", {});
}

void KernelBuilder::warpgroupCommit() {
  Step step(*this, "commit products");
  if (isEmulation())
    callEmulator("twEmuWarpgroupCommit", b.getVoidTy(), {});
  else
    inlinePtx("wgmma.commit_group.sync.aligned;", "~{memory}", {});
}

void KernelBuilder::warpgroupWait(unsigned pending) {
  Step step(*this, "wait for products");
  if (isEmulation())
    callEmulator("twEmuWarpgroupWait", b.getVoidTy(), {c32(pending)});
  else
    inlinePtx("wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";", "~{memory}", {});
}

namespace {

/// ",0,1,2": constraints that tie inputs to the first `count` outputs; "=f,=f" for those.
std::string repeated(size_t count, const std::function<std::string(size_t)> &item) {
  std::string result;
  for (size_t i = 0; i < count; ++i)
    result += (i ? "," : "") + item(i);
  return result;
}

} // namespace

/// A compiler barrier for these registers: their uses stay before or after it, as written.
Values KernelBuilder::throughRegisters(const std::string &text, const Values &registers) {
  std::string outputs, inputs;
  std::vector<llvm::Type *> types;
  for (size_t i = 0; i < registers.size(); ++i) {
    types.push_back(registers[i]->getType());
    outputs += types.back()->isFloatTy() ? "=f," : "=r,";
    inputs += std::to_string(i) + ",";
  }
  llvm::Type *type = types.size() == 1 ? types[0] : llvm::StructType::get(context(), types);
  llvm::Value *after = inlinePtx(text, outputs + inputs + "~{memory}", registers, type);
  if (registers.size() == 1)
    return {after};
  Values result;
  for (unsigned i = 0; i < registers.size(); ++i)
    result.push_back(b.CreateExtractValue(after, i));
  return result;
}

Values KernelBuilder::pinned(const Values &values) {
  return isEmulation() || values.empty() ? values : throughRegisters("", values);
}

Values KernelBuilder::warpgroupFence(const Values &registers) {
  Step step(*this, "fence of products");
  if (!isEmulation())
    return throughRegisters("wgmma.fence.sync.aligned;", registers);
  warpgroupFence();
  return registers;
}

Values KernelBuilder::warpgroupWait(unsigned pending, unsigned accumulator, const Values &sums) {
  Step step(*this, "wait for products");
  if (!isEmulation()) // the registers pass through it, so that no use is hoisted above the wait
    return throughRegisters("wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";", sums);
  Values result;
  llvm::Type *type = sums[0]->getType();
  warpgroupWait(pending);
  llvm::AllocaInst *words = accumulatorScratch();
  for (unsigned i = 0; i < sums.size(); ++i)
    b.CreateStore(sums[i], b.CreateConstGEP1_32(i32, words, i));
  callEmulator("twEmuReadAccumulator", b.getVoidTy(),
               {c32(accumulator), c32(static_cast<int64_t>(sums.size())), words});
  for (unsigned i = 0; i < sums.size(); ++i)
    result.push_back(b.CreateLoad(type, b.CreateConstGEP1_32(i32, words, i)));
  return result;
}

Values KernelBuilder::warpgroupMma(const WarpgroupMma &shape, unsigned accumulator, llvm::Value *a,
                                   llvm::Value *bDescriptor, llvm::Value *isAccumulating,
                                   const Values &sums) {
  return startWarpgroupMma(shape, accumulator, {a}, bDescriptor, isAccumulating, sums);
}

Values KernelBuilder::warpgroupMma(const WarpgroupMma &shape, unsigned accumulator,
                                   llvm::ArrayRef<llvm::Value *> a, llvm::Value *bDescriptor,
                                   llvm::Value *isAccumulating, const Values &sums) {
  return startWarpgroupMma(shape, accumulator, a, bDescriptor, isAccumulating, sums);
}

/// A matrix operand's type in an instruction's name.
static std::string ptxName(DType type) {
  switch (type) {
  case DType::F32:
    return ".tf32";
  case DType::F8E4M3FN:
    return ".e4m3";
  case DType::F8E5M2:
    return ".e5m2";
  default:
    return "." + std::string(toString(type));
  }
}

Values KernelBuilder::startWarpgroupMma(const WarpgroupMma &shape, unsigned accumulator,
                                        llvm::ArrayRef<llvm::Value *> a, llvm::Value *bDescriptor,
                                        llvm::Value *isAccumulating, const Values &sums) {
  Step step(*this, "wgmma");
  size_t count = sums.size();
  llvm::Type *type = sums[0]->getType();
  bool isInRegisters = a.size() == 4;
  llvm::Value *scale = b.CreateZExt(isAccumulating, i32);
  Values result;
  if (isEmulation()) {
    llvm::AllocaInst *words = accumulatorScratch();
    for (unsigned i = 0; i < count; ++i)
      b.CreateStore(sums[i], b.CreateConstGEP1_32(i32, words, i));
    for (unsigned i = 0; isInRegisters && i < 4; ++i)
      b.CreateStore(a[i], b.CreateConstGEP1_32(i32, words, 128 + i));
    int64_t flags = int64_t(shape.isLhsKMinor) | int64_t(shape.isRhsKMinor) << 1 |
                    int64_t(isInRegisters) << 2 | static_cast<int64_t>(shape.inputs.left) << 8 |
                    static_cast<int64_t>(shape.inputs.right) << 16;
    callEmulator("twEmuWarpgroupMma", b.getVoidTy(),
                 {c32(accumulator), c32(flags), c32(shape.columns), isInRegisters ? c64(0) : a[0],
                  bDescriptor, scale, words});
    for (unsigned i = 0; i < count; ++i)
      result.push_back(b.CreateLoad(type, b.CreateConstGEP1_32(i32, words, i)));
    return result;
  }
  const unsigned bits = bitWidth(shape.inputs.left);
  const bool is16 = bits == 16;
  const std::string sumName = isFloat(shape.inputs.left) ? "f32" : "s32";
  // Operands are numbered as the constraints are: sums, A, B, scale, then the tied sums.
  auto operand = [](size_t i) { return "$" + std::to_string(i); };
  std::string registers = repeated(count, operand), left;
  if (isInRegisters)
    left = "{" + repeated(4, [&](size_t i) { return operand(count + i); }) + "}";
  else
    left = operand(count);
  size_t next = count + a.size();
  std::string text = "{\n\t.reg .pred accumulate;\n\tsetp.ne.b32 accumulate, " + operand(next + 1) +
                     ", 0;\n\twgmma.mma_async.sync.aligned.m64n" + std::to_string(shape.columns) +
                     "k" + std::to_string(256 / bits) + "." + sumName + ptxName(shape.inputs.left) +
                     ptxName(shape.inputs.right) + " {" + registers + "}, " + left + ", " +
                     operand(next) + ", accumulate";
  if (sumName == "f32")
    text += ", 1, 1";
  if (is16 && !isInRegisters)
    text += shape.isLhsKMinor ? ", 0" : ", 1";
  if (is16)
    text += shape.isRhsKMinor ? ", 0" : ", 1";
  text += ";\n\t}";
  std::string kind = type->isFloatTy() ? "f" : "r";
  std::string constraints = repeated(count, [&](size_t) { return "=" + kind; });
  constraints += isInRegisters ? ",r,r,r,r" : ",l";
  constraints += ",l,r," + repeated(count, [](size_t i) { return std::to_string(i); });
  Values arguments(a.begin(), a.end());
  arguments.push_back(bDescriptor);
  arguments.push_back(scale);
  auto *constant = llvm::dyn_cast<llvm::ConstantInt>(isAccumulating);
  if (constant && constant->isZero())
    arguments.insert(arguments.end(), count, llvm::UndefValue::get(type));
  else
    arguments.insert(arguments.end(), sums.begin(), sums.end());
  llvm::Value *started =
      inlinePtx(text, constraints, arguments,
                llvm::StructType::get(context(), std::vector<llvm::Type *>(count, type)));
  for (unsigned i = 0; i < count; ++i)
    result.push_back(b.CreateExtractValue(started, i));
  return result;
}

llvm::AllocaInst *KernelBuilder::accumulatorScratch() {
  if (!accumulatorSlot) {
    llvm::BasicBlock &start = function->getEntryBlock();
    llvm::IRBuilder<> atStart(&start, start.begin());
    accumulatorSlot = atStart.CreateAlloca(llvm::ArrayType::get(i32, 256));
  }
  return accumulatorSlot;
}

} // namespace tilewright
