#include "profiler/pack_reader.h"

#include "analysis/support/folder_digest.h"
#include "analysis/support/json_place.h"
#include "profiler/text.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

namespace tilewright::profile {

namespace {

using Json = nlohmann::ordered_json;
constexpr uint64_t maxManifestBytes = 256u << 20, maxCodeBytes = 64u << 20;
constexpr size_t maxListed = 1 << 20;
constexpr unsigned maxDepth = 32;

/// Brackets nest no deeper than `most`.
bool isShallow(const std::string &text, unsigned most) {
  unsigned depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > most)
        return false;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return true;
}

/// ":LINE:COLUMN" of a byte.
std::string placeText(std::string_view text, size_t offset) {
  std::string_view before = text.substr(0, offset);
  size_t line = before.rfind('\n') + 1; // 0 in the first line
  return ":" + std::to_string(1 + std::count(before.begin(), before.end(), '\n')) + ":" +
         std::to_string(before.size() - line + 1);
}

/// The first thing that is wrong with a manifest, and where.
struct Problem {
  std::string path, message;
  explicit operator bool() const { return !message.empty(); }
};

/// Fields of one object; the first problem is kept, and later reads give zeros.
class Fields {
public:
  Fields(const Json &object, std::string where, Problem &problem)
      : object(object.is_object() ? object : empty()), where(std::move(where)), problem(problem) {
    if (!object.is_object())
      complain("", "is not an object");
  }

  bool has(const char *name) const { return object.contains(name) && !object[name].is_null(); }
  const Json &raw(const char *name) const {
    auto at = object.find(name);
    static const Json nothing;
    return at == object.end() ? nothing : *at;
  }
  std::string text(const char *name) {
    const Json &value = raw(name);
    if (value.is_string())
      return value.get<std::string>();
    complain(name, "is not a string");
    return "";
  }
  std::string textOr(const char *name, const char *otherwise) {
    return has(name) ? text(name) : otherwise;
  }
  bool flagOr(const char *name, bool otherwise) {
    if (!has(name))
      return otherwise;
    if (raw(name).is_boolean())
      return raw(name).get<bool>();
    complain(name, "is neither true nor false");
    return otherwise;
  }
  double number(const char *name) {
    if (raw(name).is_number())
      return raw(name).get<double>();
    complain(name, "is not a number");
    return 0;
  }
  int64_t integer(const char *name, int64_t least, int64_t most) {
    return integerOf(raw(name), name, least, most);
  }
  std::vector<int64_t> integers(const char *name, int64_t least, int64_t most) {
    std::vector<int64_t> result;
    for (const Json &item : list(name))
      result.push_back(integerOf(item, name, least, most));
    return result;
  }
  /// Numbers, where "nan", "inf" and "-inf" stand for what JSON can't say.
  std::vector<double> numbers(const char *name) {
    std::vector<double> result;
    for (const Json &item : list(name)) {
      if (item.is_number())
        result.push_back(item.get<double>());
      else if (item == "nan")
        result.push_back(std::numeric_limits<double>::quiet_NaN());
      else if (item == "inf" || item == "-inf")
        result.push_back(item == "inf" ? std::numeric_limits<double>::infinity()
                                       : -std::numeric_limits<double>::infinity());
      else
        complain(name, "holds something that is not a number");
    }
    return result;
  }
  DType dtype(const char *name) {
    auto type = parseDType(text(name));
    if (type && bitWidth(*type) > 0)
      return *type;
    complain(name, "is not an element type");
    return DType::F32;
  }
  const Json &list(const char *name) {
    static const Json nothing = Json::array();
    const Json &value = raw(name);
    if (value.is_array() && value.size() <= maxListed)
      return value;
    complain(name, value.is_array() ? "is too long a list" : "is not a list");
    return nothing;
  }
  /// Calls `each` with the objects of a list that need not be there.
  template <typename Each> void objects(const char *name, Each each) {
    if (!has(name))
      return;
    size_t i = 0;
    for (const Json &item : list(name))
      each(Fields(item, where + name + "[" + std::to_string(i++) + "].", problem));
  }
  Fields inner(const char *name) { return Fields(raw(name), where + name + ".", problem); }

