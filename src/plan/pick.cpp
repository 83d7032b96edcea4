
#include <algorithm>
#include <map>

#include "engines/engine.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "kvplan/strings.h"
#include "plan/plan_cache.h"
#include "plan/questions.h"
#include "plan/search.h"
#include "sources/catalogue.h"
#include "weights/types.h"

namespace kvplan {

namespace {

constexpr std::uint64_t kUsualLength = 8192;
constexpr double kMadeBits = 8;                     // of the types that engines make while they load
constexpr std::string_view kPartlyType = "q4_k_m";  // of a model that does not fit on the GPUs

// Whether an engine runs GGUF files, and whether it gets a model by its tag.
bool runs_gguf(const Engine& engine) {
  return engine.loading.embedding_on_host;
}
bool runs_tags(const Engine& engine) {
  return engine.wraps_engine;  // of ollama's library
}

// For one user: the engine for GGUF files, as on home machines. Otherwise the first engine in the table that serves
// many users.
const Engine& usual_engine(const PickQuestion& question) {
  const bool serves = question.request.num_seqs > 1 || !has_word("chat code vision", question.task);
  for (const Engine& engine : engines())
    if (serves ? !engine.is_logical : !engine.model_suffix.empty()) return engine;
  return engines().front();
}

std::string name_of_generation(const PublishedModel& model) {
  return std::string(model.family) + " " + std::string(model.generation);
}

// The checkpoints of one model that the engine can start.
using Checkpoints = std::vector<const PublishedModel*>;
std::vector<Checkpoints> models_for(const PickQuestion& question, const Engine& engine) {
  std::vector<Checkpoints> out;
  std::map<std::string, std::size_t> known;
  for (const PublishedModel& model : catalogue()) {
    if (!has_word(model.tasks, question.task)) continue;
    if (runs_tags(engine) ? model.ollama.empty() : runs_gguf(engine) && model.gguf.empty()) continue;
    const auto [at, is_new] = known.emplace(lower(model.model), out.size());
    if (is_new) out.emplace_back();
    out[at->second].push_back(&model);
  }
  return out;
}

// One way to run a model: a checkpoint in a type; "" is its own.
struct Candidate {
  const PublishedModel* model = nullptr;
  ModelSpec spec;
  std::vector<std::string> types;
  double bits = 16;  // of the checkpoint's own type
};

std::vector<std::string> types_of(const Engine& engine, const ModelSpec& spec) {
  if (is_declared(spec.quantization)) return {""};
  if (runs_tags(engine)) return {std::string(kPartlyType)};
  std::vector<std::string> out;
  if (!runs_gguf(engine)) {
    out.emplace_back();
    if (has_word(engine.loading.made_at_load, "fp8")) out.emplace_back("fp8");
    return out;
  }
  for (const std::string_view type : split(engine.weight_choices))
    if (find_weight_type(type) == nullptr || find_weight_type(type)->millibits < 16000) out.emplace_back(type);
  return out;
}

class Picker {
 public:
  Picker(const PickQuestion& question, const ReadOptions& options) : question_(question), options_(options) {
    request_ = question.request;
    if (!question.engine_given) request_.engine = &usual_engine(question);
    engine_ = &engine_of(request_);
    request_.users = false;
    if (!request_.max_model_len) request_.max_model_len = Tokens(kUsualLength);
  }

  const Engine& engine() const { return *engine_; }
  const Request& request() const { return request_; }

  // The model in the first type that fits.
  std::optional<PickedModel> choose(const Checkpoints& checkpoints) const {
    std::vector<Candidate> candidates;
    for (const PublishedModel* model : checkpoints) {
      Candidate each{model, load_published(*model, std::string(model->id), options_), {}, 16};
      const auto& scheme = each.spec.quantization.scheme;
      // A GGUF does not keep another checkpoint's packing. The exception are experts in MXFP4, which it stores
      // unchanged.
      if (runs_gguf(*engine_) && scheme && !has_word("mxfp4", scheme->type)) continue;
      if (each.spec.max_model_len > Tokens(0) && each.spec.max_model_len < *request_.max_model_len &&
          question_.request.max_model_len)
        continue;
      each.types = types_of(*engine_, each.spec);
      if (scheme) each.bits = weight_type_of(*scheme).millibits / 1000.0;
      candidates.push_back(std::move(each));
      if (runs_gguf(*engine_)) break;  // the files in one repository
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.bits > b.bits; });
    // At the same number of bits, a published checkpoint is preferred to a type that the engine makes while loading.
    for (const bool made : {false, true})
      for (const Candidate& each : candidates) {
        if (!made && each.bits < kMadeBits) break;
        if (auto found = try_types(each, made)) return found;
      }
    for (const Candidate& each : candidates)
      if (each.bits < kMadeBits)
        if (auto found = try_types(each, false)) return found;
    for (const Candidate& each : candidates) {
      PlanCache cache(each.spec);
      if (auto found = try_partly(cache, each)) return found;
    }
    return std::nullopt;
  }

