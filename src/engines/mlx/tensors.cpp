// A model's tensors as mlx-lm's modules make them: `sanitize` drops towers and MTP layers, `quant_predicate` keeps some
// layers in another type, `cast_predicate` keeps float32.
// Source: mlx-lm 0.32.2, mlx_lm/models.
#include <algorithm>

#include "engines/mlx/modules.h"
#include "kvplan/error.h"
#include "kvplan/numbers.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

// Layers that a module's quant_predicate names besides the routers, by the ends of their names in Llama's spelling.
struct Predicate {
  std::string_view modules, ends;
  Kept kept;
};
constexpr Predicate kPredicates[] = {
    {"granite.py granitemoe.py", "self_attn.o_proj mlp.down_proj lm_head", Kept::kEightBit},
    {"granitemoe.py", "experts.*.down_proj", Kept::kEightBit},
    {"rwkv7.py", "embed_tokens lora.2", Kept::kEightBit},
    {"qwen3_5.py qwen3_5_moe.py qwen3_next.py prism_hadamard_qwen35.py", "shared_expert_gate", Kept::kEightBit},
    {"bailing_moe_v3.py",
     "embed_tokens lm_head self_attn.q_a_proj self_attn.q_b_proj self_attn.kv_a_proj_with_mqa self_attn.kv_b_proj "
     "self_attn.b_proj",
     Kept::kPlain},
    {"bailing_hybrid.py", "self_attn.kv_b_proj", Kept::kPlain},
    {"kimi_k3.py", "res_proj", Kept::kPlain},
    {"spark2_5.py", "self_attn.g_proj", Kept::kPlain},
};

// Tensors that cast_predicate leaves in float32, whatever the model's type.
struct Float32 {
  std::string_view modules, ends;
};
constexpr Float32 kFloat32[] = {
    {"klear.py afmoe.py bailing_hybrid.py bailing_moe.py bailing_moe_linear.py bailing_moe_v3.py deepseek_v3.py "
     "deepseek_v32.py deepseek_v41.py exaone_moe.py glm4_moe.py glm4_moe_lite.py glm_moe_dsa.py kimi_k25.py "
     "kimi_k3.py kimi_linear.py kimi_vl.py laguna.py lfm2_moe.py longcat_flash.py longcat_flash_ngram.py "
     "mimo_v2_flash.py minimax.py minimax_m3_vl.py nemotron_h.py solar_open.py step3p5.py",
     "e_score_correction_bias"},
    {"nemotron_h.py qwen3_5.py qwen3_5_moe.py kimi_k3.py kimi_linear.py bailing_moe_v3.py", "A_log"},
    {"kimi_k3.py kimi_linear.py bailing_moe_v3.py", "dt_bias"},
    {"muse_spark.py", "add_attn_alpha add_attn_beta add_ffn_alpha add_ffn_beta"},
};

// The only module that keeps its vision tower.
constexpr std::string_view kWithTowers = "muse_spark.py";

// Modules with a separate head, whatever the config says.
constexpr std::string_view kOwnHead =
    "klear.py dbrx.py deepseek.py deepseek_v2.py deepseek_v3.py deepseek_v32.py deepseek_v41.py glm4.py glm4_moe.py "
    "glm4_moe_lite.py glm_moe_dsa.py gptj.py gpt_oss.py kimi_k25.py kimi_vl.py mimo_v2_flash.py muse_spark.py "
    "nanochat.py nemotron_h.py phi.py phimoe.py pixtral.py plamo.py qwen.py qwen2_moe.py solar_open.py stablelm.py "
    "step3p5.py";
// Modules without a head.
constexpr std::string_view kNoHead =
    "afm7.py cohere.py cohere2.py gemma.py gemma2.py gemma3n.py gpt2.py hunyuan.py lfm2.py lfm2_moe.py lfm2-vl.py "
    "lille-130m.py phi3small.py";
// Modules whose ModelArgs tie the head by default, where the decoder's section is silent.
constexpr std::string_view kTiedByDefault =
    "bitnet.py exaone.py falcon_h1.py gear.py gemma4.py gemma4_text.py glm.py gpt_bigcode.py granite.py "
    "granitemoe.py granitemoehybrid.py jamba.py lille-130m.py llama.py mamba.py ministral3.py olmo2.py olmoe.py "
    "plamo2.py plamo3.py qwen2.py qwen2_vl.py seed_oss.py smollm3.py spark2_5.py starcoder2.py youtu_llm.py";
