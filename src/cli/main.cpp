// Parses, runs the command, and turns any error into one line and an exit code.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string_view>

#include "base/os.h"
#include "cli/options.h"
#include "kvplan/error.h"

static int run_command(std::string_view name, const kvplan::Invocation& call) {
  for (const kvplan::Command& command : kvplan::commands())
    if (command.name == name) return command.run(call);
  return static_cast<int>(kvplan::Exit::kBadInput);
}

// The Python package has this command with more options. It passes the engine's figures back with --said.
static bool is_for_python(int argc, char** argv) {
  if (argc < 2 || argv[1] != std::string_view("verify")) return false;
  const auto is_ours = [](std::string_view word) {
    return word == "--help" || word == "-h" || word.starts_with("--said=");
  };
  return std::none_of(argv + 2, argv + argc, is_ours);
}

static int run(int argc, char** argv) {
  if (is_for_python(argc, argv)) {
    kvplan::os::become("kvplan-verify", argv[0], argv + 1);
    return run_command("verify", {});
  }
  const auto call = kvplan::parse_command_line(argc, argv);
  if (!call) return 0;
  return run_command(call->command, *call);
}

static int report(const char* line, kvplan::Exit code) {
  std::fprintf(stderr, "%s\n", line);
  return static_cast<int>(code);
}

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
