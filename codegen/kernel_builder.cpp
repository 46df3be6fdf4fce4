#include "codegen/kernel_builder.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace tilewright {

using llvm::Intrinsic::ID;
namespace intr = llvm::Intrinsic;

namespace {
constexpr unsigned globalSpace = 1, sharedSpace = 3;
}

KernelBuilder::KernelBuilder(const std::string &entry, CodeMode mode, int64_t threads,
                             const KernelSignature &signature)
    : contextOwner(std::make_unique<llvm::LLVMContext>()),
      moduleOwner(std::make_unique<llvm::Module>(entry, *contextOwner)), codeMode(mode),
      b(*contextOwner), i1(b.getInt1Ty()), i8(b.getInt8Ty()), i16(b.getInt16Ty()),
      i32(b.getInt32Ty()), i64(b.getInt64Ty()), f32(b.getFloatTy()), f64(b.getDoubleTy()),
      outputs(signature.isOutput) {
  outputs.insert(outputs.end(), signature.workspaces, true);
  auto bufferCount = static_cast<unsigned>(outputs.size());
  auto *globalPointer = llvm::PointerType::get(context(), globalSpace);
  auto *sharedPointer = llvm::PointerType::get(context(), sharedSpace);
  std::vector<llvm::Type *> types;
  if (isEmulation())
    types = {sharedPointer, llvm::PointerType::get(context(), 0)}; // shared memory, argument array
  else
    types.assign(bufferCount, globalPointer);
  auto *anyPointer = llvm::PointerType::get(context(), 0);
  if (!isEmulation())
    types.insert(types.end(), signature.tensorMaps, anyPointer);
  function = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), types, false),
                                    llvm::GlobalValue::ExternalLinkage, entry, *moduleOwner);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  b.SetInsertPoint(llvm::BasicBlock::Create(context(), "entry", function));

  if (isEmulation()) {
    shared = function->getArg(0);
    for (unsigned i = 0; i < bufferCount; ++i)
      buffers.push_back(
          b.CreateLoad(globalPointer, b.CreateConstGEP1_64(globalPointer, function->getArg(1), i)));
    for (unsigned i = 0; i < signature.tensorMaps; ++i)
      tensorMaps.push_back(c32(i));
    tid = callEmulator("twEmuThreadId", i32, {});
    bid = callEmulator("twEmuCtaId", i32, {});
    return;
  }
  function->setCallingConv(llvm::CallingConv::PTX_Kernel);
  // Launch bounds: function attributes from LLVM 21 on, metadata before.
  function->addFnAttr("nvvm.maxntid", std::to_string(threads));
#if LLVM_VERSION_MAJOR < 21
  auto annotate = [&](const char *key, int64_t value) {
    moduleOwner->getOrInsertNamedMetadata("nvvm.annotations")
        ->addOperand(llvm::MDNode::get(
            context(), {llvm::ValueAsMetadata::get(function), llvm::MDString::get(context(), key),
                        llvm::ConstantAsMetadata::get(b.getInt32(value))}));
  };
  annotate("kernel", 1);
  annotate("maxntidx", threads);
#endif
  annotateTensorMaps(bufferCount, signature.tensorMaps);
  for (unsigned i = 0; i < bufferCount; ++i) {
    function->addParamAttr(i, llvm::Attribute::NoAlias);
    function->addParamAttr(i, llvm::Attribute::getWithAlignment(context(), llvm::Align(16)));
    if (!outputs[i])
      function->addParamAttr(i, llvm::Attribute::ReadOnly);
    buffers.push_back(function->getArg(i));
  }
  // One external array: internal shared globals can have their accesses moved across barriers by
  // some alias analyses, and more than 48 KiB must be dynamic anyway.
  auto *array = new llvm::GlobalVariable(
      *moduleOwner, llvm::ArrayType::get(i8, 0), false, llvm::GlobalValue::ExternalLinkage, nullptr,
      "shared_memory", nullptr, llvm::GlobalValue::NotThreadLocal, sharedSpace);
  // Swizzled copies repeat every 1024 bytes.
  array->setAlignment(llvm::Align(signature.tensorMaps ? 1024 : 128));
  shared = array;
  tid = b.CreateIntrinsic(intr::nvvm_read_ptx_sreg_tid_x, llvm::ArrayRef<llvm::Type *>(), {});
  bid = b.CreateIntrinsic(intr::nvvm_read_ptx_sreg_ctaid_x, llvm::ArrayRef<llvm::Type *>(), {});
}

