// A model's tensors as mlx-lm's modules make them: `sanitize` drops towers and layers that predict further tokens,
// `quant_predicate` keeps some layers from the type of the rest, `cast_predicate` keeps float32.
// Source: mlx-lm 0.32.2, mlx_lm/models.
#include <algorithm>

#include "engines/mlx/modules.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

// Layers that a module's quant_predicate names, beside the routers: by the ends of their names as Llama's would be
// called.
struct Predicate {
  std::string_view modules, ends;
  Kept kept;
};
constexpr Predicate kPredicates[] = {
    {"granite granitemoe", "self_attn.o_proj mlp.down_proj lm_head", Kept::kEightBit},
    {"qwen3_5 qwen3_5_moe qwen3_next prism_hadamard_qwen35", "shared_expert_gate", Kept::kEightBit},
    {"bailing_moe_v3",
     "embed_tokens lm_head self_attn.q_a_proj self_attn.q_b_proj self_attn.kv_a_proj_with_mqa self_attn.kv_b_proj "
     "self_attn.b_proj",
     Kept::kPlain},
    {"bailing_hybrid", "self_attn.kv_b_proj", Kept::kPlain},
    {"kimi_k3", "res_proj", Kept::kPlain},
    {"spark2_5", "self_attn.g_proj", Kept::kPlain},
};

// Tensors that cast_predicate keeps in float32, whatever the model's type.
struct Float32 {
  std::string_view modules, ends;
};
constexpr Float32 kFloat32[] = {
    {"klear afmoe bailing_hybrid bailing_moe bailing_moe_linear bailing_moe_v3 deepseek_v3 deepseek_v32 deepseek_v41 "
     "exaone_moe glm4_moe glm4_moe_lite glm_moe_dsa kimi_k25 kimi_k3 kimi_linear kimi_vl laguna lfm2_moe longcat_flash "
     "longcat_flash_ngram mimo_v2_flash minimax minimax_m3_vl nemotron_h solar_open step3p5",
     "e_score_correction_bias"},
    {"nemotron_h qwen3_5 qwen3_5_moe kimi_k3 kimi_linear bailing_moe_v3", "A_log"},
    {"kimi_k3 kimi_linear bailing_moe_v3", "dt_bias"},
};

// The only modules that keep their vision tower.
constexpr std::string_view kWithTowers = "muse_spark";

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

template <class Parts>
void drop_towers(Parts& parts) {
  std::erase_if(parts, [](const auto& part) { return is_tower(part.component); });
}

}  // namespace

void mlx_tensors(EngineTensors& model) {
  const MlxModule module = mlx_module(model.root_type, model.model_type);
  if (!has_word(kWithTowers, module.name)) {
    drop_towers(model.tensors);
    drop_towers(model.unknown);
    drop_towers(model.stored);
  }
  std::erase_if(model.tensors, [](const TensorGroup& group) { return group.is_derived; });
  for (TensorGroup& group : model.tensors) {
    group.kept = kept_by(module, group);
    group.is_float32 = is_float32(module, group);
  }
}

}  // namespace kvplan
