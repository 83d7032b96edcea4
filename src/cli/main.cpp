// Parses, runs the command, and turns any error into one line and an exit code.
#include <cstdio>
#include <exception>
#include <new>
#include <string_view>

#include "base/os.h"
#include "cli/options.h"
#include "kvplan/error.h"

namespace {

int run(int argc, char** argv) {
  // What the Python package heard of the engine comes back with --said.
  const bool said = argc > 2 && std::string_view(argv[2]).starts_with("--said=");
  if (argc > 1 && argv[1] == std::string_view("verify") && !said) kvplan::os::become("kvplan-verify", argv[0], argv + 1);
  const auto call = kvplan::parse_command_line(argc, argv);
  if (!call) return 0;
  for (const kvplan::Command& command : kvplan::commands())
    if (command.name == call->command) return command.run(*call);
  return static_cast<int>(kvplan::Exit::kBadInput);
}

int report(const char* line, kvplan::Exit code) {
  std::fprintf(stderr, "%s\n", line);
  return static_cast<int>(code);
}

}  // namespace

int main(int argc, char** argv) {
  kvplan::os::prepare_streams();
  try {
    return run(argc, argv);
  } catch (const kvplan::Error& error) {
    return report(error.line().c_str(), error.code());
  } catch (const std::bad_alloc&) {
    return report("kvplan: out of memory; give a smaller input", kvplan::Exit::kBadInput);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kvplan: internal error (%s); please report it with the input\n", error.what());
    return static_cast<int>(kvplan::Exit::kBadInput);
  }
}
