# Finds what Tilewright builds on. Included by the build and by the installed package, so that
# both agree on versions.
include(CMakeFindDependencyMacro)

# Debian's LLVM package refuses "find_package(LLVM 19)", so it is asked for without a version and
# checked here. Newest first; LLVM_DIR overrides.
set(TILEWRIGHT_LLVM_MINIMUM 19)
if(NOT LLVM_DIR)
  foreach(version 22 21 20 19)
    if(EXISTS /usr/lib/llvm-${version}/lib/cmake/llvm/LLVMConfig.cmake)
      set(LLVM_DIR /usr/lib/llvm-${version}/lib/cmake/llvm CACHE PATH "LLVM's CMake package")
      break()
    endif()
  endforeach()
endif()
find_package(LLVM REQUIRED CONFIG)
if(LLVM_VERSION_MAJOR LESS TILEWRIGHT_LLVM_MINIMUM)
  message(FATAL_ERROR "LLVM ${TILEWRIGHT_LLVM_MINIMUM} or newer is needed, found ${LLVM_VERSION} "
                      "in ${LLVM_DIR}; set LLVM_DIR")
endif()

if(NOT TARGET Tilewright::llvm)
  add_library(Tilewright::llvm INTERFACE IMPORTED)
  separate_arguments(tilewright_llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
  set_target_properties(Tilewright::llvm PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${LLVM_INCLUDE_DIRS}"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${LLVM_INCLUDE_DIRS}"
    INTERFACE_COMPILE_OPTIONS "${tilewright_llvm_definitions}"
    INTERFACE_LINK_LIBRARIES LLVM
    INTERFACE_LINK_DIRECTORIES "${LLVM_LIBRARY_DIRS}")
endif()

find_package(Boost 1.74 REQUIRED)
find_package(Eigen3 3.3 REQUIRED NO_MODULE)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
find_package(ONNX 1.12 REQUIRED CONFIG)

# Debian's libz3-dev ships no CMake package.
find_path(Z3_INCLUDE_DIR z3++.h)
find_library(Z3_LIBRARY z3)
if(NOT Z3_INCLUDE_DIR OR NOT Z3_LIBRARY)
  message(FATAL_ERROR "Z3 was not found (Debian: libz3-dev)")
endif()
if(NOT TARGET Tilewright::z3)
  add_library(Tilewright::z3 UNKNOWN IMPORTED)
  set_target_properties(Tilewright::z3 PROPERTIES
    IMPORTED_LOCATION ${Z3_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${Z3_INCLUDE_DIR})
endif()

# Nor does libisl-dev.
find_path(ISL_INCLUDE_DIR isl/set.h)
find_library(ISL_LIBRARY isl)
if(NOT ISL_INCLUDE_DIR OR NOT ISL_LIBRARY)
  message(FATAL_ERROR "isl was not found (Debian: libisl-dev)")
endif()
if(NOT TARGET Tilewright::isl)
  add_library(Tilewright::isl UNKNOWN IMPORTED)
  set_target_properties(Tilewright::isl PROPERTIES
    IMPORTED_LOCATION ${ISL_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${ISL_INCLUDE_DIR})
endif()
