# Installs the libraries as a CMake package: find_package(Tilewright) gives Tilewright::Tilewright
# and one target a folder.
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY TILEWRIGHT_LIBRARIES)
add_library(TilewrightAll INTERFACE)
add_library(Tilewright::Tilewright ALIAS TilewrightAll)
set_target_properties(TilewrightAll PROPERTIES EXPORT_NAME Tilewright)
target_link_libraries(TilewrightAll INTERFACE ${libraries})

# What is installed is built first, so that `cmake --install` works after a build of the program
# alone (scripts/quickstart.sh).
set(installed ${libraries})
if(TARGET tilewright)
  list(APPEND installed tilewright tilewright-profile)
endif()
add_custom_target(installed DEPENDS ${installed})
install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" --build \"${CMAKE_BINARY_DIR}\" --target installed
                              RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR \"what is to be installed can't be built\")
endif()")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Tilewright)
install(TARGETS ${libraries} TilewrightAll EXPORT TilewrightExports
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT TilewrightExports NAMESPACE Tilewright:: DESTINATION ${package_dir})
if(TARGET tilewright)
  install(TARGETS tilewright tilewright-profile RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY ${TILEWRIGHT_DATA_FOLDERS} DESTINATION ${CMAKE_INSTALL_DATADIR}/tilewright)
configure_package_config_file(cmake/TilewrightConfig.cmake.in
  ${CMAKE_BINARY_DIR}/TilewrightConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/TilewrightConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/TilewrightConfig.cmake
              ${CMAKE_BINARY_DIR}/TilewrightConfigVersion.cmake
              cmake/TilewrightDependencies.cmake DESTINATION ${package_dir})
