#include "codegen/microbenchmarks.h"

#include "analysis/import/import_file.h"
#include "analysis/tiling/plan_text.h"

namespace tilewright {

namespace {

constexpr int64_t multiprocessors = 132; // of the larger devices; sizes need not fit exactly
constexpr int64_t kib = 1 << 10, mib = 1 << 20;
const char *const sum = "sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                        "  ROOT c = f32[] add(a, b)\n}\n";

class Suite {
public:
  llvm::Expected<std::vector<KernelSpec>> build() {
    launches();
    streams();
    chases();
    chains();
    exchanges();
    dots();
    banks();
    strides();
    if (failure)
      return std::move(failure);
    return std::move(specs);
  }
  Suite() = default;
  Suite(const Suite &) = delete;
  ~Suite() { llvm::consumeError(std::move(failure)); }

private:
  /// `body` holds the lines of the entry, `extra` other computations.
  void add(const std::string &name, const std::string &body, const std::string &plan,
           const std::string &extra = "") {
    if (failure)
      return;
    std::string text = fmt::format("HloModule {}\n{}ENTRY e {{\n{}}}\n",
                                   name.substr(0, name.find('_')), extra, body);
    auto module =
        importBuffer(std::make_shared<SourceBuffer>("(micro-benchmark " + name + ")", text));
    if (!module) {
      failure = module.takeError();
      return;
    }
    auto made = planOfEntry(std::make_shared<const Module>(std::move(*module)));
    if (!made) {
      failure = made.takeError();
      return;
    }
    made->name = name;
    if (auto error = assignText(*made, plan)) {
      failure = makeError(DiagClass::Internal, "micro-benchmark {}: {}", name,
                          takeDiag(std::move(error)).message);
      return;
    }
    auto spec = specOf(*made);
    if (!spec) {
      failure = spec.takeError();
      return;
    }
    specs.push_back(std::move(*spec));
  }

  static std::string shape(const char *type, int64_t elements) {
    return fmt::format("{}[{}]", type, elements);
  }

  void launches() {
    for (int64_t grid : {int64_t(1), multiprocessors, 16 * multiprocessors}) {
      std::string s = shape("f32", 32 * grid);
      add(fmt::format("launch_{}", grid),
          fmt::format("  x = {} parameter(0)\n  ROOT y = {} negate(x)\n", s, s), "t0=32 warps=1");
    }
  }

  void streams() {
    for (int64_t bytes = 64 * kib; bytes <= 1024 * mib; bytes *= 4)
      for (int64_t warps : {1, 4, 8}) {
        std::string s = shape("f32", bytes / 4);
        std::string plan = fmt::format("t0={} warps={}", 32 * 8 * warps, warps);
        add(fmt::format("copy_{}KiB_{}w", bytes / kib, warps),
            fmt::format("  x = {} parameter(0)\n  ROOT y = {} negate(x)\n", s, s), plan);
        if (warps == 4)
          add(fmt::format("write_{}KiB", bytes / kib),
              fmt::format("  x = f32[] parameter(0)\n  ROOT y = {} broadcast(x), dimensions={{}}\n",
                          s),
              plan);
      }
    for (int64_t size : {1, 2, 4, 8, 16, 24, 32, 40, 48, 64, 256}) {
      int64_t rows = size * mib / 4 / 2048;
      add(fmt::format("read_{}MiB", size),
          fmt::format("  x = f32[{},2048] parameter(0)\n  z = f32[] constant(0)\n"
                      "  ROOT y = f32[{}] reduce(x, z), dimensions={{1}}, to_apply=sum\n",
                      rows, rows),
          "t0=1 r0=2048 warps=4", sum);
    }
  }

  void chases() {
    for (int64_t bytes : {16 * kib, 4 * mib, 32 * mib, 256 * mib})
      for (int links : {8, 32}) {
        int64_t elements = bytes / 4;
        std::string body =
            fmt::format("  t = s32[{}] parameter(0)\n  i0 = s32[] parameter(1)\n", elements);
        for (int i = 0; i < links; ++i) {
          bool isLast = i + 1 == links;
          body += fmt::format("  {}s{} = s32[1] dynamic-slice(t, i{}), "
                              "dynamic_slice_sizes={{1}}\n",
                              isLast ? "ROOT " : "", i, i);
          if (!isLast)
            body += fmt::format("  i{} = s32[] reshape(s{})\n", i + 1, i);
        }
        add(fmt::format("chase_{}KiB_{}", bytes / kib, links), body, "t0=1 warps=1");
      }
  }