  void complain(const std::string &name, const std::string &what) {
    if (!problem)
      problem = {where + name, "'" + where + name + "' " + what};
  }

private:
  static const Json &empty() {
    static const Json nothing = Json::object();
    return nothing;
  }
  int64_t integerOf(const Json &value, const char *name, int64_t least, int64_t most) {
    bool fits = value.is_number_integer() &&
                !(value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(INT64_MAX));
    int64_t result = fits ? value.get<int64_t>() : 0;
    if (fits && result >= least && result <= most)
      return result;
    complain(name, fits ? "is " + std::to_string(result) + ", allowed are " +
                              std::to_string(least) + " to " + std::to_string(most)
                        : "is not a whole number");
    return least;
  }

  const Json &object;
  std::string where;
  Problem &problem;
};

constexpr int64_t maxElements = int64_t(1) << 40;

PackParameter readParameter(Fields f) {
  PackParameter result;
  result.name = f.text("name");
  std::string role = f.text("role");
  result.isOutput = role == "output";
  if (role != "output" && role != "input")
    f.complain("role", "is neither input nor output");
  result.dtype = f.dtype("dtype");
  result.dims = f.integers("dims", 0, maxElements);
  result.elements = 1;
  for (int64_t dim : result.dims)
    if (__builtin_mul_overflow(result.elements, dim, &result.elements) ||
        result.elements > maxElements) {
      f.complain("dims", "have more than 2^40 elements");
      result.elements = 0;
    }
  result.minorToMajor =
      f.integers("minor_to_major", 0, std::max<int64_t>(int64_t(result.dims.size()) - 1, 0));
  std::vector<bool> seen(result.dims.size());
  for (int64_t dim : result.minorToMajor)
    if (static_cast<size_t>(dim) < seen.size())
      seen[static_cast<size_t>(dim)] = true;
  if (result.minorToMajor.size() != result.dims.size() ||
      std::find(seen.begin(), seen.end(), false) != seen.end())
    f.complain("minor_to_major", "does not name every dim once");
  result.bytes = static_cast<uint64_t>(packedBytes(result.dtype, result.elements).value_or(0));
  if (f.has("range")) {
    std::vector<int64_t> range = f.integers("range", INT64_MIN, INT64_MAX);
    if (range.size() != 2 || range[0] > range[1])
      f.complain("range", "is not two numbers in order");
    else
      result.range = {true, range[0], range[1]};
  }
  return result;
}

PackTensorMap readTensorMap(Fields f, size_t parameters) {
  PackTensorMap map;
  map.parameter = static_cast<size_t>(f.integer("parameter", 0, int64_t(parameters) - 1));
  map.offsetBytes = static_cast<uint64_t>(f.integer("offset_bytes", 0, maxElements));
  map.dtype = f.dtype("dtype");
  for (int64_t dim : f.integers("dims", 1, UINT32_MAX))
    map.dims.push_back(static_cast<uint64_t>(dim));
  for (int64_t stride : f.integers("strides_bytes", 0, maxElements))
    map.strides.push_back(static_cast<uint64_t>(stride));
  for (int64_t size : f.integers("box", 1, 256))
    map.box.push_back(static_cast<uint32_t>(size));
  map.swizzleBytes = static_cast<uint32_t>(f.integer("swizzle_bytes", 0, 128));
  if (map.dims.empty() || map.dims.size() > 5 || map.strides.size() + 1 != map.dims.size() ||
      map.box.size() != map.dims.size())
    f.complain("dims", "has not 1 to 5 dims, with as many box sizes and one stride fewer");
  return map;
}

void readGeometry(Fields &f, LaunchGeometry &geometry) {
  auto three = [&](const char *name, int64_t most, unsigned *to) {
    std::vector<int64_t> values = f.integers(name, 1, most);
    if (values.size() != 3)
      f.complain(name, "must have three numbers");
    for (size_t i = 0; i < 3 && i < values.size(); ++i)
      to[i] = static_cast<unsigned>(values[i]);
  };
  three("grid", INT32_MAX, geometry.grid);
  three("block", 1024, geometry.block);
  geometry.sharedBytes = static_cast<unsigned>(f.integer("dynamic_shared_bytes", 0, 1 << 20));
}

PackKernel readKernel(Fields f) {
  PackKernel kernel;
  kernel.name = f.text("name");
  kernel.kind = f.text("kind");
  kernel.entry = f.text("entry");
  kernel.problem = f.textOr("problem", "");
  kernel.planHash = f.textOr("plan_hash", "");
  kernel.plan = f.textOr("plan_text", "");
  readGeometry(f, kernel.geometry);
  Fields files = f.inner("files");
  kernel.ptxFile = files.text("ptx");
  kernel.cubinFile = files.textOr("cubin", "");
  f.list("parameters");
  f.objects("parameters", [&](Fields each) { kernel.parameters.push_back(readParameter(each)); });
  f.objects("workspaces", [&](Fields each) {
    kernel.workspaces.push_back({each.text("name"),
                                 static_cast<uint64_t>(each.integer("bytes", 0, maxElements)),
                                 each.flagOr("zeroed", false)});
  });
  f.objects("tensor_maps", [&](Fields each) {
    kernel.tensorMaps.push_back(readTensorMap(each, kernel.parameters.size()));
  });
  kernel.seed = static_cast<uint64_t>(f.inner("fill").integer("seed", 0, INT64_MAX));
  kernel.tolerance = f.number("tolerance");
  if (f.has("work")) {
    Fields work = f.inner("work");
    kernel.work =
        PackWork{work.number("flops"), work.flagOr("tensor_cores", false), work.dtype("dtype"),
                 work.number("read_bytes"), work.number("write_bytes")};
  }
  if (kernel.planHash.empty())
    kernel.planHash = kernel.name;
  return kernel;
}

/// Expectations of a problem, by number of the output.
struct ProblemExpectations {
  std::vector<PackExpectation> outputs;
  std::string unchecked;
};

ProblemExpectations readExpectations(Fields f) {
  ProblemExpectations result;
  result.unchecked = f.textOr("unchecked", "");
  f.objects("expected", [&](Fields each) {
    PackExpectation expectation;
    expectation.parameter = static_cast<size_t>(each.integer("output", 0, 1000));
    expectation.positions = each.integers("positions", 0, maxElements);
    expectation.values = each.numbers("values");
    expectation.scale = each.number("scale");
    if (expectation.positions.size() != expectation.values.size())
      each.complain("values", "are not as many as the positions");
    result.outputs.push_back(std::move(expectation));
  });
  return result;
}

/// Gives a kernel the expectations of its problem; outputs are counted apart from inputs.
void expect(PackKernel &kernel, const ProblemExpectations &problem, Problem &complaint) {
  if (complaint)
    return;
  kernel.unchecked = problem.unchecked;
  std::vector<size_t> outputs;
  for (size_t i = 0; i < kernel.parameters.size(); ++i)
    if (kernel.parameters[i].isOutput)
      outputs.push_back(i);
  for (PackExpectation expectation : problem.outputs) {
    if (expectation.parameter >= outputs.size()) {
      complaint = {"problems", "problem " + kernel.problem + " expects more outputs than '" +
                                   kernel.name + "' has"};
      return;
    }
    expectation.parameter = outputs[expectation.parameter];
    int64_t elements = kernel.parameters[expectation.parameter].elements;
    for (int64_t position : expectation.positions)
      if (position >= elements) {
        complaint = {"problems", "problem " + kernel.problem + " expects element " +
                                     std::to_string(position) + " of " + std::to_string(elements)};
        return;
      }
    kernel.expectations.push_back(std::move(expectation));
  }
}

} // namespace