constexpr std::string_view kOwnByDefault =
    "afmoe.py baichuan_m1.py bailing_hybrid.py bailing_moe.py bailing_moe_linear.py bailing_moe_v3.py dots1.py "
    "exaone_moe.py hunyuan_v1_dense.py internlm2.py internlm3.py iquestloopcoder.py kimi_k3.py kimi_linear.py "
    "laguna.py mimo.py minicpm.py minicpm3.py minimax.py minimax_m3_vl.py mistral3.py mistral4.py mixtral.py "
    "muse_glimmer.py nanbeige.py nemotron-nas.py nemotron.py olmo3.py phi3.py qwen3_5.py qwen3_5_moe.py "
    "qwen3_next.py rwkv7.py telechat3.py";

bool ends_in(std::string_view name, std::string_view ends) {
  const std::vector<std::string_view> words = split(ends);
  return std::any_of(words.begin(), words.end(), [&](std::string_view end) {
    return name.ends_with(end) && (name.size() == end.size() || name[name.size() - end.size() - 1] == '.');
  });
}

Kept kept_by(const MlxModule& module, const TensorGroup& group) {
  if (group.component == Component::kRouter && group.role == TensorRole::kLinear) {
    if (module.router == RouterType::kEightBit) return Kept::kEightBit;
    if (module.router == RouterType::kPlain) return Kept::kPlain;
  }
  for (const Predicate& row : kPredicates)
    if (has_word(row.modules, module.name) && ends_in(group.module, row.ends)) return row.kept;
  return Kept::kAsDeclared;
}

bool is_float32(const MlxModule& module, const TensorGroup& group) {
  return std::any_of(std::begin(kFloat32), std::end(kFloat32), [&](const Float32& row) {
    return has_word(row.modules, module.name) && ends_in(group.module, row.ends);
  });
}

void settle_head(const MlxModule& module, std::optional<bool> stated, TensorGroup& head) {
  if (has_word(kOwnHead, module.name))
    head.is_tied = false;
  else if (has_word(kNoHead, module.name))
    head.is_tied = true;
  else if (has_word(kTiedByDefault, module.name))
    head.is_tied = stated.value_or(true);
  else if (has_word(kOwnByDefault, module.name))
    head.is_tied = stated.value_or(false);
}

template <class Parts>
void drop_towers(Parts& parts) {
  std::erase_if(parts, [](const auto& part) { return is_tower(part.component); });
}

// Puts tensors that some layers have into every layer, as the module does.
void put_in_every_layer(std::string_view part, EngineTensors& model) {
  std::vector<std::string> done;
  std::erase_if(model.tensors, [&](TensorGroup& group) {
    if (group.component == Component::kMtp || group.module.find(part) == std::string::npos) return false;
    if (std::find(done.begin(), done.end(), group.module) != done.end()) return true;
    done.push_back(group.module);
    group.layers = {{0, model.num_layers, 1}};
    return false;
  });
}

TensorGroup plain(std::string_view module, std::uint64_t elements, std::uint64_t layers) {
  TensorGroup out;
  out.component = Component::kOther;
  out.role = TensorRole::kPlain;
  out.module = module;
  out.rows = elements;
  if (layers > 0) out.layers = {{0, layers, 1}};
  return out;
}

TensorGroup matrix(TensorRole role, std::string_view module, std::uint64_t rows, std::uint64_t columns,
                   std::uint64_t layers) {
  TensorGroup out = plain(module, rows, layers);
  out.role = role;
  out.columns = columns;
  return out;
}

std::vector<TensorGroup>::const_iterator find_table(const EngineTensors& model) {
  return std::find_if(model.tensors.begin(), model.tensors.end(),
                      [](const TensorGroup& group) { return group.module == "model.embed_tokens"; });
}

// A file without hidden_size_per_layer_input still gets the inputs of each layer (models/gemma4_text.py).
void add_layer_inputs(EngineTensors& model) {
  constexpr std::uint64_t kWidth = 256, kVocabulary = 262144;
  const auto stated = [](const ConfigFact& fact) { return fact.key.ends_with("hidden_size_per_layer_input"); };
  if (std::any_of(model.facts.begin(), model.facts.end(), stated)) return;
  const auto table = find_table(model);
  if (table == model.tensors.end()) return;
  const std::uint64_t hidden = table->columns;
  const std::uint64_t wide = checked_mul(model.num_layers, kWidth, "the inputs of the layers");
  TensorGroup inputs = matrix(TensorRole::kEmbedding, "model.embed_tokens_per_layer", kVocabulary, wide, 0);
  inputs.component = Component::kEmbedding;
  TensorGroup projection = matrix(TensorRole::kLinear, "model.per_layer_model_projection", wide, hidden, 0);
  TensorGroup norm = plain("model.per_layer_projection_norm", kWidth, 0);
  inputs.place = projection.place = norm.place = Place::kFirst;
  model.tensors.push_back(std::move(inputs));
  model.tensors.push_back(std::move(projection));
  model.tensors.push_back(std::move(norm));
  const std::uint64_t layers = model.num_layers;
  model.tensors.push_back(matrix(TensorRole::kLinear, "model.layers.*.per_layer_input_gate", kWidth, hidden, layers));
  model.tensors.push_back(matrix(TensorRole::kLinear, "model.layers.*.per_layer_projection", hidden, kWidth, layers));
  model.tensors.push_back(plain("model.layers.*.post_per_layer_input_norm", hidden, layers));
}