  // A tag's command leaves the context length and the sequences to the server.
  std::string server_of(const std::vector<PickedModel>& models) const {
    const auto whole = std::find_if(models.begin(), models.end(), [&](const PickedModel& each) {
      return each.longest >= request_.max_model_len->count();
    });
    if (!runs_tags(*engine_) || whole == models.end()) return "";
    const ModelSpec model = load_published(whole->model, std::string(whole->model.id), options_);
    const Launch launch = launch_of(model, make_plan(model, request_));
    std::string out;
    for (const auto& [variable, value] : launch.environment) out += variable + "=" + value + " ";
    return out + join(launch.commands.front(), " ");
  }

 private:
  Request request_of(const Candidate& candidate, const std::string& type) const {
    Request out = request_;
    if (candidate.spec.max_model_len > Tokens(0))
      out.max_model_len = std::min(*out.max_model_len, candidate.spec.max_model_len);
    if (!type.empty()) out.weights = type;
    return out;
  }

  // The checkpoint's own type, or the types that are made from it. GGUF files are published in every type.
  std::optional<PickedModel> try_types(const Candidate& candidate, bool made) const {
    PlanCache cache(candidate.spec);
    for (const std::string& type : candidate.types)
      if (made == (!type.empty() && !runs_gguf(*engine_)))
        if (auto found = try_type(cache, candidate, type, false)) return found;
    return std::nullopt;
  }

  // Tries layers or experts in main memory, as llama.cpp places them.
  std::optional<PickedModel> try_partly(PlanCache& cache, const Candidate& candidate) const {
    if (!request_.card.host_memory || !has_word(engine_->options, "--n-gpu-layers")) return std::nullopt;
    const std::vector<std::string>& types = candidate.types;
    const bool has_usual = std::find(types.begin(), types.end(), kPartlyType) != types.end();
    return try_type(cache, candidate, has_usual ? std::string(kPartlyType) : types.front(), true);
  }

  std::optional<PickedModel> try_type(PlanCache& cache, const Candidate& candidate, const std::string& type,
                                      bool partly) const {
    Request request = request_of(candidate, type);
    request.llama_cpp.placement = partly ? Placement::kFit : Placement::kNone;
    try {
      if (!partly && verdict_of(cache, request).status != Verdict::kFits)
        if (lower_seqs_cap(cache, request).empty() || verdict_of(cache, request).status != Verdict::kFits)
          return std::nullopt;
      const Plan plan = make_plan(cache, request);
      if (plan.verdict.fails() || plan.verdict.status == Verdict::kUnknown) return std::nullopt;
      if (partly && plan.host_total() > *request_.card.host_memory) return std::nullopt;
      PickedModel out = picked(candidate, plan, partly);
      out.command = command_of(candidate, plan);
      if (out.command.empty()) return std::nullopt;
      return out;
    } catch (const Error& error) {
      take_as_misfit(error);
      return std::nullopt;
    }
  }

  PickedModel picked(const Candidate& candidate, const Plan& plan, bool partly) const {
    PickedModel out;
    out.model = *candidate.model;
    out.parameters = plan.model->parameters.total;
    out.type = plan.weights_dtype;
    if (plan.capacity) out.longest = std::min(plan.capacity->max_model_len, kAnyCount);
    out.gpu = plan.fullest().total;
    if (partly) out.host = plan.host_total();
    if (plan.roofline)
      out.tokens_per_s = request_.num_seqs > 1 ? plan.roofline->tokens_per_s_batch : plan.roofline->tokens_per_s;
    return out;
  }

