#include "codegen/lower.h"
#include "codegen/nvptx.h"
#include "codegen/pack.h"
#include "codegen/pack_manifest.h"
#include "codegen/ptxas.h"
#include "codegen/testing/fake_ptxas.h"
#include "codegen/testing/lowering.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

namespace tilewright {
namespace {

const char *bytesToBf16 = R"(HloModule bytes_to_bf16
ENTRY main {
  q = s8[4096]{0} parameter(0)
  scale = bf16[4096]{0} parameter(1)
  v = bf16[4096]{0} convert(q)
  ROOT out = bf16[4096]{0} multiply(v, scale)
})";

const char *softmax = R"(HloModule softmax
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
max { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] maximum(a, b) }
ENTRY main {
  x = f32[16,1024] parameter(0)
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  m = f32[16] reduce(x, low), dimensions={1}, to_apply=max
  mb = f32[16,1024] broadcast(m), dimensions={0}
  d = f32[16,1024] subtract(x, mb)
  e = f32[16,1024] exponential(d)
  s = f32[16] reduce(e, zero), dimensions={1}, to_apply=add
  sb = f32[16,1024] broadcast(s), dimensions={0}
  ROOT y = f32[16,1024] divide(e, sb)
})";

const char *matmul = R"(HloModule matmul
ENTRY main {
  a = bf16[128,128] parameter(0)
  b = bf16[128,128] parameter(1)
  d = f32[128,128] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT h = bf16[128,128] convert(d)
})";

KernelSpec elementwiseSpec() {
  KernelSpec spec = specFromHlo(bytesToBf16, {2048}, 8);
  spec.name = "bytes to bf16";
  return spec;
}
KernelSpec reductionSpec() {
  KernelSpec spec = specFromHlo(softmax, {2, 1024}, 8);
  spec.name = "softmax";
  return spec;
}
KernelSpec dotSpec() {
  KernelSpec spec = specFromHlo(matmul, {64, 64}, 4);
  spec.name = "matmul";
  spec.sequential = {{"d", 0, 32}};
  spec.schedule.stages = 3;
  spec.schedule.instruction = Instruction::MmaSync;
  return spec;
}

std::string ptxOf(const KernelSpec &spec, const char *targetName) {
  Target target = llvm::cantFail(findTarget(targetName));
  auto kernel = lowerKernel(spec, CodeMode::Device);
  if (!kernel)
    return llvm::toString(kernel.takeError());
  auto ptx = emitPtx(*kernel, target, target.minimumPtx);
  return ptx ? *ptx : llvm::toString(ptx.takeError());
}

size_t count(const std::string &text, const std::string &what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1))
    ++found;
  return found;
}