Result<Pack> parsePack(const std::string &file, const std::string &text) {
  auto refuse = [&](const std::string &why) {
    return Failure{FailureKind::BadInput, file + ": " + why};
  };
  if (!isShallow(text, maxDepth))
    return refuse("nested deeper than " + std::to_string(maxDepth) + " levels");
  Json root;
  try {
    root = Json::parse(text);
  } catch (const Json::parse_error &error) {
    return Failure{FailureKind::BadInput,
                   file + placeText(text, error.byte ? error.byte - 1 : 0) + ": not valid JSON"};
  } catch (const Json::exception &) {
    return refuse("a number is too large");
  }
  Problem problem;
  Fields f(root, "", problem);
  if (f.text("schema") != "tilewright.pack")
    f.complain("schema", "is not tilewright.pack");
  if (!problem && f.integer("schema_version", 0, INT32_MAX) != 1)
    f.complain("schema_version", "is not 1; use the tilewright-profile that came with the pack's "
                                 "tilewright");
  Pack pack;
  pack.hash = hashText(text);
  pack.target = f.text("target");
  pack.isSpecific = f.flagOr("architecture_specific", false);
  std::map<std::string, ProblemExpectations> expectations;
  f.objects("problems", [&](Fields each) {
    PackProblem known{each.text("hash"), each.text("hlo")};
    expectations[known.hash] = readExpectations(each);
    pack.problems.push_back(std::move(known));
  });
  f.list("kernels");
  f.objects("kernels", [&](Fields each) {
    PackKernel kernel = readKernel(each);
    auto known = expectations.find(kernel.problem);
    if (known != expectations.end())
      expect(kernel, known->second, problem);
    if (kernel.expectations.empty() && kernel.unchecked.empty())
      kernel.unchecked = "the pack says nothing of what must come out";
    pack.kernels.push_back(std::move(kernel));
  });
  if (problem)
    return Failure{FailureKind::BadInput,
                   file + placeText(text, jsonPlace(text, problem.path)) + ": " + problem.message};
  std::map<std::string, std::string> names; // plan hash -> kernel
  for (const PackKernel &kernel : pack.kernels)
    if (auto [at, isNew] = names.emplace(kernel.planHash, kernel.name); !isNew)
      return refuse("kernels '" + at->second + "' and '" + kernel.name + "' are the same plan");
  return pack;
}

