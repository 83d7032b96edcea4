#include "base/library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "kvplan/error.h"

namespace kvplan {

Library::Library(const std::string& path, bool stays)
    : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | (stays ? RTLD_NODELETE : 0))) {
  if (handle_ != nullptr) return;
  const char* why = dlerror();
  error_ = one_line(why == nullptr ? path + " cannot be opened" : std::string(why), 200);
}

Library::~Library() {
  if (handle_ != nullptr) dlclose(handle_);
}

void* Library::symbol(const char* name) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

std::string environment_or(const char* variable, const char* fallback) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : fallback;
}

}  // namespace kvplan
