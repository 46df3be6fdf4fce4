// The Python extension: tilewright.h with arrays, and statuses as exceptions. What is pythonic is
// in tilewright/*.py; nothing here decides anything.
#include "tools/c_api/tilewright.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace {

/// An object of the library, freed with its last reference.
class Handle {
public:
  explicit Handle(void *handle) : handle(handle) {}
  Handle(Handle &&other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
  Handle(const Handle &) = delete;
  ~Handle() { tw_free(handle); }

  template <class T> T as() const { return static_cast<T>(handle); }

private:
  void *handle;
};

/// A text that is freed at the end of its scope.
struct Text {
  tw_text handle = nullptr;
  Text() = default;
  Text(const Text &) = delete;
  ~Text() { tw_free(handle); }
  std::string str() const { return {tw_text_data(handle), tw_text_size(handle)}; }
};

using Values = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// Calls the library without the interpreter's lock; raises the exception of the status.
template <class Call> void run(const Call &call) {
  Text error;
  tw_status status;
  {
    nb::gil_scoped_release release;
    status = call(&error.handle);
  }
  if (status == TW_OK)
    return;
  nb::object exception = nb::module_::import_("tilewright.errors")
                             .attr("exception_of")(static_cast<int>(status), error.str());
  PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

template <class T, class Call> Handle opened(const Call &call) {
  T handle = nullptr;
  run([&](tw_text *error) { return call(&handle, error); });
  return Handle(handle);
}

template <class Call> std::string textFrom(const Call &call) {
  Text text;
  run([&](tw_text *error) { return call(&text.handle, error); });
  return text.str();
}

const char *orNull(const std::optional<std::string> &text) {
  return text ? text->c_str() : nullptr;
}

tw_instruction asInstruction(int number) { return static_cast<tw_instruction>(number); }

template <class T>
nb::ndarray<nb::numpy, T> arrayOf(std::vector<T> &&from, std::initializer_list<size_t> shape) {
  auto *kept = new std::vector<T>(std::move(from));
  nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
  return nb::ndarray<nb::numpy, T>(kept->data(), shape, owner);
}

// -- what the module has ---------------------------------------------------------------------

Handle open(uint32_t version, const std::optional<std::string> &folder) {
  return opened<tw_session>([&](tw_session *session, tw_text *error) {
    return tw_open(version, orNull(folder), session, error);
  });
}

Handle importFile(const Handle &session, const std::string &path,
                  const std::optional<std::string> &module) {
  return opened<tw_model>([&](tw_model *model, tw_text *error) {
    return tw_import_file(session.as<tw_session>(), path.c_str(), orNull(module), model, error);
  });
}

Handle importBytes(const Handle &session, const std::string &name, nb::bytes bytes,
                   const std::optional<std::string> &module) {
  const char *data = bytes.c_str();
  const size_t size = bytes.size();
  return opened<tw_model>([&](tw_model *model, tw_text *error) {
    return tw_import_bytes(session.as<tw_session>(), name.c_str(), data, size, orNull(module),
                           model, error);
  });
}

Handle importFamily(const Handle &session, const std::string &family,
                    const std::string &arguments) {
  return opened<tw_model>([&](tw_model *model, tw_text *error) {
    return tw_import_family(session.as<tw_session>(), family.c_str(), arguments.c_str(), model,
                            error);
  });
}

Handle findDevice(const Handle &session, const std::string &name,
                  const std::optional<std::string> &calibration) {
  return opened<tw_device>([&](tw_device *device, tw_text *error) {
    return tw_find_device(session.as<tw_session>(), name.c_str(), orNull(calibration), device,
                          error);
  });
}

Handle openKernel(const Handle &model, const Handle &device, const std::optional<std::string> &root,
                  const std::string &cache) {
  return opened<tw_kernel>([&](tw_kernel *kernel, tw_text *error) {
    return tw_open_kernel(model.as<tw_model>(), device.as<tw_device>(), orNull(root), cache.c_str(),
                          kernel, error);
  });
}

nb::tuple feasible(const Handle &kernel, int instruction, Values values, bool inWords) {
  tw_verdict verdict = TW_UNKNOWN;
  Text why;
  const int64_t *data = values.data();
  const size_t count = values.size();
  run([&](tw_text *error) {
    return tw_feasible(kernel.as<tw_kernel>(), asInstruction(instruction), data, count, &verdict,
                       inWords ? &why.handle : nullptr, error);
  });
  return nb::make_tuple(static_cast<int>(verdict), why.str());
}

nb::ndarray<nb::numpy, int64_t> nearest(const Handle &kernel, int instruction, Values values) {
  std::vector<int64_t> to(tw_parameter_count(kernel.as<tw_kernel>()));
  const int64_t *data = values.data();
  const size_t count = values.size();
  run([&](tw_text *error) {
    return tw_nearest(kernel.as<tw_kernel>(), asInstruction(instruction), data, count, to.data(),
                      error);
  });
  const size_t size = to.size();
  return arrayOf(std::move(to), {size});
}

Handle enumeratePlans(const Handle &kernel, int instruction, Values fixed, size_t limit) {
  const int64_t *data = fixed.data();
  const size_t count = fixed.size();
  return opened<tw_plans>([&](tw_plans *plans, tw_text *error) {
    return tw_enumerate(kernel.as<tw_kernel>(), asInstruction(instruction), data, count, limit,
                        plans, error);
  });
}

Handle searchPlans(const Handle &kernel, int instruction, Values fixed, size_t top, size_t budget,
                   bool schedules) {
  const int64_t *data = fixed.data();
  const size_t count = fixed.size();
  return opened<tw_plans>([&](tw_plans *plans, tw_text *error) {
    return tw_search(kernel.as<tw_kernel>(), asInstruction(instruction), data, count, top, budget,
                     schedules ? 1 : 0, plans, error);
  });
}

/// Values of shape (plans, parameters), instructions, times.
nb::tuple copyPlans(const Handle &plans, size_t parameters) {
  const size_t size = tw_plans_size(plans.as<tw_plans>());
  std::vector<int64_t> values(size * parameters);
  std::vector<int32_t> instructions(size);
  std::vector<double> times(size);
  run([&](tw_text *error) {
    return tw_copy_plans(plans.as<tw_plans>(), values.data(), instructions.data(), times.data(),
                         error);
  });
  return nb::make_tuple(arrayOf(std::move(values), {size, parameters}),
                        arrayOf(std::move(instructions), {size}),
                        arrayOf(std::move(times), {size}));
}

nb::ndarray<nb::numpy, double> price(const Handle &kernel, int instruction, Rows rows) {
  const size_t size = rows.shape(0), count = rows.shape(1);
  const int64_t *data = rows.data();
  std::vector<double> times(size);
  run([&](tw_text *error) {
    return tw_price(kernel.as<tw_kernel>(), asInstruction(instruction), data, size, count,
                    times.data(), error);
  });
  return arrayOf(std::move(times), {size});
}

nb::ndarray<nb::numpy, double> priceAs(const Handle &kernel, const std::string &compiler,
                                       Rows rows) {
  const size_t size = rows.shape(0), count = rows.shape(1);
  const int64_t *data = rows.data();
  std::vector<double> times(size);
  run([&](tw_text *error) {
    return tw_price_as(kernel.as<tw_kernel>(), compiler.c_str(), data, size, count, times.data(),
                       error);
  });
  return arrayOf(std::move(times), {size});
}

std::string estimate(const Handle &kernel, int instruction, Values values) {
  const int64_t *data = values.data();
  const size_t count = values.size();
  return textFrom([&](tw_text *json, tw_text *error) {
    return tw_estimate(kernel.as<tw_kernel>(), asInstruction(instruction), data, count, json,
                       error);
  });
}

std::string emitPlan(const Handle &kernel, int instruction, Values values,
                     const std::string &target, const std::optional<std::string> &folder) {
  const int64_t *data = values.data();
  const size_t count = values.size();
  return textFrom([&](tw_text *ptx, tw_text *error) {
    return tw_emit(kernel.as<tw_kernel>(), asInstruction(instruction), data, count, target.c_str(),
                   orNull(folder), ptx, error);
  });
}

} // namespace

NB_MODULE(_native, module) {
  module.attr("ABI_VERSION") = TW_ABI_VERSION;
  module.def("version", [] { return std::string(tw_version()); });
  nb::class_<Handle>(module, "Handle");
  module.def("open", &open, nb::arg("abi_version"), nb::arg("data_folder").none());
  module.def("list_named", [](const Handle &session, const std::string &what) {
    return textFrom([&](tw_text *json, tw_text *error) {
      return tw_list(session.as<tw_session>(), what.c_str(), json, error);
    });
  });
  module.def("import_file", &importFile, nb::arg("session"), nb::arg("path"),
             nb::arg("module").none());
  module.def("import_bytes", &importBytes, nb::arg("session"), nb::arg("name"), nb::arg("data"),
             nb::arg("module").none());
  module.def("import_family", &importFamily);
  module.def("model_text", [](const Handle &model) {
    return textFrom([&](tw_text *hlo, tw_text *error) {
      return tw_model_text(model.as<tw_model>(), hlo, error);
    });
  });
  module.def("find_device", &findDevice, nb::arg("session"), nb::arg("name"),
             nb::arg("calibration").none());
  module.def("describe_device", [](const Handle &device) {
    return textFrom([&](tw_text *json, tw_text *error) {
      return tw_describe_device(device.as<tw_device>(), json, error);
    });
  });
  module.def("explore", [](const Handle &model, const Handle &device, const std::string &cache,
                           size_t top, size_t budget, unsigned jobs) {
    return textFrom([&](tw_text *json, tw_text *error) {
      return tw_explore(model.as<tw_model>(), device.as<tw_device>(), cache.c_str(), top, budget,
                        jobs, json, error);
    });
  });
  module.def("open_kernel", &openKernel, nb::arg("model"), nb::arg("device"),
             nb::arg("root").none(), nb::arg("cache"));
  module.def("describe_kernel", [](const Handle &kernel) {
    return textFrom([&](tw_text *json, tw_text *error) {
      return tw_describe_kernel(kernel.as<tw_kernel>(), json, error);
    });
  });
  module.def("feasible", &feasible);
  module.def("nearest", &nearest);
  module.def("enumerate_plans", &enumeratePlans);
  module.def("search_plans", &searchPlans);
  module.def("copy_plans", &copyPlans);
  module.def("describe_plans", [](const Handle &plans) {
    return textFrom([&](tw_text *json, tw_text *error) {
      return tw_describe_plans(plans.as<tw_plans>(), json, error);
    });
  });
  module.def("price", &price);
  module.def("price_as", &priceAs);
  module.def("estimate", &estimate);
  module.def("emit_plan", &emitPlan, nb::arg("kernel"), nb::arg("instruction"), nb::arg("values"),
             nb::arg("target"), nb::arg("folder").none());
}
