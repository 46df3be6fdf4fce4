#include "codegen/ptxas.h"
#include "codegen/target.h"
#include "codegen/testing/fake_ptxas.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(Target, OnesThatLlvmKnows) {
  for (const char *name : {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"}) {
    auto target = findTarget(name);
    ASSERT_TRUE(bool(target)) << llvm::toString(target.takeError());
    EXPECT_EQ(target->name, name);
    EXPECT_EQ(target->isSpecific, std::string_view(name) == "sm_90a");
  }
}

TEST(Target, UnknownNamesAreRefusedWithTheList) {
  for (const char *name : {"", "sm_70", "sm90", "sm_90A", "sm_80\n", "compute_80"}) {
    auto target = findTarget(name);
    ASSERT_FALSE(bool(target)) << name;
    Diag diag = takeDiag(target.takeError());
    EXPECT_EQ(diag.cls, DiagClass::BadInput);
    EXPECT_NE(diag.message.find("sm_90a"), std::string::npos) << diag.message;
  }
}

TEST(Target, NewTargetsEitherWorkOrSayWhatIsMissing) {
  for (const char *name :
       {"sm_88", "sm_100", "sm_100a", "sm_100f", "sm_103a", "sm_103f", "sm_110", "sm_110a",
        "sm_110f", "sm_120", "sm_120a", "sm_120f", "sm_121a", "sm_121f"}) {
    auto target = findTarget(name);
    if (target) {
      EXPECT_GE(newestLlvmPtx(), target->minimumPtx);
      EXPECT_EQ(target->isSpecific, name[std::strlen(name) - 1] == 'a') << name;
      EXPECT_EQ(target->isFamily, name[std::strlen(name) - 1] == 'f') << name;
      continue;
    }
    Diag diag = takeDiag(target.takeError());
    EXPECT_EQ(diag.cls, DiagClass::Unsupported);
    EXPECT_NE(diag.message.find("has no such target"), std::string::npos) << diag.message;
  }
}

TEST(Target, PtxOfCudaReleases) {
  EXPECT_EQ(ptxOfCudaRelease(11, 8), (PtxVersion{7, 8}));
  EXPECT_EQ(ptxOfCudaRelease(12, 0), (PtxVersion{8, 0}));
  EXPECT_EQ(ptxOfCudaRelease(12, 4), (PtxVersion{8, 4}));
  EXPECT_EQ(ptxOfCudaRelease(12, 6), (PtxVersion{8, 5}));
  EXPECT_EQ(ptxOfCudaRelease(12, 8), (PtxVersion{8, 7}));
  EXPECT_EQ(ptxOfCudaRelease(12, 9), (PtxVersion{8, 8}));
  EXPECT_EQ(ptxOfCudaRelease(13, 0), (PtxVersion{9, 0}));
  EXPECT_EQ(ptxOfCudaRelease(99, 9), (PtxVersion{9, 0}));
  EXPECT_EQ(ptxOfCudaRelease(10, 2), std::nullopt);
}

TEST(Target, VersionIsTheOldestOfAll) {
  Target sm86 = llvm::cantFail(findTarget("sm_86"));
  PtxReader llvm{"LLVM 19.1.7", {8, 5}};
  auto choose = [&](std::vector<PtxReader> others) {
    others.insert(others.begin(), llvm);
    return llvm::cantFail(choosePtxVersion(sm86, others));
  };
  EXPECT_EQ(choose({{"ptxas 11.8", {7, 8}}}).version, (PtxVersion{7, 8}));
  EXPECT_EQ(choose({{"ptxas 11.8", {7, 8}}}).reason,
            "PTX 7.8, the newest that ptxas 11.8 knows (LLVM 19.1.7: 8.5)");
  EXPECT_EQ(choose({{"ptxas 13.0", {9, 0}}}).version, (PtxVersion{8, 5}));
  EXPECT_EQ(choose({}).reason, "PTX 8.5, the newest that LLVM 19.1.7 knows");
  PtxChoice byDriver = choose({{"ptxas 13.0", {9, 0}}, {"the driver's CUDA 12.2", {8, 2}}});
  EXPECT_EQ(byDriver.version, (PtxVersion{8, 2}));
  EXPECT_EQ(byDriver.reason, "PTX 8.2, the newest that the driver's CUDA 12.2 knows "
                             "(LLVM 19.1.7: 8.5, ptxas 13.0: 9.0)");
}