KernelModule KernelBuilder::finish() && {
  b.CreateRetVoid();
  std::string entry = function->getName().str();
  KernelModule kernel(std::move(contextOwner), std::move(moduleOwner), codeMode);
  kernel.entry = std::move(entry);
  kernel.steps = std::move(steps);
  return kernel;
}

KernelBuilder::Step::Step(KernelBuilder &builder, const char *name)
    : k(builder), isOutermost(!builder.isInStep) {
  if (!isOutermost || k.codeMode == CodeMode::Emulation)
    return;
  k.isInStep = true;
  if (k.isTraced())
    k.callEmulator("twEmuStep", k.b.getVoidTy(), {k.c32(static_cast<int64_t>(k.steps.size()))});
  k.steps.emplace_back(name);
  if (llvm::BasicBlock *block = k.b.GetInsertBlock(); !block->empty())
    before = &block->back();
}

KernelBuilder::Step::~Step() {
  if (!isOutermost || k.codeMode == CodeMode::Emulation)
    return;
  k.isInStep = false;
  if (k.isTraced())
    return;
  llvm::Metadata *number =
      llvm::ConstantAsMetadata::get(k.b.getInt32(static_cast<uint32_t>(k.steps.size() - 1)));
  llvm::BasicBlock *block = k.b.GetInsertBlock();
  for (auto at = before ? std::next(before->getIterator()) : block->begin(); at != block->end();
       ++at)
    if (at->mayReadOrWriteMemory())
      at->setMetadata(stepMetadata, llvm::MDNode::get(k.context(), number));
}

void KernelBuilder::traceValue(int64_t number, llvm::Value *element, llvm::Value *valid,
                               llvm::Value *value, bool isSigned) {
  if (!isTraced())
    return;
  llvm::Type *type = value->getType();
  // As a double where it is a float; every float is one, exactly.
  llvm::Value *bits = type->isFloatingPointTy() ? b.CreateBitCast(b.CreateFPExt(value, f64), i64)
                      : isSigned                ? b.CreateSExtOrTrunc(value, i64)
                                                : b.CreateZExtOrTrunc(value, i64);
  callEmulator("twEmuValue", b.getVoidTy(),
               {c32(number), b.CreateSExtOrTrunc(element, i64),
                valid ? b.CreateZExt(valid, i32) : c32(1), bits});
}

llvm::Value *KernelBuilder::callEmulator(const char *name, llvm::Type *result,
                                         llvm::ArrayRef<llvm::Value *> arguments) {
  std::vector<llvm::Type *> types;
  for (llvm::Value *argument : arguments)
    types.push_back(argument->getType());
  auto callee =
      moduleOwner->getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
  return b.CreateCall(callee, arguments);
}

llvm::AllocaInst *KernelBuilder::scratch() {
  if (!scratchSlot) {
    llvm::BasicBlock &start = function->getEntryBlock();
    llvm::IRBuilder<> atStart(&start, start.begin());
    scratchSlot = atStart.CreateAlloca(llvm::ArrayType::get(i64, 8));
  }
  return scratchSlot;
}

void KernelBuilder::copyAsyncCommit() {
  Step step(*this, "commit copies");
  if (isEmulation())
    callEmulator("twEmuCopyAsyncCommit", b.getVoidTy(), {});
  else
    b.CreateIntrinsic(intr::nvvm_cp_async_commit_group, llvm::ArrayRef<llvm::Type *>(), {});
}

void KernelBuilder::copyAsyncWait(unsigned pending) {
  Step step(*this, "wait for copies");
  if (isEmulation())
    callEmulator("twEmuCopyAsyncWait", b.getVoidTy(), {c32(pending)});
  else
    b.CreateIntrinsic(intr::nvvm_cp_async_wait_group, {}, {c32(pending)});
}

