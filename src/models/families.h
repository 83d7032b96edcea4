// The table of model families: which rule reads which model_type. To add a family of known kinds, write one function
// in families/ and one row in families.cpp.
#ifndef KVPLAN_MODELS_FAMILIES_H_
#define KVPLAN_MODELS_FAMILIES_H_

#include <span>
#include <string_view>

#include "models/reader.h"

namespace kvplan {

using FamilyFunction = void (*)(Reader& reader);

struct Family {
  std::string_view name;         // of the rule
  std::string_view model_types;  // separated by spaces
  FamilyFunction read;
};

std::span<const Family> families();
// The family of a model_type; null where no row has it.
const Family* find_family(std::string_view model_type);
// The model_type that an architecture's name implies ("DeepseekV4ForCausalLM" -> "deepseek_v4"); empty for none.
std::string_view model_type_of(std::string_view architecture);

// families/*.cpp
void read_plain(Reader& reader);     // every layer attends to everything
void read_windowed(Reader& reader);  // windows in a pattern that the class names
void read_qwen(Reader& reader);      // windows only with use_sliding_window
void read_llama4(Reader& reader);
void read_gemma3n(Reader& reader);
void read_gemma4(Reader& reader);
void read_mimo_v2(Reader& reader);
void read_step3p5(Reader& reader);
void read_nemotron_nas(Reader& reader);
void read_openelm(Reader& reader);
void read_falcon(Reader& reader);
void read_gpt_bigcode(Reader& reader);
void read_attn_config(Reader& reader);  // MPT, DBRX
void read_chatglm(Reader& reader);
void read_cross_layer(Reader& reader);  // Hunyuan's CLA, AFM's reuse
void read_phi4flash(Reader& reader);
void read_mla(Reader& reader);
void read_sparse_mla(Reader& reader);
void read_dots3_note(Reader& reader);
void read_mistral_large4(Reader& reader);
void read_longcat(Reader& reader);
void read_deepseek_v4(Reader& reader);
void read_minimax_m3(Reader& reader);
void read_gated_delta_net(Reader& reader);
void read_kimi_linear(Reader& reader);
void read_qwen4_exp(Reader& reader);
void read_gigachat(Reader& reader);
void read_glm5_next(Reader& reader);
void read_minicpm_sala(Reader& reader);
void read_jet_nemotron(Reader& reader);
void read_lightning(Reader& reader);
void read_mamba(Reader& reader);
void read_mamba2_model(Reader& reader);
void read_jamba(Reader& reader);
void read_mamba2_hybrid(Reader& reader);  // Bamba, Granite 4, Nemotron-H, PLaMo-2
void read_zamba(Reader& reader);
void read_zamba2(Reader& reader);
void read_falcon_h1(Reader& reader);
void read_hymba(Reader& reader);
void read_lfm2(Reader& reader);
void read_recurrent_gemma(Reader& reader);
void read_rwkv(Reader& reader);
void read_xlstm(Reader& reader);
void read_mllama(Reader& reader);
void read_encoder_decoder(Reader& reader);
void read_router_layer(Reader& reader);
void read_no_cache(Reader& reader);
void read_looped(Reader& reader);          // HRM, IQuest, Ouro: more caches than weight layers
void read_conv_attention(Reader& reader);  // ZAYA, Inkling, Baichuan-M1: short convolutions beside the attention
void read_plamo(Reader& reader);
void read_plamo2(Reader& reader);
void read_encoder(Reader& reader);  // BERT and kin: nothing is decoded, nothing is kept
void read_generic(Reader& reader);  // the fallback: attention_type and the plain fields

// The kind that a word of attention_type stands for; "" for a word that names none.
std::string_view kind_of_word(std::string_view word);
// True where `word` (of attention_type) names a kind outright and the config has what that kind needs.
bool names_a_kind(const Reader& reader, std::string_view word);
// A known family whose layers attend in the plain way, so that attention_type may say more than the class does.
bool attends_plainly(const Family& family);

// The mixers that the generic rule shares with the families.
Mixer latent_mixer(const Fields& config);         // MLA
Mixer sparse_latent_mixer(const Fields& config);  // MLA with an indexer
Mixer sparse_gqa_mixer(const Fields& config);
Linear read_delta_net(const Fields& config);  // linear_num_key_heads ...
Linear read_kda(const Fields& settings);      // of linear_attn_config
// KDA of linear_attn_config, else of linear_* keys beside it, else of the class's usual heads.
Linear read_linear_heads(const Fields& text, std::uint64_t num_heads, std::uint64_t head_dim);
Linear read_matrix_state(const Heads& heads);  // lightning: one d x d matrix a head
ShortConv read_short_conv(const Fields& config);
RgLru read_rg_lru(const Fields& config);
Rwkv read_rwkv_mixer(const Fields& config);
Ssm read_ssm(const Fields& config);  // Mamba 2 where heads of its own are named, else Mamba 1

}  // namespace kvplan

#endif  // KVPLAN_MODELS_FAMILIES_H_
