# Helpers that give each folder one library, and each library its tests.
include(GoogleTest)

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
# Linking LLVM and compiling Eigen at once is what fills a small machine's memory.
set_property(GLOBAL PROPERTY JOB_POOLS link=1)
set(CMAKE_JOB_POOL_LINK link)

# Headers are a third of the time that a build from nothing takes. Names in anonymous namespaces must
# therefore differ within a folder.
if(TILEWRIGHT_UNITY)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)
endif()

# tilewright_cold(TARGET …)
# Code that reads, writes and decides but has no loop that anybody waits for: at -O1 it compiles in
# two thirds of the time.
function(tilewright_cold)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endforeach()
endfunction()

add_library(tilewright_flags INTERFACE)
target_compile_options(tilewright_flags INTERFACE -Wall -Wextra -Wno-unused-parameter)
# False alarms where a file is included: the preset dev, one file at a time, has the true ones.
if(TILEWRIGHT_UNITY)
  target_compile_options(tilewright_flags INTERFACE -Wno-subobject-linkage -Wno-unused-function)
endif()
if(TILEWRIGHT_SANITIZE)
  add_compile_options(-fsanitize=${TILEWRIGHT_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TILEWRIGHT_SANITIZE})
endif()

# tilewright_library(NAME SOURCES a.cpp … HEADERS a.h … LIBS Tilewright::Ir …)
# The library of one folder: target Tilewright<NAME>, alias Tilewright::<NAME>. Headers are
# included from the repository root ("analysis/ir/op.h") and installed with that path.
function(tilewright_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;LIBS;PRIVATE_LIBS" ${ARGN})
  set(target Tilewright${name})
  add_library(${target} STATIC ${ARG_SOURCES} ${ARG_HEADERS})
  add_library(Tilewright::${name} ALIAS ${target})
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/tilewright>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC ${ARG_LIBS})
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:tilewright_flags> ${ARG_PRIVATE_LIBS})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY TILEWRIGHT_LIBRARIES ${target})
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  foreach(header ${ARG_HEADERS}) # some lie in rooms of their folder
    get_filename_component(room ${folder}/${header} DIRECTORY)
    install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tilewright/${room})
  endforeach()
endfunction()

# tilewright_test(NAME SOURCES a_test.cpp … LIBS … [LABELS unit|property|error|golden|soak])
# One test executable; each TEST becomes one CTest test. Tests run from the source directory, so
# that "datasets/models/x.hlo.txt" is found.
function(tilewright_test name)
  if(NOT TILEWRIGHT_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gtest_main tilewright_flags)
  tilewright_cold(${name})
  # Values are left out of test names: bytes of a struct hold addresses, which change by the run.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES
                       WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTIES LABELS "${ARG_LABELS}")
endfunction()