void KernelBuilder::barrier() {
  Step step(*this, "barrier");
  if (isEmulation())
    callEmulator("twEmuBarrier", b.getVoidTy(), {});
  else
#if LLVM_VERSION_MAJOR >= 21
    b.CreateIntrinsic(intr::nvvm_barrier_cta_sync_aligned_all, {}, {c32(0)});
#else
    b.CreateIntrinsic(intr::nvvm_barrier0, llvm::ArrayRef<llvm::Type *>(), {});
#endif
}

void KernelBuilder::barrier(unsigned id, int64_t count) {
  Step step(*this, "barrier");
  if (isEmulation())
    callEmulator("twEmuNamedBarrier", b.getVoidTy(), {c32(id), c32(count)});
  else
    inlinePtx("bar.sync $0, $1;", "n,n,~{memory}", {c32(id), c32(count)});
}

void KernelBuilder::syncWarp() {
  Step step(*this, "wait for the warp");
  if (isEmulation())
    callEmulator("twEmuSyncWarp", b.getVoidTy(), {});
  else
    b.CreateIntrinsic(intr::nvvm_bar_warp_sync, {}, {c32(-1)});
}

llvm::Value *KernelBuilder::uniform(llvm::Value *value) {
  if (isEmulation())
    return value;
  return b.CreateIntrinsic(intr::nvvm_shfl_sync_idx_i32, {}, {c32(-1), value, c32(0), c32(31)});
}

void KernelBuilder::fenceGlobal() {
  Step step(*this, "fence");
  if (isEmulation())
    callEmulator("twEmuFenceGlobal", b.getVoidTy(), {});
  else
    b.CreateIntrinsic(intr::nvvm_membar_gl, llvm::ArrayRef<llvm::Type *>(), {});
}

llvm::Value *KernelBuilder::shuffleXor(llvm::Value *value, unsigned mask) {
  Step step(*this, "exchange");
  return shuffleWords(value, [&](llvm::Value *word) -> llvm::Value * {
    if (isEmulation())
      return callEmulator("twEmuShuffleXor", i32, {word, c32(mask)});
    return b.CreateIntrinsic(intr::nvvm_shfl_sync_bfly_i32, {},
                             {c32(-1), word, c32(mask), c32(31)});
  });
}

llvm::Value *KernelBuilder::shuffleIndex(llvm::Value *value, llvm::Value *lane) {
  Step step(*this, "exchange");
  return shuffleWords(value, [&](llvm::Value *word) -> llvm::Value * {
    if (isEmulation())
      return callEmulator("twEmuShuffleIndex", i32, {word, lane});
    return b.CreateIntrinsic(intr::nvvm_shfl_sync_idx_i32, {}, {c32(-1), word, lane, c32(31)});
  });
}

llvm::Value *
KernelBuilder::shuffleWords(llvm::Value *value,
                            const std::function<llvm::Value *(llvm::Value *)> &shuffle32) {
  llvm::Type *type = value->getType();
  unsigned bits = type->getPrimitiveSizeInBits().getFixedValue();
  llvm::Value *word = b.CreateBitCast(value, b.getIntNTy(bits));
  if (bits <= 32) {
    word = shuffle32(b.CreateZExt(word, i32));
    return b.CreateBitCast(b.CreateTrunc(word, b.getIntNTy(bits)), type);
  }
  llvm::Value *low = shuffle32(b.CreateTrunc(word, i32));
  llvm::Value *high = shuffle32(b.CreateTrunc(b.CreateLShr(word, 32), i32));
  word = b.CreateOr(b.CreateZExt(low, i64), b.CreateShl(b.CreateZExt(high, i64), 32));
  return b.CreateBitCast(word, type);
}

