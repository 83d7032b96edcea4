# Run by cpack: the newest version of libc that the program asks for.
execute_process(COMMAND ${CPACK_KVPLAN_OBJDUMP} -T ${CPACK_KVPLAN_BINARY} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "GLIBC_[0-9.]+" versions "${symbols}")
list(TRANSFORM versions REPLACE GLIBC_ "")
list(SORT versions COMPARE NATURAL ORDER DESCENDING)
list(GET versions 0 newest)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "libc6 (>= ${newest})")