  void chains() {
    struct Pipe {
      const char *name, *type;
      int length;
      /// Lines of step {0} from %v{0} to %v{1}, behind what makes the last one the root, {2}; {3}
      /// is the type with its shape, {4} the shape. None leaves a value that it would not change
      /// again.
      const char *step;
    };
    const Pipe pipes[] = {
        {"fma", "f32", 128, "  m{0} = {3} multiply(v{0}, k)\n  {2}v{1} = {3} add(m{0}, k)\n"},
        {"exp", "f32", 32, "  {2}v{1} = {3} exponential(v{0})\n"},
        {"rsqrt", "f32", 32, "  {2}v{1} = {3} rsqrt(v{0})\n"},
        {"tanh", "f32", 16, "  {2}v{1} = {3} tanh(v{0})\n"},
        {"select", "f32", 64,
         "  c{0} = pred{4} compare(v{0}, k), direction=LT\n  m{0} = {3} multiply(v{0}, k)\n"
         "  {2}v{1} = {3} select(c{0}, m{0}, k)\n"},
        {"convert", "f32", 32,
         "  m{0} = {3} multiply(v{0}, k)\n  h{0} = bf16{4} convert(m{0})\n"
         "  {2}v{1} = {3} convert(h{0})\n"},
        {"divide", "s32", 16, "  {2}v{1} = {3} divide(k, v{0})\n"}};
    for (const Pipe &pipe : pipes)
      for (int64_t warps : {1, 4, 16, 32})
        for (int64_t perThread : {1, 4}) {
          int64_t tile = 32 * warps * perThread;
          const std::string size = shape("", tile * multiprocessors), s = pipe.type + size;
          std::string body = fmt::format("  v0 = {0} parameter(0)\n  k = {0} parameter(1)\n", s);
          for (int i = 0; i < pipe.length; ++i)
            body += fmt::format(fmt::runtime(pipe.step), i, i + 1,
                                i + 1 == pipe.length ? "ROOT " : "", s, size);
          add(fmt::format("{}_{}w_{}", pipe.name, warps, perThread), body,
              fmt::format("t0={} warps={}", tile, warps));
        }
  }

  /// Sums of a row that its threads hold, each of what the last one left: by shuffles in a warp,
  /// and through shared memory between warps.
  void exchanges() {
    for (int64_t warps : {1, 4})
      for (int steps : {2, 8}) {
        const int64_t length = 4 * 32 * warps; // four elements a thread
        const std::string s = fmt::format("f32[{},{}]", multiprocessors, length);
        std::string body = fmt::format("  v0 = {} parameter(0)\n  z = f32[] constant(0)\n", s);
        for (int i = 0; i < steps; ++i)
          body += fmt::format("  r{0} = f32[{1}] reduce(v{0}, z), dimensions={{1}}, to_apply=sum\n"
                              "  b{0} = {2} broadcast(r{0}), dimensions={{0}}\n"
                              "  {3}v{4} = {2} subtract(v{0}, b{0})\n",
                              i, multiprocessors, s, i + 1 == steps ? "ROOT " : "", i + 1);
        add(fmt::format("{}_{}", warps == 1 ? "shuffle" : "exchange", steps), body,
            fmt::format("t0=1 t1={} warps={}", length, warps), sum);
      }
  }

  void dot(const std::string &name, int64_t m, int64_t k) {
    add(name,
        fmt::format("  a = bf16[{0},{1}] parameter(0)\n  b = bf16[{1},128] parameter(1)\n"
                    "  ROOT c = bf16[{0},128] dot(a, b), lhs_contracting_dims={{1}}, "
                    "rhs_contracting_dims={{0}}\n",
                    m, k),
        "t0=128 t1=128 k0=32 warps=4 stages=3 instruction=mma.sync");
  }

  void dots() {
    for (int64_t k = 64; k <= 8192; k *= 2)
      dot(fmt::format("loop_{}", k), 128, k);
    const int64_t sm = multiprocessors;
    for (int64_t tiles : {int64_t(1), sm / 2, sm - 1, sm, sm + 1, 3 * sm / 2, 2 * sm, 2 * sm + 1,
                          3 * sm, 3 * sm + 1, 4 * sm, 4 * sm + 1})
      dot(fmt::format("grid_{}", tiles), 128 * tiles, 1024);
  }

  /// K runs along the left operand's rows. Each thread stores four neighbours of K, so that the
  /// lanes of a warp, which hold the 32 fours of one row, are 4·T words apart.
  void banks() {
    for (int64_t rows : {33, 34, 36, 40})
      add(fmt::format("bank_{}", rows),
          fmt::format("  a = f32[{0},1024] parameter(0)\n  b = f32[1024,32] parameter(1)\n"
                      "  ROOT c = f32[{0},32] dot(a, b), lhs_contracting_dims={{1}}, "
                      "rhs_contracting_dims={{0}}\n",
                      multiprocessors * rows),
          fmt::format("t0={} t1=32 k0=128 warps=4 stages=1 instruction=fma", rows));
  }

  void strides() {
    constexpr int64_t elements = 4 * mib;
    for (int64_t stride : {1, 2, 4, 8, 16, 32})
      add(fmt::format("stride_{}", stride),
          fmt::format("  x = f32[{0}] parameter(0)\n"
                      "  ROOT y = f32[{1}] slice(x), slice={{[0:{0}:{2}]}}\n",
                      elements * stride, elements, stride),
          "t0=1024 warps=4");
  }

  std::vector<KernelSpec> specs;
  llvm::Error failure = llvm::Error::success();
};

} // namespace

llvm::Expected<std::vector<KernelSpec>> microbenchmarks() {
  Suite suite;
  return suite.build();
}

} // namespace tilewright