Values KernelBuilder::loadMatrix(llvm::Value *sharedOffset, unsigned count, bool transposed) {
  Step step(*this, "ldmatrix");
  Values result;
  if (isEmulation()) {
    callEmulator("twEmuLoadMatrix", b.getVoidTy(),
                 {sharedOffset, c32(count), c32(transposed), scratch()});
    for (unsigned i = 0; i < count; ++i)
      result.push_back(b.CreateLoad(i32, b.CreateConstGEP1_32(i32, scratch(), i)));
    return result;
  }
  ID id = count == 4   ? (transposed ? intr::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16
                                     : intr::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16)
          : count == 2 ? (transposed ? intr::nvvm_ldmatrix_sync_aligned_m8n8_x2_trans_b16
                                     : intr::nvvm_ldmatrix_sync_aligned_m8n8_x2_b16)
                       : (transposed ? intr::nvvm_ldmatrix_sync_aligned_m8n8_x1_trans_b16
                                     : intr::nvvm_ldmatrix_sync_aligned_m8n8_x1_b16);
  llvm::Value *address = sharedAddress(sharedOffset);
  llvm::Value *loaded = b.CreateIntrinsic(id, {address->getType()}, {address});
  if (count == 1)
    return {loaded};
  for (unsigned i = 0; i < count; ++i)
    result.push_back(b.CreateExtractValue(loaded, i));
  return result;
}

Values KernelBuilder::mma(MatrixTypes inputs, llvm::ArrayRef<llvm::Value *> a,
                          llvm::ArrayRef<llvm::Value *> bRegisters,
                          llvm::ArrayRef<llvm::Value *> c) {
  Step step(*this, "mma.sync");
  Values arguments(a.begin(), a.end());
  arguments.insert(arguments.end(), bRegisters.begin(), bRegisters.end());
  Values result;
  if (isEmulation()) {
    for (llvm::Value *sum : c)
      arguments.push_back(b.CreateBitCast(sum, i32));
    arguments.push_back(c32(static_cast<int64_t>(inputs.left)));
    arguments.push_back(c32(static_cast<int64_t>(inputs.right)));
    arguments.push_back(scratch());
    callEmulator("twEmuMma", b.getVoidTy(), arguments);
    for (unsigned i = 0; i < 4; ++i)
      result.push_back(b.CreateLoad(c[i]->getType(), b.CreateConstGEP1_32(i32, scratch(), i)));
    return result;
  }
  if (inputs.left == DType::F16) {
    auto *pair = llvm::FixedVectorType::get(b.getHalfTy(), 2);
    for (llvm::Value *&argument : arguments)
      argument = b.CreateBitCast(argument, pair);
  }
  arguments.insert(arguments.end(), c.begin(), c.end());
  llvm::Value *sum;
  switch (inputs.left) {
  case DType::F8E4M3FN:
  case DType::F8E5M2: { // no intrinsic before LLVM 20
    auto nameOf = [](DType type) { return type == DType::F8E5M2 ? ".e5m2" : ".e4m3"; };
    sum = inlinePtx(
        std::string("mma.sync.aligned.m16n8k32.row.col.f32") + nameOf(inputs.left) +
            nameOf(inputs.right) + ".f32 {$0,$1,$2,$3}, {$4,$5,$6,$7}, {$8,$9}, {$10,$11,$12,$13};",
        "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f", arguments, llvm::StructType::get(f32, f32, f32, f32));
    break;
  }
  case DType::F32:
    sum = b.CreateIntrinsic(intr::nvvm_mma_m16n8k8_row_col_tf32, {}, arguments);
    break;
  case DType::S8:
    sum = b.CreateIntrinsic(inputs.right == DType::S8 ? intr::nvvm_mma_m16n8k32_row_col_s8
                                                      : intr::nvvm_mma_m16n8k32_row_col_s8_u8,
                            {}, arguments);
    break;
  case DType::U8:
    sum = b.CreateIntrinsic(inputs.right == DType::U8 ? intr::nvvm_mma_m16n8k32_row_col_u8
                                                      : intr::nvvm_mma_m16n8k32_row_col_u8_s8,
                            {}, arguments);
    break;
  case DType::F16:
    sum = b.CreateIntrinsic(intr::nvvm_mma_m16n8k16_row_col_f32_f32, {}, arguments);
    break;
  default:
    sum = b.CreateIntrinsic(intr::nvvm_mma_m16n8k16_row_col_bf16, {}, arguments);
  }
  for (unsigned i = 0; i < 4; ++i)
    result.push_back(b.CreateExtractValue(sum, i));
  return result;
}

