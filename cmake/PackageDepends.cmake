# Run by cpack: the newest version of libc that the program asks for.
execute_process(COMMAND ${CPACK_KVPLAN_OBJDUMP} -p ${CPACK_KVPLAN_BINARY} OUTPUT_VARIABLE needs COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "GLIBC_[0-9.]+" versions "${needs}")
# Needs that have no number, such as packed relocations, would stay out of the dependency.
if(needs MATCHES "GLIBC_ABI_[A-Z_]+")
  message(FATAL_ERROR "the program needs ${CMAKE_MATCH_0}, which the package's dependency on libc6 cannot say")
endif()
list(TRANSFORM versions REPLACE GLIBC_ "")
list(SORT versions COMPARE NATURAL ORDER DESCENDING)
list(GET versions 0 newest)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "libc6 (>= ${newest})")
