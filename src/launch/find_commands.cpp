#include "launch/find_commands.h"

#include <algorithm>
#include <iterator>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "launch/containers.h"

namespace kvplan {

namespace {

using std::string_view;

constexpr std::size_t kMostText = std::size_t{1} << 20;
constexpr std::size_t kMostCommands = 64;
constexpr int kDeepestShell = 4;  // bash -c "bash -c ..."

// Programs whose arguments may name an engine but that do not start it.
constexpr string_view kOthers =
    "echo printf which whereis pip pip3 pipx conda apt apt-get brew cd ls cp mv rm ln git cmake make pkill kill "
    "killall "
    "chmod chown curl wget grep tail cat man type huggingface-cli hf scp rsync tar unzip mkdir";

struct Start {
  const Engine* engine = nullptr;
  std::size_t program = 0, arguments = 0;  // indices of words
};

Start start_at(const std::vector<ShellWord>& words, std::size_t at) {
  for (const Engine& engine : engines())
    for (const string_view program : engine.command.programs) {
      const std::vector<string_view> parts = split(program);
      if (at + parts.size() > words.size() || (words[at].text != parts[0] && program_name(words[at].text) != parts[0]))
        continue;
      std::size_t same = 1;
      while (same < parts.size() && words[at + same].text == parts[same]) ++same;
      if (same == parts.size()) return {&engine, at, at + parts.size()};
    }
  return {};
}

bool is_in(string_view words, string_view name) {
  const std::vector<string_view> all = split(words);
  return std::any_of(all.begin(), all.end(), [&](string_view each) { return name.find(each) != string_view::npos; });
}

class Finder {
 public:
  void shell(const ShellText& text, const Assignments& outer, int depth) {
    for (const ShellCommand& command : text.commands) {
      Assignments environment = outer;
      const bool may_start = !has_word(kOthers, program_name(command.words.front().text));
      if (!may_start) continue;
      context_ = &text;
      count_ = command.exported;
      environment_of(command, environment);
      words(command.words, environment, depth);
    }
  }