llvm::Value *KernelBuilder::approx(Approx function, llvm::Value *x) {
  if (isEmulation())
    return callEmulator("twEmuApprox", f32, {c32(static_cast<int>(function)), x});
  switch (function) {
  case Approx::Exp2:
#if LLVM_VERSION_MAJOR >= 22
    return b.CreateIntrinsic(intr::nvvm_ex2_approx, {f32}, {x});
#else
    return b.CreateIntrinsic(intr::nvvm_ex2_approx_f, {}, {x});
#endif
  case Approx::Exp2Flushed:
#if LLVM_VERSION_MAJOR >= 22
    return b.CreateIntrinsic(intr::nvvm_ex2_approx_ftz, {f32}, {x});
#else
    return b.CreateIntrinsic(intr::nvvm_ex2_approx_ftz_f, {}, {x});
#endif
  case Approx::Rsqrt:
    return b.CreateIntrinsic(intr::nvvm_rsqrt_approx_f, {}, {x});
  case Approx::Sqrt:
    return b.CreateIntrinsic(intr::nvvm_sqrt_approx_f, {}, {x});
  case Approx::Reciprocal: // LLVM has the one that flushes denormals only
    return b.CreateCall(llvm::InlineAsm::get(llvm::FunctionType::get(f32, {f32}, false),
                                             "rcp.approx.f32 $0, $1;", "=f,f", false),
                        {x});
  }
  llvm_unreachable("every function has its intrinsic");
}

double KernelBuilder::relativeError(Approx function) {
  switch (function) {
  case Approx::Exp2:
  case Approx::Exp2Flushed:
    return 0x1p-22;
  case Approx::Rsqrt:
    return 1.2785e-7; // 2^-22.9
  case Approx::Sqrt:
  case Approx::Reciprocal:
    return 0x1p-23;
  }
  return 0;
}

llvm::Value *KernelBuilder::divideFull(llvm::Value *x, llvm::Value *y) {
  if (isEmulation())
    return callEmulator("twEmuDivideFull", f32, {x, y});
  return b.CreateCall(llvm::InlineAsm::get(llvm::FunctionType::get(f32, {f32, f32}, false),
                                           "div.full.f32 $0, $1, $2;", "=f,f,f", false),
                      {x, y});
}

llvm::Value *KernelBuilder::to16(DType type, llvm::Value *x) {
  if (auto known = bitsOf16.find(x); known != bitsOf16.end() && known->second.first == type)
    return known->second.second;
  llvm::Value *bits;
  if (isEmulation())
    bits = b.CreateTrunc(callEmulator("twEmuTo16", i32, {x, c32(type == DType::BF16)}), i16);
  else if (type == DType::BF16)
    bits = b.CreateBitCast(b.CreateIntrinsic(intr::nvvm_f2bf16_rn, {}, {x}), i16);
  else
    bits = b.CreateBitCast(b.CreateFPTrunc(x, b.getHalfTy()), i16);
  roundedFrom[bits] = x;
  return bits;
}

llvm::Value *KernelBuilder::from16(DType type, llvm::Value *bits) {
  llvm::Value *x;
  if (type == DType::BF16) // the upper half of a float
    x = b.CreateBitCast(b.CreateShl(b.CreateZExt(bits, i32), 16), f32);
  else if (isEmulation())
    x = callEmulator("twEmuFromF16", f32, {b.CreateZExt(bits, i32)});
  else
    x = b.CreateFPExt(b.CreateBitCast(bits, b.getHalfTy()), f32);
  bitsOf16[x] = {type, bits};
  return x;
}

bool KernelBuilder::isRounded(DType type, llvm::Value *x) const {
  auto known = bitsOf16.find(x);
  return known != bitsOf16.end() && known->second.first == type &&
         roundedFrom.count(known->second.second);
}

