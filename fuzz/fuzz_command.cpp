// Any text may contain commands of engines, and every command is read or refused.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "answer.h"
#include "launch/read_command.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  kvplan::fuzz::answer([&] {
    for (kvplan::LaunchCommand& command : kvplan::find_commands(text))
      kvplan::fuzz::answer([&] {
        const kvplan::ReadCommand read = kvplan::read_command(std::move(command), "");
        if (read.settings.model.empty()) __builtin_trap();
        kvplan::edited_command(read, {{"--max-model-len", "4096"}});
      });
  });
  return 0;
}