TEST(Ptx, HasTheInstructionsThatWereMeant) {
  for (const char *target : {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"}) {
    std::string bytes = ptxOf(elementwiseSpec(), target);
    EXPECT_NE(bytes.find(std::string(".target ") + target), bytes.npos) << bytes;
    EXPECT_GE(count(bytes, "ld.global.nc.v2.u32") + count(bytes, "ld.global.nc.v8.u8") +
                  count(bytes, "ld.global.nc.v4"),
              1u)
        << bytes;
    EXPECT_GE(count(bytes, "st.global.v4"), 1u) << bytes;
    EXPECT_NE(bytes.find("cvt.rn.bf16"), bytes.npos);

    std::string rows = ptxOf(reductionSpec(), target);
    EXPECT_GE(count(rows, "ld.global.nc.v4."), 1u);
    EXPECT_NE(rows.find("shfl.sync.bfly"), rows.npos);
    EXPECT_NE(rows.find("ex2.approx"), rows.npos);

    std::string product = ptxOf(dotSpec(), target);
    EXPECT_NE(product.find("mma.sync.aligned.m16n8k16"), product.npos);
    EXPECT_NE(product.find("cp.async.cg.shared.global"), product.npos);
    EXPECT_NE(product.find("ldmatrix.sync.aligned.m8n8.x4"), product.npos);
    EXPECT_NE(product.find("ldmatrix.sync.aligned.m8n8.x4.trans"), product.npos);
    EXPECT_NE(product.find(".maxntid"), product.npos);
  }
}

TEST(Ptx, AssemblesWithoutSpillsWherePtxasIsFound) {
  auto ptxas = llvm::cantFail(findPtxas());
  if (!ptxas) {
    std::puts("no ptxas on this machine: assembling is not checked");
    return;
  }
  for (const char *name : {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"})
    for (const KernelSpec &spec : {elementwiseSpec(), reductionSpec(), dotSpec()}) {
      Target target = llvm::cantFail(findTarget(name));
      PtxVersion version = llvm::cantFail(findToolchain(target)).version;
      auto kernel = llvm::cantFail(lowerKernel(spec, CodeMode::Device));
      std::string ptx = llvm::cantFail(emitPtx(kernel, target, version));
      auto assembled = assemble(*ptxas, target, ptx);
      ASSERT_TRUE(bool(assembled)) << takeDiag(assembled.takeError()).message << "\n" << ptx;
      EXPECT_GT(assembled->report.registers, 0);
      EXPECT_EQ(assembled->report.spillStoreBytes, 0) << spec.name;
      EXPECT_EQ(assembled->cubin.substr(1, 3), "ELF");
    }
}

TEST(Pack, CaseOfBytesToBf16IsExact) {
  CheckOptions exact;
  exact.tolerance = 1e-12;
  expectPass(elementwiseSpec(), exact);
}

class PackFolder {
public:
  PackFolder() {
    EXPECT_FALSE(bool(llvm::sys::fs::createUniqueDirectory("tilewright-pack", folder)));
  }
  ~PackFolder() { llvm::sys::fs::remove_directories(folder); }
  std::string path(const char *name = "pack") const { return (folder + "/" + name).str(); }
  std::string read(const std::string &file) const {
    auto text = readFile(path() + "/" + file);
    return text ? *text : "cannot read " + file + llvm::toString(text.takeError());
  }

private:
  llvm::SmallString<128> folder;
};

TEST(Pack, RoundTrip) {
  PackFolder folder;
  Target target = llvm::cantFail(findTarget("sm_90"));
  KernelSpec tooBig = elementwiseSpec();
  tooBig.name = "refused";
  tooBig.schedule.splitK = 4;
  std::vector<KernelSpec> specs{elementwiseSpec(), reductionSpec(), tooBig, dotSpec()};
  auto emitted = emitPack(specs, target, folder.path());
  ASSERT_TRUE(bool(emitted)) << takeDiag(emitted.takeError()).message;
  ASSERT_EQ(emitted->size(), 4u);
  EXPECT_EQ((*emitted)[0].reason, "");
  EXPECT_NE((*emitted)[2].reason.find("split_k"), std::string::npos);

  auto checked = checkPack(folder.path());
  ASSERT_TRUE(bool(checked)) << takeDiag(checked.takeError()).message;
  EXPECT_TRUE(checked->passes());
  ASSERT_EQ(checked->kernels.size(), 3u);
  for (const CheckedKernel &kernel : checked->kernels)
    EXPECT_EQ(kernel.outcome.status, CheckOutcome::Status::Pass)
        << kernel.name << ": " << kernel.outcome.reason;

  // Emitting again replaces the pack by the same bytes.
  std::string manifest = folder.read("manifest.json"), cubin = folder.read("tw_matmul.cubin"),
              ptx = folder.read("tw_softmax.ptx");
  ASSERT_TRUE(bool(emitPack(specs, target, folder.path())));
  EXPECT_EQ(folder.read("manifest.json"), manifest);
  EXPECT_EQ(folder.read("tw_softmax.ptx"), ptx);
  EXPECT_EQ(folder.read("tw_matmul.cubin"), cubin);
}

TEST(Pack, PtxIsNoNewerThanTheAssemblerOnPath) {
  FakePtxas old("case $1 in --version) echo 'Cuda compilation tools, release 11.8, V11.8.89';; "
                "*) echo 'ptxas fatal   : not today'; exit 255;; esac\n");
  PackFolder folder;
  std::vector<KernelSpec> specs{elementwiseSpec()};
  auto emitted = emitPack(specs, llvm::cantFail(findTarget("sm_86")), folder.path());
  ASSERT_TRUE(bool(emitted)) << takeDiag(emitted.takeError()).message;
  // PTX is there also when assembling fails, with the reason.
  EXPECT_FALSE((*emitted)[0].hasCubin);
  EXPECT_NE((*emitted)[0].note.find("not today"), std::string::npos) << (*emitted)[0].note;
  std::string ptx = folder.read("tw_bytes_to_bf16.ptx");
  EXPECT_NE(ptx.find(".version 7.8\n.target sm_86"), ptx.npos) << ptx;

  auto refused = emitPack(specs, llvm::cantFail(findTarget("sm_90a")), folder.path("other"));
  ASSERT_FALSE(bool(refused));
  Diag diag = takeDiag(refused.takeError());
  EXPECT_EQ(diag.cls, DiagClass::Unsupported);
  for (const std::string &number : {std::string("8.0"), std::string("7.8"), newestLlvmPtx().str()})
    EXPECT_NE(diag.message.find(number), std::string::npos) << diag.message;
  EXPECT_FALSE(llvm::sys::fs::exists(folder.path("other")));
}

TEST(Pack, SomebodyElsesFolderIsLeftAlone) {
  PackFolder folder;
  llvm::cantFail(writeFileAtomically(folder.path("other"), "x"));
  Target target = llvm::cantFail(findTarget("sm_80"));
  std::vector<KernelSpec> none;
  std::string parent = folder.path("other").substr(0, folder.path("other").size() - 6);
  for (const std::string &where : {parent, folder.path("other"), std::string()}) {
    auto emitted = emitPack(none, target, where);
    ASSERT_FALSE(bool(emitted)) << where;
    EXPECT_EQ(takeDiag(emitted.takeError()).cls, DiagClass::BadInput);
  }
}

TEST(Pack, BadManifestsAreRefusedWithTheField) {
  Manifest good;
  good.target = "sm_80";
  good.ptxVersion = "7.0";
  good.llvm = "LLVM";
  ManifestKernel kernel;
  kernel.spec = elementwiseSpec();
  kernel.name = kernel.spec.name;
  kernel.llFile = kernel.ptxFile = "x";
  good.kernels.push_back(kernel);
  std::string text = printManifest(good);
  ASSERT_TRUE(bool(parseManifest("m", text)));
  struct Case {
    const char *from, *to, *expected;
  };
  for (const Case &each :
       {Case{"tilewright.pack", "other", "m:2:13: error: 'schema'"},
        Case{"\"schema_version\": 1", "\"schema_version\": 2", "m:3:21: error: 'schema_version'"},
        Case{"\"warps\": 8", "\"warps\": \"8\"", "'kernels[0].plan.warps'"},
        Case{"\"warps\": 8", "\"warps\": 1e99", "'kernels[0].plan.warps'"},
        Case{"\"fma\"", "\"magic\"", "'kernels[0].plan.instruction'"},
        Case{"\"kernels\"", "\"kernel\"", "'kernels'"}, Case{"%out =", "%out (", "hlo of"},
        Case{"{", "[", "JSON"}}) {
    std::string bad = text;
    size_t at = bad.find(each.from);
    ASSERT_NE(at, bad.npos) << each.from;
    bad.replace(at, std::string(each.from).size(), each.to);
    auto manifest = parseManifest("m", bad);
    ASSERT_FALSE(bool(manifest)) << each.to;
    std::string problem = takeDiag(manifest.takeError()).str();
    EXPECT_NE(problem.find(each.expected), problem.npos) << problem;
  }
  EXPECT_FALSE(bool(checkPack("no/such/folder")));
}

} // namespace
} // namespace tilewright