llvm::Value *KernelBuilder::pack16(DType type, llvm::Value *low, llvm::Value *high) {
  // Values that are of that type already: use the float that they were rounded from.
  llvm::Value *before[] = {low, high};
  for (llvm::Value *&value : before)
    if (isRounded(type, value))
      value = roundedFrom.lookup(bitsOf16.find(value)->second.second);
  if (isEmulation() || bitsOf16.count(before[0]) || bitsOf16.count(before[1]))
    return b.CreateOr(b.CreateZExt(to16(type, low), i32),
                      b.CreateShl(b.CreateZExt(to16(type, high), i32), 16));
  // One instruction at half the full rate; one for each value has an eighth of that.
  const char *text =
      type == DType::BF16 ? "cvt.rn.bf16x2.f32 $0, $1, $2;" : "cvt.rn.f16x2.f32 $0, $1, $2;";
  return b.CreateCall(
      llvm::InlineAsm::get(llvm::FunctionType::get(i32, {f32, f32}, false), text, "=r,f,f", false),
      {before[1], before[0]});
}

Values KernelBuilder::forLoop(llvm::Value *low, llvm::Value *high, llvm::Value *step,
                              const Values &initial,
                              const std::function<Values(llvm::Value *, const Values &)> &body,
                              Unrolling unrolling) {
  auto block = [&](const char *name) {
    return llvm::BasicBlock::Create(context(), name, function);
  };
  llvm::BasicBlock *before = b.GetInsertBlock();
  llvm::BasicBlock *head = block("loop"), *inside = block("body"), *after = block("done");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode *counter = b.CreatePHI(low->getType(), 2);
  counter->addIncoming(low, before);
  std::vector<llvm::PHINode *> phis;
  for (llvm::Value *value : initial) {
    phis.push_back(b.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
  }
  Values carried(phis.begin(), phis.end());
  b.CreateCondBr(b.CreateICmpSLT(counter, high), inside, after);
  b.SetInsertPoint(inside);
  Values next = body(counter, carried);
  llvm::Value *nextCounter = b.CreateAdd(counter, step);
  llvm::BasicBlock *end = b.GetInsertBlock();
  counter->addIncoming(nextCounter, end);
  for (size_t i = 0; i < phis.size(); ++i)
    phis[i]->addIncoming(next[i], end);
  llvm::BranchInst *back = b.CreateBr(head);
  if (unrolling == Unrolling::Never) {
    llvm::MDNode *disable =
        llvm::MDNode::get(context(), llvm::MDString::get(context(), "llvm.loop.unroll.disable"));
    llvm::MDNode *loop = llvm::MDNode::getDistinct(context(), {nullptr, disable});
    loop->replaceOperandWith(0, loop); // refers to itself, so that it is distinct
    back->setMetadata(llvm::LLVMContext::MD_loop, loop);
  }
  b.SetInsertPoint(after);
  return carried;
}

void KernelBuilder::ifThenElse(llvm::Value *condition, const std::function<void()> &body,
                               const std::function<void()> &otherwise) {
  llvm::BasicBlock *then = llvm::BasicBlock::Create(context(), "then", function);
  llvm::BasicBlock *other = llvm::BasicBlock::Create(context(), "else", function);
  llvm::BasicBlock *after = llvm::BasicBlock::Create(context(), "endif", function);
  b.CreateCondBr(condition, then, other);
  b.SetInsertPoint(then);
  body();
  b.CreateBr(after);
  b.SetInsertPoint(other);
  otherwise();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

Values KernelBuilder::choose(llvm::Value *condition, const std::function<Values()> &body,
                             const std::function<Values()> &otherwise) {
  Values one, other;
  llvm::BasicBlock *endOfOne = nullptr, *endOfOther = nullptr;
  ifThenElse(
      condition,
      [&] {
        one = body();
        endOfOne = b.GetInsertBlock();
      },
      [&] {
        other = otherwise();
        endOfOther = b.GetInsertBlock();
      });
  Values result;
  for (size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
    llvm::PHINode *phi = b.CreatePHI(one[i]->getType(), 2);
    phi->addIncoming(one[i], endOfOne);
    phi->addIncoming(other[i], endOfOther);
    result.push_back(phi);
  }
  return result;
}

void KernelBuilder::ifThen(llvm::Value *condition, const std::function<void()> &body) {
  llvm::BasicBlock *then = llvm::BasicBlock::Create(context(), "then", function);
  llvm::BasicBlock *after = llvm::BasicBlock::Create(context(), "endif", function);
  b.CreateCondBr(condition, then, after);
  b.SetInsertPoint(then);
  body();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

} // namespace tilewright
