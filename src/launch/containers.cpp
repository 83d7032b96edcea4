#include "launch/containers.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

using nlohmann::json;
using std::string_view;

constexpr int kDeepest = 64;

// Options of docker run without a value. Any other option takes the next word, unless it has "=".
constexpr string_view kDockerSwitches =
    "--detach --interactive --tty --rm --privileged --init --read-only --publish-all --no-healthcheck "
    "--oom-kill-disable --sig-proxy --disable-content-trust --quiet --replace --tls-verify --help";

static bool is_switch(string_view option) {
  if (option.starts_with("--")) return has_word(kDockerSwitches, option.substr(0, option.find('=')));
  return option.substr(1).find_first_not_of("ditPq") == string_view::npos;  // "-it"
}

// docker's --gpus: "all", a number, or '"device=0,1"'.
static std::optional<std::uint64_t> gpus_of(string_view value) {
  std::string text(value);
  std::erase_if(text, [](char c) { return c == '"' || c == '\''; });
  if (const auto at = text.find("device="); at != std::string::npos)
    return static_cast<std::uint64_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), ',')) + 1;
  if (const auto at = text.find("count="); at != std::string::npos) text.erase(0, at + 6);
  const std::optional<std::uint64_t> count = whole_number(text);
  return count && *count > 0 ? count : std::nullopt;
}

static void assign(string_view text, Assignments& out) {
  const auto equals = text.find('=');
  if (equals != string_view::npos) out.emplace_back(text.substr(0, equals), text.substr(equals + 1));
}

static std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// A list of words; a string is a line of the shell.
static std::vector<ShellWord> words_of(const json& value) {
  std::vector<ShellWord> out;
  if (value.is_string()) {
    for (ShellCommand& command : read_shell(value.get<std::string>()).commands)
      std::move(command.words.begin(), command.words.end(), std::back_inserter(out));
  } else if (value.is_array()) {
    for (const json& word : value) out.push_back({text_of(word), {}});
  }
  return out;
}

// Kubernetes has a list of names and values, Compose an object or a list of "NAME=value".
static Assignments environment_of(const json& value) {
  Assignments out;
  if (value.is_object())
    for (const auto& [name, each] : value.items()) out.emplace_back(name, text_of(each));
  if (value.is_array())
    for (const json& each : value) {
      if (each.is_string()) assign(each.get<std::string>(), out);
      if (each.is_object() && each.contains("name") && each.contains("value"))
        out.emplace_back(text_of(each["name"]), text_of(each["value"]));
    }
  return out;
}

// In a manifest, $(NAME) is a variable of the container's environment.
static void substitute(const Assignments& environment, ShellWord& word) {
  for (std::size_t at = word.text.find("$("); at != std::string::npos; at = word.text.find("$(", at + 1)) {
    const std::size_t end = word.text.find(')', at);
    if (end == std::string::npos) return;
    const std::string name = word.text.substr(at + 2, end - at - 2);
    const auto known =
        std::find_if(environment.begin(), environment.end(), [&](const auto& each) { return each.first == name; });
    if (known == environment.end())
      word.unset.push_back(name);
    else
      word.text.replace(at, end - at + 1, known->second);
  }
}

static std::optional<std::uint64_t> gpus_of_container(const json& container) {
  for (const char* path : {"/resources/limits", "/resources/requests"}) {
    const json::json_pointer pointer(path);
    if (!container.contains(pointer) || !container[pointer].is_object()) continue;
    for (const auto& [name, value] : container[pointer].items())
      if (name.ends_with("/gpu")) return gpus_of(text_of(value));
  }
  return std::nullopt;
}

static void collect(const json& value, int depth, std::vector<Container>& out) {
  if (depth > kDeepest) return;
  const bool has_words =
      value.is_object() && (value.contains("command") || value.contains("args") || value.contains("entrypoint"));
  if (value.is_object() && value.contains("image") && value["image"].is_string() && has_words) {
    Container one{value["image"].get<std::string>(), {}, {}, gpus_of_container(value), {}};
    for (const char* key : {"env", "environment"})
      if (value.contains(key)) one.environment = environment_of(value[key]);
    for (const char* key : {"entrypoint", "command", "args"})
      if (value.contains(key))
        for (ShellWord& word : words_of(value[key])) one.arguments.push_back(std::move(word));
    for (ShellWord& word : one.arguments) substitute(one.environment, word);
    out.push_back(std::move(one));
    return;
  }
  if (value.is_structured())
    for (const json& each : value) collect(each, depth + 1, out);
}

std::optional<Container> read_docker_run(const std::vector<ShellWord>& words) {
  const auto run = std::find_if(words.begin(), words.end(), [](const ShellWord& word) { return word.text == "run"; });
  if (run == words.end() || run - words.begin() > 2) return std::nullopt;
  Container out;
  auto at = run + 1;
  for (; at != words.end() && at->text.starts_with('-'); ++at) {
    const string_view option = at->text;
    if (is_switch(option)) continue;
    const auto equals = option.find('=');
    const string_view name = option.substr(0, equals);
    const bool is_inside = equals != string_view::npos && option.starts_with("--");
    if (!is_inside && ++at == words.end()) return std::nullopt;
    const string_view value = is_inside ? option.substr(equals + 1) : string_view(at->text);
    if (name == "-e" || name == "--env") assign(value, out.environment);
    if (name == "--gpus") out.gpus = gpus_of(value);
    if (name == "--entrypoint") out.arguments.push_back({std::string(value), {}});
  }
  if (at == words.end()) return std::nullopt;
  out.image = at->text;
  if (out.arguments.empty()) out.starter.assign(words.begin(), at + 1);
  out.arguments.insert(out.arguments.end(), at + 1, words.end());
  return out;
}

std::vector<Container> read_containers(string_view text) {
  std::vector<Container> out;
  const json value = json::parse(text, nullptr, false, true);
  if (value.is_discarded())
    fail("the text starts with a bracket but is not valid JSON", "give a shell command, or fix the JSON");
  collect(value, 0, out);
  return out;
}

std::string release_of_image(string_view image) {
  const auto colon = image.rfind(':');
  if (colon == string_view::npos || image.find('/', colon) != string_view::npos) return "";
  string_view tag = image.substr(colon + 1);
  if (const auto dash = tag.find("-v"); dash != string_view::npos && !tag.starts_with('v')) tag = tag.substr(dash + 1);
  if (tag.starts_with("server-cuda-b") || tag.starts_with("server-b")) tag = tag.substr(tag.rfind("-b") + 1);
  const bool is_build = tag.size() > 1 && tag[0] == 'b' && tag.find_first_not_of("0123456789", 1) == string_view::npos;
  if (is_build) return std::string(tag);
  if (tag.starts_with('v')) tag.remove_prefix(1);
  std::string out(tag.substr(0, tag.find_first_not_of("0123456789.")));
  while (out.ends_with('.')) out.pop_back();
  return std::count(out.begin(), out.end(), '.') == 0 || out.starts_with('.') ? "" : out;
}

}  // namespace kvplan
