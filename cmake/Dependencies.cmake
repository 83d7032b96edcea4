# The three libraries, from the system's packages (scripts/setup installs them). Nothing is downloaded.
foreach(package fmt nlohmann_json doctest)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} was not found: run scripts/setup, which installs what kvplan is built with")
  endif()
endforeach()
