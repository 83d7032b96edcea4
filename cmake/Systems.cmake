# Code that depends on the operating system has one source for POSIX and one for Windows (src/base/os.h). Only the Linux
# program measures devices and watches engines, and the Windows program has no libcurl for the Hub. On other systems, a
# substitute source reports this.
function(sources_of_this_system sources)
  set(measuring "cli/(measuring|watch_command)|measure/(child_process|detect|device|gpu_api|gpu_device|\
host_device|measure|memory_counter|nvml|proc|rehearsal|watch|watch_report)")
  set(out ${${sources}})
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    list(FILTER out EXCLUDE REGEX "/src/cli/no_measuring\\.cpp$")
  else()
    list(FILTER out EXCLUDE REGEX "/src/(${measuring})\\.cpp$")
  endif()
  if(WIN32)
    list(FILTER out EXCLUDE REGEX "/src/(base/(library|os_posix)|sources/hub_curl)\\.cpp$")
  else()
    list(FILTER out EXCLUDE REGEX "/src/(base/os_windows|sources/no_hub)\\.cpp$")
  endif()
  set(${sources} ${out} PARENT_SCOPE)
endfunction()
