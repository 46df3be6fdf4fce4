/* The C interface of Tilewright: one shared library, libtilewright, for C and for whatever calls C.
 *
 *   tw_session session;
 *   tw_text error;
 *   if (tw_open(TW_ABI_VERSION, NULL, &session, &error) != TW_OK)
 *     puts(tw_text_data(error));
 *
 * Handles are names of objects, not addresses: a null, freed or foreign one, or one of another
 * kind, is answered with TW_BAD_HANDLE. Every handle is given back with tw_free(); an object stays
 * as long as another needs it, so the order does not matter.
 *
 * Errors are values. A function that can fail returns a tw_status and takes a place for the text of
 * the error, last; the place may be NULL. The text is that of the command line, and is the caller's
 * to free. No exception leaves the library, and it prints nothing.
 *
 * All functions may be called from any thread. Questions to one kernel are answered one after
 * another.
 *
 * Additions keep TW_ABI_VERSION; anything else changes it, and tw_open() refuses another one. Units
 * stand in names; sizes are in elements. Functions that return JSON give the documents of
 * docs/formats.md. docs/c_api.md has a whole program. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TW_ABI_VERSION 1u

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TW_API __attribute__((visibility("default")))
#else
#define TW_API
#endif

typedef struct tw_session_handle *tw_session; /* a data folder */
typedef struct tw_text_handle *tw_text;       /* bytes with a 0 behind them */
typedef struct tw_model_handle *tw_model;     /* a module of ops */
typedef struct tw_device_handle *tw_device;   /* a device and its calibration */
typedef struct tw_kernel_handle *tw_kernel;   /* one kernel of a model on a device */
typedef struct tw_plans_handle *tw_plans;     /* plans of a kernel, found by a search */

/* Numbers of 32 bits, whose values later versions may add to. */
typedef int32_t tw_status;
enum {
  TW_OK = 0,
  TW_BAD_INPUT = 2,   /* the file, the name or the number is wrong */
  TW_UNSUPPORTED = 3, /* valid, and this version can't take it */
  TW_BUDGET = 4,      /* a search ended without an answer */
  TW_BAD_HANDLE = 5,  /* null, freed, foreign, or of another kind */
  TW_BAD_VERSION = 6, /* the header is of another version than the library */
  TW_NO_MEMORY = 7,
  TW_INTERNAL = 70 /* a bug of Tilewright */
};

/* Instruction of a kernel's dots. Kernels without a dot have TW_FMA alone. */
typedef int32_t tw_instruction;
enum {
  TW_ANY = -1, /* whichever serves; of tw_price() the first that the kernel has */
  TW_FMA = 0,
  TW_MMA_SYNC = 1,
  TW_WGMMA = 2
};

typedef int32_t tw_verdict;
enum { TW_NO = 0, TW_YES = 1, TW_UNKNOWN = 2 };

/* "0.1.0", and the TW_ABI_VERSION that the library was built with. */
TW_API const char *tw_version(void);
TW_API uint32_t tw_abi_version(void);

/* `data_folder` holds devices, calibrations and templates; NULL: $TILEWRIGHT_DATA, else the one
 * that was installed with the library. */
TW_API tw_status tw_open(uint32_t abi_version, const char *data_folder, tw_session *session,
                         tw_text *error);
/* Gives any handle back. NULL is fine. */
TW_API tw_status tw_free(void *handle);

/* The bytes of a text, which stay until it is freed; "" and 0 for no text. */
TW_API const char *tw_text_data(tw_text text);
TW_API size_t tw_text_size(tw_text text);

/* What there is by name: `what` is "devices", "calibrations" or "families". JSON. */
TW_API tw_status tw_list(tw_session session, const char *what, tw_text *json, tw_text *error);

/* A model file of any format that the command line takes; `module` says which of several, or is
 * NULL. */
TW_API tw_status tw_import_file(tw_session session, const char *path, const char *module,
                                tw_model *model, tw_text *error);
/* The same for `size` bytes in memory. `name` stands in messages. */
TW_API tw_status tw_import_bytes(tw_session session, const char *name, const char *bytes,
                                 size_t size, const char *module, tw_model *model, tw_text *error);
/* The kernel of a bundled family: "gemm", "m=4096 n=4096 k=4096 dtype=bf16". */
TW_API tw_status tw_import_family(tw_session session, const char *family, const char *arguments,
                                  tw_model *model, tw_text *error);
/* The model as HLO text, which reads back to the same. */
TW_API tw_status tw_model_text(tw_model model, tw_text *hlo, tw_text *error);

/* A device by name ("h100") or by the path of a .json file, with a calibration; NULL: the one of
 * the device's name, else none, and parameters are what the description says. */
TW_API tw_status tw_find_device(tw_session session, const char *device, const char *calibration,
                                tw_device *found, tw_text *error);
/* Its numbers with their units and sources, and what a reader of prices should know. JSON. */
TW_API tw_status tw_describe_device(tw_device device, tw_text *json, tw_text *error);