TEST(Target, EmptyRangeNamesAllNumbers) {
  Target blackwell{"sm_100a", 100, true, false, {8, 6}};
  PtxReader readers[] = {{"LLVM 22.1", {9, 0}}, {"ptxas 12.6", {8, 5}}};
  auto version = choosePtxVersion(blackwell, readers);
  ASSERT_FALSE(bool(version));
  Diag diag = takeDiag(version.takeError());
  EXPECT_EQ(diag.cls, DiagClass::Unsupported);
  EXPECT_EQ(diag.message,
            "sm_100a needs PTX 8.6 or newer, but ptxas 12.6 knows up to 8.5 (LLVM 22.1: 9.0)");
}

TEST(Ptxas, ReleaseIsReadFromWhateverStandsAround) {
  EXPECT_EQ(parsePtxasRelease("ptxas: NVIDIA (R) Ptx optimizing assembler\n"
                              "Cuda compilation tools, release 12.4, V12.4.131\n"),
            (std::pair(12, 4)));
  EXPECT_EQ(parsePtxasRelease("warning: release notes changed\nrelease 11.8, V11.8.89"),
            (std::pair(11, 8)));
  EXPECT_EQ(parsePtxasRelease("tools V12.8.61"), (std::pair(12, 8)));
  for (const char *text : {"", "release", "release x.y", "release 12", "release -1.2",
                           "release 99999999999999999999.1", "12.4"})
    EXPECT_EQ(parsePtxasRelease(text), std::nullopt) << text;
}

TEST(Ptxas, LogIsTakenApart) {
  AssemblyReport report =
      parseAssemblyLog("ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
                       "    344 bytes stack frame, 644 bytes spill stores, 532 bytes spill loads\n"
                       "ptxas info    : Used 255 registers, used 1 barriers, 64 bytes smem\n"
                       "ptxas warning : something\n");
  EXPECT_EQ(report.registers, 255);
  EXPECT_EQ(report.spillStoreBytes, 644);
  EXPECT_EQ(report.spillLoadBytes, 532);
  EXPECT_EQ(report.staticSharedBytes, 64);
  EXPECT_EQ(report.warnings.size(), 1u);
}

TEST(Ptxas, TheOneOnPathIsHonoured) {
  FakePtxas fake("echo 'Cuda compilation tools, release 11.8, V11.8.89'\n");
  auto ptxas = findPtxas();
  ASSERT_TRUE(bool(ptxas)) << llvm::toString(ptxas.takeError());
  ASSERT_TRUE(ptxas->has_value());
  EXPECT_EQ((*ptxas)->newestPtx, (PtxVersion{7, 8}));
}

TEST(Ptxas, ATargetThatLlvmLacksIsRefusedWithEverybodysNumbers) {
  FakePtxas fake("echo 'Cuda compilation tools, release 12.6, V12.6.20'\n");
  for (const char *name : {"sm_100a", "sm_120a", "sm_121"}) {
    auto target = findTarget(name);
    if (target)
      continue; // a newer LLVM
    Diag diag = takeDiag(target.takeError());
    EXPECT_EQ(diag.cls, DiagClass::Unsupported);
    EXPECT_TRUE(diag.message.starts_with(std::string(name) + " needs PTX 8.")) << diag.message;
    EXPECT_NE(diag.message.find("has no such target and writes up to"), std::string::npos);
    EXPECT_NE(diag.message.find("; ptxas 12.6 reads up to 8.5"), std::string::npos) << diag.message;
  }
}

TEST(Ptxas, NonsenseIsRefused) {
  FakePtxas fake("echo 'Segmentation fault'; exit 3\n");
  auto ptxas = findPtxas();
  ASSERT_FALSE(bool(ptxas));
  EXPECT_EQ(takeDiag(ptxas.takeError()).cls, DiagClass::Unsupported);
}

TEST(Ptxas, RefusalOfTheAssemblerIsPassedOn) {
  FakePtxas fake("case $1 in --version) echo 'release 12.4, V12.4.131';; "
                 "*) echo 'ptxas fatal : bad thing'; exit 255;; esac\n");
  auto ptxas = llvm::cantFail(findPtxas());
  auto assembled = assemble(*ptxas, llvm::cantFail(findTarget("sm_80")), "nonsense");
  ASSERT_FALSE(bool(assembled));
  EXPECT_NE(takeDiag(assembled.takeError()).message.find("bad thing"), std::string::npos);
}

} // namespace
} // namespace tilewright