Result<Pack> readPack(const std::string &folder) {
  std::string file = folder + "/manifest.json";
  auto text = readTextFile(file, maxManifestBytes);
  if (!text)
    return Failure{FailureKind::BadInput, text.failure().message + "; a pack is a folder that "
                                                                   "tilewright emit wrote"};
  Result<Pack> pack = parsePack(file, *text);
  if (!pack)
    return pack;
  if (auto problems = folderProblems(folder); !problems.empty()) {
    std::string message = folder + ": is not as tilewright emit wrote it: " + problems[0];
    if (problems.size() > 1)
      message += " (and " + std::to_string(problems.size() - 1) + " more)";
    return Failure{FailureKind::BadInput, message};
  }
  pack->folder = folder;
  return pack;
}

Result<std::vector<char>> readCode(const Pack &pack, const PackKernel &kernel, bool asPtx) {
  const std::string &name = kernel.cubinFile.empty() || asPtx ? kernel.ptxFile : kernel.cubinFile;
  // A name with a separator could lead out of the folder.
  if (name.empty() || name.find('/') != std::string::npos)
    return Failure{FailureKind::Kernel, "'" + name + "' is not a file of the pack"};
  auto text = readTextFile(pack.folder + "/" + name, maxCodeBytes);
  if (!text)
    return Failure{FailureKind::Kernel, text.failure().message};
  std::vector<char> code(text->begin(), text->end());
  code.push_back('\0');
  return code;
}

Result<bool> needsPtx(const Pack &pack, const GpuInfo &gpu) {
  std::string device = "sm_" + std::to_string(gpu.major) + std::to_string(gpu.minor);
  auto refuse = [&](const std::string &why) {
    return Failure{FailureKind::NoGpu, pack.folder + " is for " + pack.target + ", and " +
                                           gpu.name + " is " + device + ": " + why +
                                           "; emit it with --target " + device};
  };
  if (pack.target.size() < 5 || pack.target.compare(0, 3, "sm_") != 0)
    return refuse("no such target");
  int number = 0;
  for (size_t i = 3; i < pack.target.size() && pack.target[i] >= '0' && pack.target[i] <= '9'; ++i)
    number = std::min(number * 10 + (pack.target[i] - '0'), 100000);
  int major = number / 10, minor = number % 10;
  if (pack.isSpecific && (major != gpu.major || minor != gpu.minor))
    return refuse("that code runs on its own architecture alone");
  if (pack.target.back() == 'f' && major != gpu.major)
    return refuse("that code runs on its own family alone");
  if (major > gpu.major || (major == gpu.major && minor > gpu.minor))
    return refuse("the device is older");
  return major < gpu.major;
}

} // namespace tilewright::profile