  // ollama's server runs a tag. A GGUF is named by its repository and type, as llama-server fetches it.
  std::vector<std::string> command_of(const Candidate& candidate, const Plan& plan) const {
    if (runs_tags(*engine_)) {
      std::vector<std::string> out;
      for (const std::string_view word : split(engine_->command.programs.front())) out.emplace_back(word);
      out.emplace_back(candidate.model->ollama);
      return out;
    }
    ModelSpec named = candidate.spec;
    Plan shown = plan;
    if (runs_gguf(*engine_)) {
      named.is_gguf = true;
      named.source = std::string(candidate.model->gguf);
      if (shown.request.weights) named.source += ":" + upper(*shown.request.weights);
      shown.request.weights.reset();
    }
    try {
      return launch_of(named, shown).commands.front();
    } catch (const Error&) {
      return {};  // the engine lacks an option for something in the request
    }
  }

  static std::string upper(std::string text) {
    for (char& c : text)
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return text;
  }

  PickQuestion question_;
  ReadOptions options_;
  Request request_;
  const Engine* engine_ = nullptr;
};

// When the first model of each generation was published.
std::map<std::string, std::string> dates_of_generations() {
  std::map<std::string, std::string> out;
  for (const PublishedModel& model : catalogue()) {
    std::string& date = out[name_of_generation(model)];
    if (!model.date.empty() && (date.empty() || model.date < date)) date = model.date;
  }
  return out;
}

// Of two models with the same size, the later one comes first, and a fine-tuned model comes before its base.
bool is_better_name(const PublishedModel& a, const PublishedModel& b) {
  return std::pair(a.date, a.model.size()) > std::pair(b.date, b.model.size());
}

void put_in_order(bool all, Pick& pick) {
  const std::map<std::string, std::string> dates = dates_of_generations();
  std::vector<PickedModel>& models = pick.models;
  for (PickedModel& each : models) each.generation_date = dates.at(name_of_generation(each.model));
  std::stable_sort(models.begin(), models.end(), [](const PickedModel& a, const PickedModel& b) {
    if (a.generation_date != b.generation_date) return a.generation_date > b.generation_date;
    if (a.model.family != b.model.family) return a.model.family < b.model.family;
    if (a.model.generation != b.model.generation) return a.model.generation > b.model.generation;
    if (a.parameters != b.parameters) return a.parameters > b.parameters;
    return is_better_name(a.model, b.model);
  });
  // The newest generation of each family that fits on the GPUs, or else the newest generation.
  std::map<std::string_view, std::string> newest;
  for (const bool partly : {false, true})
    for (const PickedModel& each : models)
      if (partly == (each.host > Bytes(0))) newest.emplace(each.model.family, each.generation_date);
  std::vector<PickedModel> kept;
  for (PickedModel& each : models) {
    const PublishedModel& model = each.model;
    const bool is_older = each.generation_date < newest.at(model.family);
    const bool is_same = !kept.empty() && kept.back().model.family == model.family &&
                         kept.back().model.generation == model.generation && kept.back().parameters == each.parameters;
    if (all || !(is_older || is_same))
      kept.push_back(std::move(each));
    else
      ++pick.left_out;
  }
  models = std::move(kept);
}

}  // namespace

Pick pick_models(const PickQuestion& question, const ReadOptions& options) {
  const CardRequest& card = question.request.card;
  if (card.gpu == nullptr && !card.memory)
    usage_error("pick: no GPU was given, and none was found on this machine", "name one with --gpu; see kvplan gpus");
  const Picker picker(question, options);
  if (picker.engine().is_logical || picker.engine().launch == nullptr)
    usage_error("pick: " + std::string(picker.engine().name) + " does not start models by name",
                "use --engine llama.cpp, ollama, vllm or sglang");
  Pick out;
  out.card = card.mixed.empty() ? (card.count > 1 ? std::to_string(card.count) + " x " : "") + card.name_or("a GPU")
                                : join(card.mixed_names(), "+");
  out.memory = card.memory ? *card.memory : card.gpu->budget();
  if (!card.is_unified()) out.host_memory = card.host_memory;
  out.engine = picker.engine().name;
  const std::string& release = picker.request().engine_version;
  out.engine_version = release.empty() ? std::string(picker.engine().versions.back().version) : release;
  out.task = question.task;
  out.max_model_len = picker.request().max_model_len->count();
  out.users = picker.request().num_seqs;
  out.date = catalogue_date();
  for (const Checkpoints& checkpoints : models_for(question, picker.engine())) try {
      if (auto model = picker.choose(checkpoints)) out.models.push_back(*std::move(model));
    } catch (const Error& error) {
      if (error.code() != Exit::kUnknownArchitecture) take_as_misfit(error);
    }
  put_in_order(question.all, out);
  out.server = picker.server_of(out.models);
  return out;
}

}  // namespace kvplan
