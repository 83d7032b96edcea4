// Calls llama-server's own parser to see whether it accepts an option. The parser is a C++ function of a library
// without headers, so options_taken.py loads this file together with the library. It is compiled for the library's
// string type.
#include <exception>
#include <map>
#include <string>
#include <vector>

namespace {

// common_params_to_map(argc, argv, program, options). The types of the map's entries are not known here, but an empty
// map is the same for all types. The map is never freed.
using Parser = bool (*)(int argc, char** argv, int program, void* options);

constexpr int kNotTaken = -1;
constexpr int kNotTold = -2;

// The parser's error for the words; nothing if it accepts them.
std::string against(Parser parser, int program, std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  try {
    parser(static_cast<int>(words.size()), arguments.data(), program, new std::map<int, int>);
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

// The number of values that the option takes (0 to 2); -1: it is not accepted; -2: another error.
extern "C" int values_of_option(void* function, int program, const char* option) {
  const auto parser = reinterpret_cast<Parser>(function);
  const auto has = [](const std::string& said, const char* words) { return said.find(words) != std::string::npos; };
  const std::string alone = against(parser, program, {"llama-server", option});
  if (alone.empty()) return 0;
  if (has(alone, "invalid argument")) return kNotTaken;
  if (!has(alone, "expected value")) return kNotTold;
  const std::string with_value = against(parser, program, {"llama-server", option, "1"});
  if (with_value.empty()) return 1;
  return has(with_value, "2 values") ? 2 : kNotTold;
}
