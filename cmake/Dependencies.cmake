# The libraries, from the system's packages (scripts/setup installs them). Nothing is downloaded.
foreach(package CLI11 fmt nlohmann_json)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} was not found: run scripts/setup, which installs what kvplan is built with")
  endif()
endforeach()
