# Finds the libraries in the system's packages (scripts/setup installs them), or in the folder that packaging/sdist puts
# into a source distribution. Downloads nothing.
set(bundled ${PROJECT_SOURCE_DIR}/third_party)
set(only_bundled PATHS ${bundled} NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
if(NOT EXISTS ${bundled})
  set(only_bundled "")
endif()
foreach(package CLI11 fmt nlohmann_json)
  find_package(${package} QUIET ${only_bundled})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} was not found: run scripts/setup, which installs what kvplan is built with")
  endif()
endforeach()

# Uses fmt's headers without fmt::fmt (a shared library) and without FMT_HEADER_ONLY (which compiles all of fmt in every
# file that prints): src/report/fmt.cpp compiles fmt once. Commas group the digits of all printed numbers, in any
# locale.
add_library(kvplan_fmt INTERFACE)
target_include_directories(kvplan_fmt SYSTEM INTERFACE $<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>)
target_compile_definitions(kvplan_fmt INTERFACE "FMT_STATIC_THOUSANDS_SEPARATOR=','")
