#include "launch/find_commands.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "launch/containers.h"

namespace kvplan {

namespace {

using std::string_view;

constexpr std::size_t kMostText = std::size_t{1} << 20;
constexpr std::size_t kMostCommands = 64;
constexpr int kDeepestShell = 4;  // bash -c "bash -c ..."

// Programs whose arguments may name an engine, but which do not start it.
constexpr string_view kOthers =
    "echo printf which whereis pip pip3 conda apt apt-get brew cd ls cp mv rm ln git cmake make pkill kill "
    "killall "
    "chmod chown curl wget grep tail cat man type huggingface-cli hf scp rsync tar unzip mkdir";

struct Start {
  const Engine* engine = nullptr;
  std::size_t program = 0, arguments = 0;  // indices of words
};

Start start_at(const std::vector<ShellWord>& words, std::size_t at) {
  const string_view name = program_name(words[at].text);
  for (const Engine& engine : engines())
    for (const string_view program : engine.command.programs) {
      const std::vector<string_view> parts = split(program);
      // uvx vllm@0.10.0 serve
      const bool is_program = words[at].text == parts[0] || name == parts[0] ||
                              (parts.size() > 1 && name.substr(0, name.find('@')) == parts[0]);
      if (at + parts.size() > words.size() || !is_program) continue;
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
      read_releases(command.words);
      const string_view first = command.words.front().text;
      if (has_word(kOthers, program_name(first))) continue;
      context_ = &text;
      count_ = command.exported;
      environment_of(command, environment);
      words(plain_words(command.words), environment, depth);
    }
  }