  void words(const std::vector<ShellWord>& words, const Assignments& environment, int depth) {
    for (std::size_t at = 0; at < words.size(); ++at) {
      const string_view name = program_name(words[at].text);
      if (name == "docker" || name == "podman" || name == "nerdctl") {
        const std::vector<ShellWord> rest(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
        if (const std::optional<Container> found = read_docker_run(rest)) return container(*found, environment, depth);
      }
      if ((name == "bash" || name == "sh" || name == "zsh") && depth < kDeepestShell)
        for (std::size_t next = at + 1; next + 1 < words.size() && words[next].text.starts_with('-'); ++next)
          if (words[next].text.find('c') != std::string::npos)
            return shell(read_shell(words[next + 1].text), environment, depth + 1);
      // What these start is a separate text.
      if (has_word("ssh tmux screen su runuser", name) && depth < kDeepestShell)
        for (std::size_t next = at + 1; next < words.size(); ++next)
          if (words[next].text.find(' ') != std::string::npos)
            shell(read_shell(words[next].text), environment, depth + 1);
      const Start start = start_at(words, at);
      if (start.engine == nullptr) continue;
      LaunchCommand& found = add(*start.engine, environment);
      for (std::size_t before = 0; before < at; ++before) assignment(words[before].text, found.environment);
      found.words.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
      found.arguments = start.arguments - at;
      return;
    }
  }

  void container(const Container& found, const Assignments& outer, int depth) {
    Assignments environment = outer;
    environment.insert(environment.end(), found.environment.begin(), found.environment.end());
    const std::size_t before = out.size();
    words(found.arguments, environment, depth);
    const string_view image = std::string_view(found.image).substr(0, found.image.rfind(':'));
    if (out.size() == before) {
      const auto engine = std::find_if(engines().begin(), engines().end(),
                                       [&](const Engine& each) { return is_in(each.command.images, image); });
      if (engine == engines().end() || found.arguments.empty()) return;
      LaunchCommand& command = add(*engine, environment);
      command.words = found.arguments;
      command.container = "docker run ... " + found.image + " ";
    }
    for (std::size_t i = before; i < out.size(); ++i) {
      out[i].gpus = found.gpus;
      out[i].is_rocm = lower(found.image).find("rocm") != std::string::npos;
      const EngineCommand& own = out[i].engine->command;
      if (is_in(own.images, image) || is_in(own.images_with_program, image))
        out[i].release = release_of_image(found.image);
    }
  }

  LaunchCommand& add(const Engine& engine, const Assignments& environment) {
    if (out.size() == kMostCommands) fail("the text has more than 64 engine commands", "give fewer at a time");
    LaunchCommand& found = out.emplace_back();
    found.engine = &engine;
    found.environment = environment;
    return found;
  }

  std::vector<LaunchCommand> out;

 private:
  static void assignment(string_view word, Assignments& out) {
    const auto equals = word.find('=');
    if (equals == string_view::npos || equals == 0 || word[0] == '-') return;
    if (word.substr(0, equals).find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != string_view::npos) return;
    out.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }

  void environment_of(const ShellCommand& command, Assignments& out_of) const {
    const auto end = context_->environment.begin() + static_cast<std::ptrdiff_t>(count_);
    out_of.insert(out_of.end(), context_->environment.begin(), end);
    out_of.insert(out_of.end(), command.own.begin(), command.own.end());
  }

  const ShellText* context_ = nullptr;
  std::size_t count_ = 0;
};

// A Modelfile: FROM, and PARAMETER or another of its instructions.
void read_modelfile(string_view text, Finder& finder) {
  std::string model;
  std::vector<ShellWord> words;
  const auto runner =
      std::find_if(engines().begin(), engines().end(), [](const Engine& each) { return each.wraps_engine; });
  for (const string_view word : split(runner->command.programs.front())) words.push_back({std::string(word), {}});
  bool is_ours = false, in_text = false;
  for (const string_view line : split(text, '\n')) {
    const std::size_t quotes = line.find("\"\"\"");
    const bool closes = quotes != string_view::npos && line.find("\"\"\"", quotes + 3) != string_view::npos;
    if (std::exchange(in_text, in_text != (quotes != string_view::npos && !closes))) continue;
    const string_view plain = trimmed(line);
    const auto space = plain.find_first_of(" \t");
    if (space == string_view::npos) continue;
    const std::string verb = lower(plain.substr(0, space));
    const string_view rest = trimmed(plain.substr(space));
    if (verb == "from") model = rest;
    is_ours = is_ours || verb == "parameter" || verb == "template" || verb == "system" || verb == "adapter";
    if (verb == "run" || verb == "cmd" || verb == "copy" || verb == "entrypoint") return;  // a Dockerfile
    if (verb != "parameter") continue;
    const auto end = rest.find_first_of(" \t");
    if (end == string_view::npos) continue;
    words.push_back({std::string(rest.substr(0, end)), {}});
    words.push_back({std::string(trimmed(rest.substr(end))), {}});
  }
  if (model.empty() || !is_ours) return;
  words.push_back({model, {}});
  finder.words(words, {}, 0);
}

bool is_yaml(string_view text) {
  for (const string_view line : split(text, '\n'))
    for (const string_view key : {"services:", "apiVersion:", "containers:", "version: '", "version: \""})
      if (trimmed(line).starts_with(key)) return true;
  return false;
}

// "# vllm serve ..." at a root prompt, which is a comment to a shell.
std::string without_prompts(string_view text) {
  std::string out;
  for (const string_view line : split(text, '\n')) {
    const string_view plain = trimmed(line);
    out += std::string(plain.starts_with("# ") ? plain.substr(2) : plain) + "\n";
  }
  return out;
}

}  // namespace

string_view program_name(string_view word) {
  word = word.substr(std::min(word.find_last_of("/\\") + 1, word.size()));
  return word.ends_with(".exe") ? word.substr(0, word.size() - 4) : word;
}

std::vector<LaunchCommand> find_commands(string_view text) {
  if (text.size() > kMostText) fail("the text is longer than 1 MiB", "give only the command");
  Finder finder;
  const string_view plain = trimmed(text);
  if (plain.starts_with('{') || plain.starts_with('[')) {
    for (const Container& each : read_containers(plain)) finder.container(each, {}, 0);
  } else {
    finder.shell(read_shell(text), {}, 0);
    if (finder.out.empty()) read_modelfile(text, finder);
    if (finder.out.empty() && is_yaml(text))
      fail("the text is YAML, which kvplan does not read",
           "convert it to JSON: docker compose config --format json, kubectl get -o json, or yq -o json");
    if (finder.out.empty()) finder.shell(read_shell(without_prompts(text)), {}, 0);
  }
  if (finder.out.empty())
    fail("no engine command in the text",
         "write one such as vllm serve MODEL, sglang serve, llama-server -m FILE or docker run IMAGE");
  return std::move(finder.out);
}

std::vector<LaunchCommand> find_commands(const std::vector<std::string>& words) {
  if (words.size() == 1) return find_commands(string_view(words.front()));
  Finder finder;
  ShellText text;
  ShellCommand& command = text.commands.emplace_back();
  for (const std::string& word : words) {
    const auto equals = word.find('=');
    const bool assigns = command.words.empty() && equals != std::string::npos && equals > 0 && word[0] != '-' &&
                         word.find_first_of("/\\.:") > equals;
    if (assigns)
      command.own.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    else
      command.words.push_back({word, {}});
  }
  if (!command.words.empty()) finder.shell(text, {}, 0);
  return std::move(finder.out);
}

}  // namespace kvplan