/* Kernels of a whole model with their best plans, as `tilewright explore --json` has them. `cache`
 * is what L2 holds when a kernel starts: "warm" (NULL), "clean" or "flushed". `top` plans are kept
 * a kernel, `budget` plans priced in each pass of a search; 0: 5 and 2000. JSON. */
TW_API tw_status tw_explore(tw_model model, tw_device device, const char *cache, size_t top,
                            size_t budget, unsigned jobs, tw_text *json, tw_text *error);

/* The kernel whose result is op `root`; NULL: the last of the model. */
TW_API tw_status tw_open_kernel(tw_model model, tw_device device, const char *root,
                                const char *cache, tw_kernel *kernel, tw_text *error);
/* {"name", "kind", "root_shape", "parameters": [{"name", "role": "parallel", "sequential" or
 * "schedule", "extent"}], "instructions", "lower_bound_ns"}. The order of parameters is that of
 * `values` everywhere. */
TW_API tw_status tw_describe_kernel(tw_kernel kernel, tw_text *json, tw_text *error);
/* The number of parameters; 0 for a bad handle. */
TW_API size_t tw_parameter_count(tw_kernel kernel);

/* Can these values be completed to a plan that is right and fits the device? 0 leaves a parameter
 * free; a tile over its dim stands for the whole dim. `why` may be NULL; where it is not and the
 * answer is not yes, it gets the reasons: a smallest set of constraints and choices that conflict,
 * a line each, else NULL. */
TW_API tw_status tw_feasible(tw_kernel kernel, tw_instruction instruction, const int64_t *values,
                             size_t count, tw_verdict *feasible, tw_text *why, tw_text *error);
/* The feasible point nearest to these values, written to `nearest`; TW_UNSUPPORTED if there is
 * none.
 */
TW_API tw_status tw_nearest(tw_kernel kernel, tw_instruction instruction, const int64_t *values,
                            size_t count, int64_t *nearest, tw_text *error);

/* Feasible plans in the order of the instructions, then of values, at most `limit` of them. Sizes
 * are powers of two and whole dims. `fixed`: as `values` above, or NULL. */
TW_API tw_status tw_enumerate(tw_kernel kernel, tw_instruction instruction, const int64_t *fixed,
                              size_t count, size_t limit, tw_plans *plans, tw_text *error);
/* The `top` fastest of them by predicted time, fastest first; `budget` as in tw_explore(). With
 * `schedules` of 0 one of each tile sizes, else also other schedules of the same. */
TW_API tw_status tw_search(tw_kernel kernel, tw_instruction instruction, const int64_t *fixed,
                           size_t count, size_t top, size_t budget, int32_t schedules,
                           tw_plans *plans, tw_text *error);
/* The number of plans; 0 for a bad handle. */
TW_API size_t tw_plans_size(tw_plans plans);
/* Copies them out: tw_plans_size() times tw_parameter_count() values, row by row, and as many
 * instructions and times. Times of an enumeration are NaN. Any place may be NULL. */
TW_API tw_status tw_copy_plans(tw_plans plans, int64_t *values, int32_t *instructions,
                               double *times_ns, tw_text *error);
/* {"raw", "feasible", "priced", "is_exhaustive", "is_complete", "refusal", "limiters"}: how much
 * was looked at, why there is no plan, and what limits each. */
TW_API tw_status tw_describe_plans(tw_plans plans, tw_text *json, tw_text *error);

/* Predicted times of `plans` plans of `count` values each, all of one instruction, to `times_ns`.
 * Infinity: can't be launched. Whether a plan is feasible otherwise is not looked at. */
TW_API tw_status tw_price(tw_kernel kernel, tw_instruction instruction, const int64_t *values,
                          size_t plans, size_t count, double *times_ns, tw_text *error);
/* The same for the kernels that another compiler makes of the plans: "triton". It chooses the
 * instruction of each, and its registers and shared memory decide what can be launched. */
TW_API tw_status tw_price_as(tw_kernel kernel, const char *compiler, const int64_t *values,
                             size_t plans, size_t count, double *times_ns, tw_text *error);
/* The price of one plan taken apart: terms, limiter, bytes, resources, error bars. JSON, as `price`
 * and `resources` of `tilewright tile --price --json`. */
TW_API tw_status tw_estimate(tw_kernel kernel, tw_instruction instruction, const int64_t *values,
                             size_t count, tw_text *json, tw_text *error);

/* PTX of a plan for a target ("sm_90a"). `folder`, where it is not NULL, gets a pack of it, as
 * `tilewright emit` writes one. TW_UNSUPPORTED where there is no code, with the reason. */
TW_API tw_status tw_emit(tw_kernel kernel, tw_instruction instruction, const int64_t *values,
                         size_t count, const char *target, const char *folder, tw_text *ptx,
                         tw_text *error);

#ifdef __cplusplus
}
#endif
