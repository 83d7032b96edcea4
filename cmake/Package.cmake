# `cpack -G DEB` in the build folder: kvplan_*.deb with the program, libkvplan-dev_*.deb with the library.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME kvplan)
set(CPACK_PACKAGE_VENDOR "the kvplan maintainers")
set(KVPLAN_MAINTAINER "The kvplan maintainers <kvplan@packages.invalid>" CACHE STRING "Maintainer of the Debian packages")
set(CPACK_PACKAGE_CONTACT ${KVPLAN_MAINTAINER})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_COMPONENTS_ALL runtime dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME kvplan)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION utils)
# kvplan loads libcurl at run time, for models of the Hub. The package has another name in Debian 13.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS "libcurl4 | libcurl4t64, ca-certificates")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION
"kvplan reads a model's metadata (config.json, GGUF, safetensors)
and gives every part of the memory with its formula: weights, KV cache,
activations and runtime, as the engine that you run takes them. It needs no
GPU, and a network only for models of the Hugging Face Hub.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libkvplan-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEV_DESCRIPTION
"The static library and the headers of kvplan, which says how much memory a
language model takes, for programs of one's own: find_package(kvplan).")

# The libc version that the binary needs is determined when it is packed.
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/PackageDepends.cmake)
set(CPACK_KVPLAN_BINARY ${CMAKE_CURRENT_BINARY_DIR}/kvplan)
set(CPACK_KVPLAN_OBJDUMP ${CMAKE_OBJDUMP})

# Debian requires each package's copyright and changelog beside it.
foreach(part runtime dev)
  string(TOUPPER ${part} upper)
  set(doc_dir ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/copyright DESTINATION ${doc_dir} COMPONENT ${part})
  if(KVPLAN_GZIP)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/changelog.gz DESTINATION ${doc_dir} COMPONENT ${part})
  endif()
endforeach()
if(KVPLAN_GZIP)
  configure_file(cmake/changelog.in changelog @ONLY)
  execute_process(COMMAND ${KVPLAN_GZIP} -9nf changelog WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
endif()

include(CPack)
