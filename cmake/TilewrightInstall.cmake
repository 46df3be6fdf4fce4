# Installs the libraries as a CMake package: find_package(Tilewright) gives Tilewright::Tilewright,
# one target a folder, and Tilewright::c, the C interface.
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY TILEWRIGHT_LIBRARIES)
add_library(TilewrightAll INTERFACE)
add_library(Tilewright::Tilewright ALIAS TilewrightAll)
set_target_properties(TilewrightAll PROPERTIES EXPORT_NAME Tilewright)
target_link_libraries(TilewrightAll INTERFACE ${libraries})

# What is installed is built first, so that `cmake --install` works after a build of the program
# alone (scripts/quickstart.sh).
set(installed ${libraries})
list(APPEND installed tilewright tilewright-profile tilewright_c)
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
install(TARGETS tilewright_c EXPORT TilewrightCExports LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES tools/c_api/tilewright.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT TilewrightCExports NAMESPACE Tilewright:: DESTINATION ${package_dir})
install(TARGETS tilewright tilewright-profile RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${TILEWRIGHT_DATA_FOLDERS} DESTINATION ${CMAKE_INSTALL_DATADIR}/tilewright)
configure_package_config_file(cmake/TilewrightConfig.cmake.in
  ${CMAKE_BINARY_DIR}/TilewrightConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/TilewrightConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/TilewrightConfig.cmake
              ${CMAKE_BINARY_DIR}/TilewrightConfigVersion.cmake
              cmake/TilewrightDependencies.cmake DESTINATION ${package_dir})

# Documents; the man page and completions, which the program's help texts are made into.
set(doc_dir ${CMAKE_INSTALL_DATADIR}/doc/tilewright)
install(FILES README.md DESTINATION ${doc_dir})
install(DIRECTORY docs DESTINATION ${doc_dir})
install(DIRECTORY docs/schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/tilewright)
install(FILES LICENSE DESTINATION ${doc_dir} RENAME copyright)
set(made ${CMAKE_BINARY_DIR}/share)
install(CODE "execute_process(COMMAND \"${PROJECT_SOURCE_DIR}/scripts/help_texts.sh\"
                                      \"$<TARGET_FILE:tilewright>\" \"${made}\"
                              RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR \"the man page can't be made\")
endif()")
install(DIRECTORY ${made}/ DESTINATION ${CMAKE_INSTALL_DATADIR})

# The .deb, which `cpack` makes (scripts/package.sh).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tilewright)
set(CPACK_PACKAGE_CONTACT "Tilewright maintainers <maintainers@tilewright.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_FILE ${CMAKE_CURRENT_LIST_DIR}/description.txt)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
# What the static libraries and their headers need, beside what the program does.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "llvm-${LLVM_VERSION_MAJOR}-dev, libboost-dev, libeigen3-dev, libfmt-dev, nlohmann-json3-dev, libz3-dev, libisl-dev, libsqlite3-dev")
include(CPack)