// Dense MLPs of width intermediate_size_mlp in place of experts (models/llama4_text.py).
void make_dense(EngineTensors& model) {
  const auto fact = std::find_if(model.facts.begin(), model.facts.end(),
                                 [](const ConfigFact& one) { return one.key == "intermediate_size_mlp"; });
  const auto width = fact == model.facts.end() ? std::nullopt : whole_number(fact->value);
  const auto table = find_table(model);
  if (!width || table == model.tensors.end()) return;
  const std::uint64_t hidden = table->columns;
  std::erase_if(model.tensors, [](const TensorGroup& group) {
    return group.component == Component::kRouter || group.component == Component::kExperts ||
           group.component == Component::kSharedExperts || group.component == Component::kMlp;
  });
  const auto add = [&](std::string_view module, std::uint64_t rows, std::uint64_t columns) {
    model.tensors.push_back(matrix(TensorRole::kLinear, module, rows, columns, model.num_layers));
    model.tensors.back().component = Component::kMlp;
  };
  add("model.layers.*.mlp.gate_proj", *width, hidden);
  add("model.layers.*.mlp.up_proj", *width, hidden);
  add("model.layers.*.mlp.down_proj", hidden, *width);
}

// A bias for each expert, which files of this class store as a buffer (models/lfm2_moe.py).
void add_expert_biases(EngineTensors& model) {
  const bool without = std::any_of(model.facts.begin(), model.facts.end(), [](const ConfigFact& fact) {
    return fact.key.ends_with("use_expert_bias") && fact.value == "false";
  });
  if (without) return;
  std::vector<TensorGroup> biases;
  for (const TensorGroup& group : model.tensors) {
    if (group.component != Component::kRouter || group.role != TensorRole::kLinear) continue;
    TensorGroup bias = plain(group.module + ".e_score_correction_bias", group.rows, 0);
    bias.layers = group.layers;
    biases.push_back(std::move(bias));
  }
  model.tensors.insert(model.tensors.end(), biases.begin(), biases.end());
}

// Only experts are quantized, and not those of the first and the last layer (models/muse_spark.py).
void quantize_only_experts(EngineTensors& model) {
  if (model.num_layers == 0) return;
  const std::uint64_t last = model.num_layers - 1;
  std::vector<TensorGroup> ends;
  for (TensorGroup& group : model.tensors) {
    group.kept = Kept::kPlain;
    if (!group.is_expert) continue;
    TensorGroup at_end = group;
    at_end.layers.clear();
    std::vector<LayerRun> between;
    for (const LayerRun& run : group.layers)
      for (std::uint64_t i = 0; i < run.count; ++i) {
        const std::uint64_t layer = run.first + i * run.step;
        (layer == 0 || layer == last ? at_end.layers : between).push_back({layer, 1, 1});
      }
    group.kept = Kept::kAsDeclared;
    group.layers = std::move(between);
    if (!at_end.layers.empty()) ends.push_back(std::move(at_end));
  }
  std::erase_if(model.tensors, [](const TensorGroup& group) { return group.is_expert && group.layers.empty(); });
  model.tensors.insert(model.tensors.end(), ends.begin(), ends.end());
}

// Biases on all four projections and on the head, whatever the config says (models/phimoe.py).
void add_phimoe_biases(EngineTensors& model) {
  std::erase_if(model.tensors, [](const TensorGroup& group) {
    return ends_in(group.module, "q_proj.bias k_proj.bias v_proj.bias o_proj.bias lm_head.bias");
  });
  std::vector<TensorGroup> biases;
  for (const TensorGroup& group : model.tensors) {
    if (!ends_in(group.module, "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj lm_head")) continue;
    TensorGroup bias = plain(group.module + ".bias", group.rows, 0);
    bias.layers = group.layers;
    bias.place = group.place;
    biases.push_back(std::move(bias));
  }
  model.tensors.insert(model.tensors.end(), biases.begin(), biases.end());
}

// Ternary weights, four to a byte, with one scale per matrix (models/bitlinear_layers.py).
void pack_ternary(EngineTensors& model) {
  std::vector<TensorGroup> scales;
  for (TensorGroup& group : model.tensors) {
    if (group.role != TensorRole::kLinear || group.place != Place::kLayers) continue;
    group.kept = Kept::kTwoBit;
    TensorGroup scale = plain(group.module + ".weight_scale", 1, 0);
    scale.layers = group.layers;
    scales.push_back(std::move(scale));
  }
  model.tensors.insert(model.tensors.end(), scales.begin(), scales.end());
}