  // `before`: the words in front of the command, such as a container's image.
  void words(const std::vector<ShellWord>& words, const Assignments& environment, int depth,
             const std::vector<ShellWord>& before = {}) {
    for (std::size_t at = 0; at < words.size(); ++at) {
      const string_view name = program_name(words[at].text);
      if (name == "docker" || name == "podman" || name == "nerdctl") {
        const std::vector<ShellWord> rest(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
        if (std::optional<Container> found = read_docker_run(rest)) {
          if (!found->starter.empty())
            found->starter.insert(found->starter.begin(), words.begin(),
                                  words.begin() + static_cast<std::ptrdiff_t>(at));
          return container(*found, environment, depth);
        }
      }
      if ((name == "bash" || name == "sh" || name == "zsh") && depth < kDeepestShell)
        for (std::size_t next = at + 1; next + 1 < words.size() && words[next].text.starts_with('-'); ++next) {
          if (words[next].text.find('c') == std::string::npos) continue;
          while (next + 2 < words.size() && words[next + 1].text.starts_with('-')) ++next;  // bash -c -i "..."
          return shell(read_shell(words[next + 1].text), environment, depth + 1);
        }
      if (lower(name) == "start-process" && depth < kDeepestShell) return started(words, at, environment, depth);
      // The arguments of these programs are a separate text.
      if (has_word("ssh tmux screen su runuser eval", name) && depth < kDeepestShell)
        for (std::size_t next = at + 1; next < words.size(); ++next)
          if (words[next].text.find(' ') != std::string::npos)
            shell(read_shell(words[next].text), environment, depth + 1);
      if (std::optional<Container> found = read_image_url(words, at)) return container(*found, environment, depth);
      const Start start = start_at(words, at);
      if (start.engine == nullptr) continue;
      LaunchCommand& found = add(*start.engine, environment);
      if (const auto version = name.find('@'); version != string_view::npos && is_digit(name.substr(version + 1)))
        found.release = name.substr(version + 1);
      found.before = before;
      found.before.insert(found.before.end(), words.begin(), words.begin() + static_cast<std::ptrdiff_t>(at));
      for (std::size_t i = 0; i < at; ++i) assignment(words[i].text, found.environment);
      // mpirun's ":" starts another command.
      const auto from = words.begin() + static_cast<std::ptrdiff_t>(at);
      found.words.assign(from, std::find_if(from, words.end(), [](const ShellWord& word) { return word.text == ":"; }));
      found.arguments = start.arguments - at;
      return;
    }
  }

  // PowerShell: Start-Process -FilePath PROGRAM -ArgumentList "..."
  void started(const std::vector<ShellWord>& words, std::size_t at, const Assignments& environment, int depth) {
    std::string program, arguments;
    for (++at; at < words.size(); ++at) {
      const std::string option = lower(words[at].text);
      const bool has_value = at + 1 < words.size();
      if (option == "-filepath" && has_value)
        program = words[++at].text;
      else if ((option == "-argumentlist" || option == "-args") && has_value)
        arguments = words[++at].text;
      else if (program.empty() && !option.starts_with('-'))
        program = words[at].text;
    }
    shell(read_shell("'" + program + "' " + arguments), environment, depth + 1);
  }

  void container(const Container& found, const Assignments& outer, int depth) {
    Assignments environment = outer;
    environment.insert(environment.end(), found.environment.begin(), found.environment.end());
    const std::size_t before = out.size();
    words(found.arguments, environment, depth, found.starter);
    const string_view image = std::string_view(found.image).substr(0, found.image.rfind(':'));
    if (out.size() == before) {
      const auto engine = std::find_if(engines().begin(), engines().end(),
                                       [&](const Engine& each) { return is_in(each.command.images, image); });
      if (engine == engines().end() || found.arguments.empty()) return;
      if (has_word("bash sh", program_name(found.arguments.front().text))) return;  // a shell that starts no engine
      LaunchCommand& command = add(*engine, environment);
      command.words = found.arguments;
      command.before = found.starter;
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
    if (const auto known = releases_.find(&engine); known != releases_.end()) found.release = known->second;
    return found;
  }

  std::vector<LaunchCommand> out;

 private:
  static bool is_digit(string_view text) { return !text.empty() && text[0] >= '0' && text[0] <= '9'; }

  // singularity run --nv docker://IMAGE ...
  static std::optional<Container> read_image_url(const std::vector<ShellWord>& words, std::size_t at) {
    constexpr string_view kUrl = "docker://";
    const bool runs = std::any_of(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(at),
                                  [](const ShellWord& word) { return word.text == "run" || word.text == "exec"; });
    if (!runs || !words[at].text.starts_with(kUrl)) return std::nullopt;
    Container out;
    out.image = words[at].text.substr(kUrl.size());
    out.starter.assign(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    out.arguments.assign(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
    return out;
  }

  // A Dockerfile's CMD ["/bin/bash", "-c", "..."].
  static std::vector<ShellWord> plain_words(std::vector<ShellWord> words) {
    if (words.size() < 2 || !has_word("CMD ENTRYPOINT", words.front().text) || !words[1].text.starts_with('['))
      return words;
    words.erase(words.begin());
    words.front().text.erase(0, 1);
    for (ShellWord& word : words)
      while (word.text.ends_with(',') || (&word == &words.back() && word.text.ends_with(']'))) word.text.pop_back();
    return words;
  }

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

  // "pip install vllm==0.10.2", "sglang[all]==0.5.8"
  void read_releases(const std::vector<ShellWord>& words) {
    for (const ShellWord& word : words) {
      const string_view text = word.text;
      const auto equals = text.find("==");
      if (equals == string_view::npos) continue;
      const string_view package = text.substr(0, std::min(equals, text.find('[')));
      const string_view after = text.substr(equals + 2);
      const string_view release = after.substr(0, after.find_first_not_of("0123456789.post"));
      for (const Engine& engine : engines())
        if (!release.empty() && engine.command.package == package) releases_[&engine] = release;
    }
  }

  std::map<const Engine*, std::string> releases_;
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

// SERVE_COMMAND="vllm serve ...", for a script that is not in the text.
void read_quoted(string_view text, Finder& finder) {
  const ShellText read = read_shell(text);
  const auto each = [&](const Assignments& assigned) {
    for (const auto& [name, value] : assigned)
      if (value.find(' ') != std::string::npos) finder.shell(read_shell(value), {}, 1);
  };
  each(read.environment);
  for (const ShellCommand& command : read.commands) {
    each(command.own);
    for (const ShellWord& word : command.words)  // Popen("vllm serve ...", shell=True)
      if (word.text.find(' ') != std::string::npos) finder.shell(read_shell(word.text), {}, 1);
  }
}

bool is_yaml(string_view text) {
  for (const string_view line : split(text, '\n'))
    for (const string_view key :
         {"services:", "apiVersion:", "containers:", "version: '", "version: \"", "image: ", "command:", "args:"})
      if (trimmed(line).starts_with(key)) return true;
  return false;
}

// Removes marks that mislead a shell: "# vllm serve ..." at a root prompt is a comment, "> vllm serve ..." a
// redirection, and a `vllm serve ...` of Markdown a substitution. A backtick after a blank at the end of a line is
// PowerShell's continuation.
std::string without_marks(string_view text) {
  std::string out;
  for (const string_view line : split(text, '\n')) {
    string_view plain = trimmed(line);
    while (plain.starts_with("# ") || plain.starts_with("> ")) plain = trimmed(plain.substr(2));
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const bool continues = i + 1 == plain.size() && i > 0 && plain[i - 1] == ' ';
      out += plain[i] == '`' && !continues ? '\n' : plain[i];
    }
    out += '\n';
  }
  return out;
}

// Turns lists into words: ["vllm", "serve", ...] of a program, and <string>vllm</string> of a property list.
std::string without_lists(string_view text) {
  std::string out;
  bool in_tag = false, goes_on = false;  // within a list
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool ends_item = c == ',' && i > 0 && (text[i - 1] == '"' || text[i - 1] == '\'');
    in_tag = (in_tag || text.substr(i).starts_with("<string>") || text.substr(i).starts_with("</string>"));
    const bool is_assignment = c == '=' && i > 0 && text[i - 1] == ' ';
    const bool is_mark = in_tag || ends_item || string_view("[]()").find(c) != string_view::npos;
    out += is_assignment ? '\n' : is_mark || (c == '\n' && goes_on) ? ' ' : c;
    in_tag = in_tag && c != '>';
    if (string_view(" \t\r\n").find(c) == string_view::npos) goes_on = string_view(",[(>").find(c) != string_view::npos;
  }
  return out;
}

// A server's environment applies to models that other commands of its engine name.
void merge_servers(std::vector<LaunchCommand>& commands) {
  const auto is_server = [](const LaunchCommand& command) {
    const string_view server = command.engine->command.server;
    const std::vector<string_view> words = split(server);
    return !server.empty() && command.words.size() >= words.size() && command.words[1].text == words[1];
  };
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (!is_server(commands[i])) continue;
    bool is_used = false;
    for (LaunchCommand& other : commands) {
      if (other.engine != commands[i].engine || is_server(other)) continue;
      is_used = true;
      other.environment.insert(other.environment.begin(), commands[i].environment.begin(),
                               commands[i].environment.end());
      if (!other.gpus) other.gpus = commands[i].gpus;
      if (other.release.empty()) other.release = commands[i].release;
    }
    if (is_used) commands.erase(commands.begin() + static_cast<std::ptrdiff_t>(i--));
  }
}

}  // namespace

string_view program_name(string_view word) {
  word = word.substr(std::min(word.find_last_of("/\\") + 1, word.size()));
  return word.ends_with(".exe") ? word.substr(0, word.size() - 4) : word;
}

std::vector<LaunchCommand> find_commands(string_view text) {
  if (text.size() > kMostText) fail("the text is longer than 1 MiB", "give only the command");
  if (text.find("<string>") != string_view::npos && text.find("</string>") != string_view::npos)
    return find_commands(string_view(without_lists(text)));
  Finder finder;
  const string_view plain = trimmed(text);
  // "[Unit]" and "[program:x]" begin other files.
  const bool is_json =
      plain.starts_with('{') || (plain.starts_with('[') && plain.find_first_of("\"'{") < plain.find(']'));
  if (is_json) {
    for (const Container& each : read_containers(plain)) finder.container(each, {}, 0);
  } else {
    finder.shell(read_shell(text), {}, 0);
    if (finder.out.empty()) read_modelfile(text, finder);
    if (finder.out.empty() && is_yaml(text))
      fail("the text is YAML, which kvplan does not read",
           "convert it to JSON: docker compose config --format json, kubectl get -o json, or yq -o json");
    if (finder.out.empty()) finder.shell(read_shell(without_marks(text)), {}, 0);
  }
  const std::string listless = finder.out.empty() ? without_lists(text) : "";
  if (finder.out.empty()) finder.shell(read_shell(listless), {}, 0);
  if (finder.out.empty()) read_quoted(listless, finder);
  if (finder.out.empty())
    fail("no engine command in the text",
         "write one such as vllm serve MODEL, sglang serve, llama-server -m FILE or docker run IMAGE");
  merge_servers(finder.out);
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
