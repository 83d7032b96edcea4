#include "sources/load.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "formats/fields.h"
#include "formats/file.h"
#include "formats/gguf.h"
#include "formats/safetensors.h"
#include "kvplan/error.h"
#include "kvplan/ggml_types.h"
#include "kvplan/strings.h"
#include "sources/hub_cache.h"
#include "sources/hub_http.h"
#include "sources/hub_settings.h"

namespace kvplan {

constexpr std::uint64_t kMostRank = 1 << 20;

constexpr std::uint64_t kMostDraftTokens = 1 << 20;
constexpr std::string_view kSpeculativeExample =
    "write an object as for vLLM, such as {\"method\": \"ngram\", \"num_speculative_tokens\": 3}";
// Keys in vLLM's config/speculative.py that hardly affect GPU memory.
constexpr std::string_view kSpeculativeIdle =
    "enforce_eager moe_backend attention_backend revision code_revision index_share_for_mtp_iteration "
    "disable_padded_drafter_batch disable_eagle_block_drop disable_by_batch_size disable_log_stats "
    "disable_mqa_scorer disable_logprobs use_local_argmax_reduction use_heterogeneous_vocab prompt_lookup_max "
    "prompt_lookup_min rejection_sample_method posterior_threshold posterior_alpha synthetic_acceptance_rates "
    "synthetic_acceptance_length";

// "q_proj" for "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"; "" if the name is not of such a
// pair.
static std::string module_of(std::string_view tensor) {
  const auto at = tensor.find(".lora_");
  if (at == std::string_view::npos) return {};
  const std::string_view path = tensor.substr(0, at);
  return std::string(path.substr(path.rfind('.') + 1));
}

static void add_target(std::set<std::string>& targets, std::string module) {
  constexpr std::size_t kMostTargets = 256;
  if (!module.empty()) targets.insert(one_line(module, 60));
  if (targets.size() > kMostTargets)
    fail("the adapter names more than " + std::to_string(kMostTargets) + " modules", "a layer has a few dozen");
}

static void check_rows(std::uint64_t rank) {
  if (rank > kMostRank) fail("a lora_A has " + std::to_string(rank) + " rows", "a LoRA's rank is a small number");
}

// r (8 by default in PEFT's LoraConfig), and the largest rank in rank_pattern.
static std::uint64_t declared_rank(const Fields& config) {
  constexpr std::uint64_t kPeftRank = 8;
  std::uint64_t rank = config.count_or("r", kPeftRank);
  const auto check = [](std::uint64_t value, const std::string& key) {
    if (value == 0) fail("\"" + key + "\" is 0", "a LoRA's rank is at least 1");
    if (value > kMostRank) fail("\"" + key + "\" is " + std::to_string(value), "a LoRA's rank is a small number");
  };
  check(rank, "r");
  if (const auto pattern = config.child("rank_pattern"))
    for (const std::string& key : pattern->keys()) {
      const std::uint64_t of_module = pattern->quietly().count_or(key, rank);
      check(of_module, "rank_pattern." + one_line(key, 40));
      rank = std::max(rank, of_module);
    }
  return rank;
}

// target_modules as PEFT reads it: a list of names, "all-linear", or a regular expression over whole paths. PEFT
// refuses an empty list. Modules found in the file itself take precedence.
static std::vector<std::string> declared_targets(const Fields& config, bool is_needed, std::vector<Note>& notes) {
  constexpr std::string_view kRemedy = "write [\"q_proj\", \"v_proj\"], or \"all-linear\"";
  std::set<std::string> out;
  const auto every_layer = [&](const std::string& why) {
    if (is_needed)
      warn(notes, "lora_targets",
           {"the adapter's \"target_modules\" {why}: planned for every linear layer", {{"why", why}}});
  };
  if (!config.has("target_modules")) {
    if (!config.has("target_parameters")) every_layer("is missing, and PEFT chooses by the model");
    return {};
  }
  if (config.is_string("target_modules")) {
    const std::string text = config.find_string("target_modules").value_or("");
    if (text == "all-linear") return {text};
    // A bare name is not a whole path ("model.layers.0.self_attn.q_proj"), so as a pattern it matches nothing.
    const bool is_pattern = text.find_first_of(".*+?[](){}|\\^$") != std::string::npos;
    if (!is_pattern && is_needed)
      fail("\"target_modules\" is \"" + one_line(text, 40) + "\", which matches no module's full path",
           std::string(kRemedy));
    every_layer("is a pattern, which kvplan does not match");
    return {};
  }
  const auto named = config.strings("target_modules");
  if (!named) fail("\"target_modules\" is not a list of names", std::string(kRemedy));
  for (const std::string& module : *named) add_target(out, module.substr(module.rfind('.') + 1));
  if (out.empty() && is_needed) fail("\"target_modules\" names no module", std::string(kRemedy));
  return {out.begin(), out.end()};
}

static void read_pairs(const std::string& path, std::uint64_t file_bytes, AdapterFile& out) {
  std::set<std::string> found;
  const auto take = [&](const SafeTensor& tensor) {
    ++out.tensors;
    out.elements += Elements(tensor.elements);
    out.bytes += Bytes(tensor.bytes);
    add_target(found, module_of(tensor.name));
    // A is rank x inputs.
    if (tensor.name.find(".lora_A.") != std::string_view::npos) out.rank = std::max(out.rank, tensor.rows);
  };
  read_safetensors(path, take, file_bytes);
  check_rows(out.rank);
  if (!found.empty()) out.targets.assign(found.begin(), found.end());
}

static void read_adapter_config(const std::string& path, AdapterFile& out) {
  const Fields config = Fields::parse(read_file(path));
  const std::string kind = config.find_string("peft_type").value_or("LORA");
  if (kind != "LORA" && kind != "lora") fail("the adapter's kind is " + one_line(kind, 20), "give a LoRA adapter");
  out.rank = declared_rank(config);
  std::vector<std::string> targets = declared_targets(config, out.targets.empty(), out.notes);
  if (out.targets.empty()) out.targets = std::move(targets);
}

static AdapterFile read_adapter_directory(const std::string& directory, std::uint64_t file_bytes) {
  AdapterFile out;
  const std::string config = directory + "/adapter_config.json";
  const std::string file = directory + "/adapter_model.safetensors";
  const bool has_config = exists(config);
  if (!has_config && !exists(file))
    fail("the directory has no adapter_config.json and no adapter_model.safetensors", "give an adapter's directory");
  if (exists(file)) read_pairs(file, file_bytes, out);
  if (has_config) read_adapter_config(config, out);
  return out;
}

static AdapterFile read_safetensors_adapter(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  AdapterFile out;
  read_pairs(path, 0, out);
  if (out.targets.empty()) fail("the file has no pairs of lora_A and lora_B", "give a LoRA adapter");
  const std::string config = (directory.empty() ? "." : directory) + "/adapter_config.json";
  if (exists(config)) read_adapter_config(config, out);
  return out;
}

ModelSpec load_draft(const std::string& argument, const SourceOptions& options, std::optional<DraftMethod> method,
                     const ModelSpec& target) {
  if (argument == "-") {
    with_source("command line",
                [] { fail("--draft: standard input is for the model itself", "name the draft's config.json"); });
  }
  SourceOptions role = options;
  role.hub.revision.clear();  // it belongs to the main model
  role.read.draft = DraftRole{method, target.hidden_size, target.vocab_size};
  ModelSpec draft = load_model(argument, role);
  // Tensors in a head's files that are the model's are not counted twice.
  const bool own_head = draft.draft_head && draft.draft_head->method == DraftMethod::kEagle3;
  if (draft.draft_head && draft.draft_head->method != DraftMethod::kMedusa)
    std::erase_if(draft.stored, [&](const StoredTensors& part) {
      return part.component == Component::kEmbedding || (!own_head && part.component == Component::kLmHead);
    });
  return draft;
}

AdapterFile load_adapter(const std::string& argument, const SourceOptions& options) {
  const CompanionFile file = local_companion(argument, Companion::kAdapter, options);
  const std::string& path = file.path;
  AdapterFile out = with_source(argument.empty() ? "command line" : argument, [&] {
    if (is_directory(path)) return read_adapter_directory(path, file.file_bytes);
    if (!exists(path)) fail("--lora: no such file or directory", "download the adapter and name its directory");
    if (path.ends_with(".safetensors")) return read_safetensors_adapter(path);
    if (path.ends_with("adapter_config.json"))
      return read_adapter_directory(path.size() > 20 ? path.substr(0, path.size() - 20) : ".", file.file_bytes);
    return read_gguf_adapter(Gguf::open(path, file.file_bytes));
  });
  out.source = argument;
  return out;
}

ProjectorFile load_projector(const std::string& argument, const SourceOptions& options) {
  const CompanionFile file = local_companion(argument, Companion::kProjector, options);
  ProjectorFile out = with_source(argument.empty() ? "command line" : argument,
                                  [&] { return read_gguf_projector(Gguf::open(file.path, file.file_bytes)); });
  out.source = argument;
  return out;
}

AdapterFile read_gguf_adapter(const Gguf& file) {
  if (file.text("general.type").value_or("") != "adapter")
    fail("the file is not an adapter (general.type is \"" + one_line(file.text("general.type").value_or("model"), 20) +
             "\")",
         "give a GGUF adapter, as convert_lora_to_gguf.py writes it");
  AdapterFile out;
  std::set<std::string> targets;
  for (const GgufTensor& tensor : file.tensors()) {
    const auto type = find_ggml_type(tensor.type);
    if (!type) fail("a tensor has the unknown type " + std::to_string(tensor.type), "convert the adapter again");
    ++out.tensors;
    Elements elements(1);
    for (const std::uint64_t dim : tensor.shape()) elements = elements * dim;
    out.elements += elements;
    out.bytes += tensor_bytes(*type, tensor.shape());
    // "blk.0.attn_q.weight.lora_a", of rank x inputs.
    const auto at = tensor.name.find(".weight.lora_");
    if (at == std::string_view::npos) continue;
    const std::string_view path = tensor.name.substr(0, at);
    add_target(targets, std::string(path.substr(path.rfind('.') + 1)));
    if (tensor.name.ends_with(".lora_a") && tensor.num_dims >= 2) out.rank = std::max(out.rank, tensor.dims[1]);
  }
  check_rows(out.rank);
  out.targets.assign(targets.begin(), targets.end());
  return out;
}

SpeculativeConfig parse_speculative_config(std::string_view text) {
  const Fields config = [&] {
    try {
      return Fields::parse(text);
    } catch (const Error& error) {
      const std::string both = error.what();
      fail(both.substr(0, both.rfind("; ")), std::string(kSpeculativeExample));
    }
  }();
  const auto words = [&](std::string_view key) -> std::string {
    if (config.has(key) && !config.is_string(key))
      fail("\"" + std::string(key) + "\" is not quoted text", std::string(kSpeculativeExample));
    return config.find_string(key).value_or("");
  };
  const auto number = [&](std::string_view key) -> std::uint64_t {
    if (!config.has(key)) return 0;
    const auto value = config.is_number(key) ? config.find_count(key) : std::nullopt;
    if (!value || *value == 0)
      fail("\"" + std::string(key) + "\" is not a positive whole number", std::string(kSpeculativeExample));
    return *value;
  };
  SpeculativeConfig out;
  out.model = words("model");
  out.num_tokens = number("num_speculative_tokens");
  if (out.num_tokens > kMostDraftTokens)
    fail("\"num_speculative_tokens\" is " + std::to_string(out.num_tokens),
         "use at most " + std::to_string(kMostDraftTokens));
  if (const std::string word = words("quantization"); !word.empty()) out.weights = word;
  if (const std::string word = words("method"); !word.empty()) {
    out.method = find_draft_method(word);
    if (!out.method) fail("\"method\" is \"" + one_line(word, 40) + "\"", "use one of " + known_draft_methods());
  }
  for (const std::string_view key : split(kSpeculativeIdle)) config.touch(key);
  out.unread = config.unread();
  // vLLM also accepts "ngram" and "mtp" as a model's name.
  if (!out.method && (out.model == "ngram" || out.model == "[ngram]")) out.method = DraftMethod::kNgram;
  if (out.method == DraftMethod::kNgram || out.method == DraftMethod::kMtp) out.model.clear();
  return out;
}

namespace {

const std::string kAdapterConfig = "adapter_config.json";
const std::string kAdapterWeights = "adapter_model.safetensors";
const std::string kGguf = "weights.gguf";

// The projector of that type among a repository's files, or one of 16 bits, or the first one. "" for none.
std::string choose_projector(const std::vector<std::string>& paths, const std::string& type) {
  std::string found;
  for (const std::string& path : paths) {
    const std::string name = lower(path.substr(path.rfind('/') + 1));
    if (name.find("mmproj") == std::string::npos) continue;
    if (!type.empty() ? name.find(lower(type)) != std::string::npos : name.find("f16") != std::string::npos)
      return path;
    if (type.empty() && found.empty()) found = path;
  }
  return found;
}

class Source {
 public:
  Source(const std::string& argument, Companion what, const SourceOptions& options)
      : settings_(read_hub_settings(options.hub)), id_(parse_hub_id(argument, settings_.endpoint)), what_(what) {
    if (what == Companion::kAdapter && !id_.gguf.empty() && !id_.gguf.ends_with(".gguf"))
      fail("an adapter has no quantization", "give org/name, or the address of a *.gguf");
    // --revision is the main model's.
    if (id_.revision.empty()) id_.revision = "main";
  }

