// A library that is opened at run time, so that the program also runs without it.
#pragma once

#include <string>

namespace kvplan {

class Library {
 public:
  // `stays`: once opened it stays loaded, because drivers keep threads.
  explicit Library(const std::string& path, bool stays = false);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  explicit operator bool() const { return handle_ != nullptr; }
  const std::string& error() const { return error_; }  // why it could not be opened, in one line

  template <class Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  void* handle_;
  std::string error_;
};

// The value of an environment variable, or `fallback` if it is unset or empty.
std::string environment_or(const char* variable, const char* fallback);

}  // namespace kvplan
