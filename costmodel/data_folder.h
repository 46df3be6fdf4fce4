// Where the bundled data is: devices, calibrations, templates, models.
#pragma once

#include <string>
#include <string_view>

/// Set by the installed CMake package for whoever links it: a program of its own has no data beside
/// it.
#ifndef TILEWRIGHT_INSTALLED_DATA
#define TILEWRIGHT_INSTALLED_DATA ""
#endif

namespace tilewright {

/// The folder of a part ("devices"), the first that exists: in $TILEWRIGHT_DATA if that is set, in
/// ./datasets, in the source tree around the program or in share/tilewright beside it or beside the
/// shared library that this is in, in `installed`. If there is none, datasets/PART, which the error
/// that follows names.
std::string dataFolder(std::string_view part,
                       std::string_view installed = TILEWRIGHT_INSTALLED_DATA);

} // namespace tilewright