  CompanionFile file() {
    if (std::string found = in_hf_cache(); !found.empty()) return {found};
    const HubCache cache(settings_, id_.repo);
    const std::string known = cache.commit_of(id_.revision);
    if (settings_.offline || is_commit(id_.revision)) {
      if (auto found = kept(cache, known)) return *std::move(found);
      if (settings_.offline)
        fail(Exit::kHub, "no such file, and no copy in the caches; the network is off (--offline or HF_HUB_OFFLINE)",
             "plan it once with the network, or download it");
    }
    try {
      return fetched(cache);
    } catch (const HubUnreachable&) {
      auto found = kept(cache, known);
      if (!found) throw;
      return *std::move(found);
    }
  }

 private:
  bool is_folder() const { return what_ == Companion::kAdapter && id_.gguf.empty(); }
  // The name under which the file is kept. Each folder of a repository has its own.
  std::string name() const {
    if (is_folder()) return "adapter";
    return what_ == Companion::kProjector && !id_.gguf.ends_with(".gguf") ? "projector " + id_.gguf : id_.gguf;
  }

  std::string in_hf_cache() const {
    const std::string folder = snapshot_in_hf_cache(settings_.hf_cache, id_.repo, id_.revision);
    if (folder.empty()) return "";
    if (is_folder())
      return is_file(folder + "/" + kAdapterConfig) && is_file(folder + "/" + kAdapterWeights) ? folder : "";
    if (id_.gguf.ends_with(".gguf")) return is_file(folder + "/" + id_.gguf) ? folder + "/" + id_.gguf : "";
    return choose_projector(gguf_files(folder), id_.gguf);
  }