// Two factors for each gate of the residual stream, computed from it (models/muse_spark.py).
void split_gates(EngineTensors& model) {
  for (TensorGroup& group : model.tensors) {
    if (!ends_in(group.module, "post_attention_residual_gate.gate post_feedforward_residual_gate.gate")) continue;
    group.copies *= 2;
    group.used = group.copies;
    group.is_float32 = true;
  }
}

void change_tensors(const MlxModule& module, EngineTensors& model) {
  const auto drop = [&](std::string_view end) {
    std::erase_if(model.tensors, [&](const TensorGroup& group) { return ends_in(group.module, end); });
  };
  if (module.name == "llama4_text.py") make_dense(model);
  if (module.name == "lfm2_moe.py") add_expert_biases(model);
  if (module.name == "ernie4_5_moe.py") drop("e_score_correction_bias");
  if (has_word("deepseek_v32.py glm_moe_dsa.py", module.name)) put_in_every_layer(".indexer.", model);
  if (module.name == "gemma3n.py") {
    // Layers that read another layer's cache still have these projections (models/gemma3n.py).
    for (const std::string_view part : {"self_attn.k_proj", "self_attn.v_proj", "self_attn.k_norm"})
      put_in_every_layer(part, model);
    for (TensorGroup& group : model.tensors)
      if (ends_in(group.module, "modality_router linear_left linear_right altup_projections"))
        group.role = TensorRole::kLinear;
  }
  if (module.name == "phimoe.py") add_phimoe_biases(model);
  if (has_word("gemma4.py gemma4_text.py", module.name)) {
    add_layer_inputs(model);
    model.tensors.push_back(plain("model.layers.*.layer_scalar", 1, model.num_layers));
  }
  const auto ends = [](const TensorGroup& group, std::string_view words) { return ends_in(group.module, words); };
  for (TensorGroup& group : model.tensors) {
    // alpha_p, alpha_n, beta and eps of the activation (models/activations.py XieLU).
    if (module.name == "apertus.py" && ends(group, "mlp.act_fn")) group.rows = 4;
    // Always one KV head, whatever the config says.
    if (module.name == "recurrent_gemma.py" && group.units > 0 && ends(group, "self_attn.k_proj self_attn.v_proj")) {
      group.rows /= group.units;
      group.units = 1;
    }
    if (const std::uint64_t width = mlx_head_dim(module, model.facts); width != 0 && group.units > 0) {
      if (ends(group, "self_attn.q_proj self_attn.k_proj self_attn.v_proj")) group.rows = group.units * width;
      if (ends(group, "self_attn.o_proj")) group.columns = group.units * width;
    }
  }
}

// `sanitize` in these modules converts FP8 weights to 16 bit; only blocks of 32 x 32 stay packed (utils.py load_model).
void unpack_fp8(const MlxModule& module, EngineTensors& model) {
  constexpr std::string_view kUnpacks =
      "deepseek_v3.py deepseek_v32.py glm_moe_dsa.py kimi_k25.py mimo_v2_flash.py minimax.py ministral3.py "
      "mistral3.py mistral4.py";
  const QuantDeclaration& declared = model.quantization;
  if (declared.dialect != "fp8" || !has_word(kUnpacks, module.name)) return;
  if (declared.scheme && declared.scheme->block_rows == 32) return;
  model.quantization = {};
  model.notes.push_back({NoteLevel::kInfo, "unpacked_weights",
                         "mlx-lm turns this checkpoint's FP8 weights into 16 bit as it loads them"});
}

}  // namespace

void mlx_tensors(EngineTensors& model) {
  const MlxModule module = mlx_module(model.root_type, model.model_type);
  unpack_fp8(module, model);
  if (!has_word(kWithTowers, module.name)) {
    drop_towers(model.tensors);
    drop_towers(model.unknown);
  }
  std::erase_if(model.tensors, [](const TensorGroup& group) { return group.is_derived; });
  change_tensors(module, model);
  for (TensorGroup& group : model.tensors) {
    if (group.role == TensorRole::kHead) settle_head(module, model.ties_head, group);
    group.kept = kept_by(module, group);
    group.is_float32 = is_float32(module, group);
  }
  if (module.name == "muse_spark.py") {
    std::erase_if(model.tensors, [](const TensorGroup& group) { return group.module.starts_with("audio_tower."); });
    quantize_only_experts(model);
    split_gates(model);
  }
  if (module.name == "bitnet.py") pack_ternary(model);
}

}  // namespace kvplan