  CompanionFile of(const KeptFiles& files) const {
    return {is_folder() ? files.folder : files.folder + "/" + kGguf, files.file_bytes};
  }

  // The file in kvplan's own cache, if it is there and valid.
  std::optional<CompanionFile> kept(const HubCache& cache, const std::string& commit) const {
    const auto files = cache.find_files(
        commit, name(), is_folder() ? std::vector{kAdapterConfig, kAdapterWeights} : std::vector{kGguf});
    if (!files) return std::nullopt;
    try {
      if (is_folder())
        read_safetensors(
            files->folder + "/" + kAdapterWeights, [](const SafeTensor&) {}, files->file_bytes);
      else
        Gguf::open(files->folder + "/" + kGguf, files->file_bytes);
      return of(*files);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  CompanionFile fetched(const HubCache& cache) {
    HubClient client(settings_, id_.repo);
    HubMissing missing;
    std::string commit;
    std::vector<KeptFile> files;
    std::uint64_t file_bytes = 0;
    if (is_folder()) {
      auto config = client.file(id_.revision, kAdapterConfig, kMaxConfigBytes, missing);
      if (!config) missing_file(kAdapterConfig, missing);
      check_json(*config, kAdapterConfig);
      commit = config->commit;
      if (auto found = kept(cache, commit)) return *std::move(found);
      auto weights = fetch_safetensors(client, commit.empty() ? id_.revision : commit, kAdapterWeights);
      if (!weights) missing_file(kAdapterWeights, {"EntryNotFound"});
      files.push_back({kAdapterConfig, std::move(config->body)});
      files.push_back({kAdapterWeights, std::move(weights->bytes)});
      file_bytes = weights->file_bytes;
    } else {
      std::string path = id_.gguf;
      if (!path.ends_with(".gguf")) {
        const auto listing = client.listing(id_.revision, missing);
        if (!listing) missing_file("*.gguf", missing);
        path = choose_projector(gguf_paths(*listing), id_.gguf);
        if (path.empty()) missing_file("mmproj*.gguf", {"EntryNotFound"});
      }
      std::vector<GgufHeader> headers = fetch_gguf(client, id_.revision, path, commit);
      if (headers.size() != 1) fail(Exit::kHub, "the file is one of a split set", "download the set");
      files.push_back({kGguf, std::move(headers[0].bytes)});
      file_bytes = headers[0].file_bytes;
    }
    if (commit.empty()) commit = stand_in_commit(id_.revision, files.back().bytes);
    const auto written = cache.write_files(id_.revision, commit, name(), files, file_bytes);
    if (!written)
      fail(Exit::kHub, "kvplan's cache could not be written", "set KVPLAN_CACHE to a folder, or download the file");
    return of(*written);
  }

  [[noreturn]] void missing_file(const std::string& file, const HubMissing& missing) const {
    if (missing.code == "EntryNotFound")
      fail(Exit::kHub, "the repository has no " + file,
           is_folder() ? "name a LoRA adapter in PEFT's layout, or the address of a *.gguf"
                       : "give the address of a *.gguf");
    fail(Exit::kHub, "no such file here, and no such repository at " + settings_.endpoint + ", or a private one",
         "check the name; a private one needs HF_TOKEN or --token");
  }

  HubSettings settings_;
  HubId id_;
  Companion what_;
};

}  // namespace

CompanionFile local_companion(const std::string& argument, Companion what, const SourceOptions& options) {
  if (!is_hub_url(argument) && is_local_path(argument)) return {argument};
  return with_source(argument, [&] { return Source(argument, what, options).file(); });
}

}  // namespace kvplan
