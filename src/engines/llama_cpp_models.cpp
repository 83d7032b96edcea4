// Source: llama.cpp v0.5.0, conversion/ (classes that are registered), src/llama-arch.cpp (names), src/models/*.cpp
// (who sets swa_type), llm_arch_supports_rs_rollback.
#include "engines/llama_cpp_models.h"

#include "kvplan/strings.h"

namespace kvplan {

namespace {

constexpr std::string_view kClasses =
    "afmoeforcausallm apertusforcausallm arceeforcausallm arcticforcausallm "
    "audioflamingo3forconditionalgeneration baichuanforcausallm bailingmoeforcausallm bailingmoev2forcausallm "
    "bailingmoev3forcausallm bambaforcausallm bertformaskedlm bertforsequenceclassification bertmodel "
    "bitnetforcausallm bloomforcausallm bloommodel camembertmodel chameleonforcausallm "
    "chameleonforconditionalgeneration chatglmforconditionalgeneration chatglmmodel codeshellforcausallm "
    "cogvlmforcausallm cohere2forcausallm cohere2moeforcausallm cohereforcausallm dbrxforcausallm "
    "decilmforcausallm deepseekforcausallm deepseekocr2forcausallm deepseekocrforcausallm deepseekv2forcausallm "
    "deepseekv32forcausallm deepseekv3forcausallm deepseekv4forcausallm distilbertformaskedlm "
    "distilbertforsequenceclassification distilbertmodel dots1forcausallm dots3noteforcausallm "
    "dots3noteforconditionalgeneration dots3notetextforcausallm dotsocrforcausallm dreammodel "
    "ernie4_5_forcausallm ernie4_5_moeforcausallm ernie4_5forcausallm eurobertmodel "
    "exaone4_5_forconditionalgeneration exaone4forcausallm exaoneforcausallm exaonemoeforcausallm "
    "falconforcausallm falconh1forcausallm falconmambaforcausallm gemma2forcausallm gemma3forcausallm "
    "gemma3forconditionalgeneration gemma3nforcausallm gemma3nforconditionalgeneration gemma3textmodel "
    "gemma4forcausallm gemma4forconditionalgeneration gemma4unifiedforconditionalgeneration gemmaforcausallm "
    "glm4forcausallm glm4moeforcausallm glm4moeliteforcausallm glm4vforconditionalgeneration "
    "glm4vmoeforconditionalgeneration glm5vforconditionalgeneration glmforcausallm glmmoedsaforcausallm "
    "glmocrforconditionalgeneration gpt2lmheadmodel gptbigcodeforcausallm gptneoxforcausallm gptossforcausallm "
    "gptrefactforcausallm granite4visionforconditionalgeneration graniteforcausallm granitemoeforcausallm "
    "granitemoehybridforcausallm granitemoesharedforcausallm granitemoeswaforcausallm "
    "granitespeechforconditionalgeneration granitespeechplusforconditionalgeneration graniteswaforcausallm "
    "graniteswitchforcausallm grok1forcausallm grokforcausallm grovemoeforcausallm hrmtextforcausallm "
    "hunyuandensev1forcausallm hunyuanmoev1forcausallm hunyuanvlforconditionalgeneration hyv3forcausallm "
    "hyv4forcausallm idefics3forconditionalgeneration internlm2forcausallm internlm3forcausallm "
    "iquestcoderforcausallm jais2forcausallm jaislmheadmodel jambaforcausallm janusforconditionalgeneration "
    "jinabertformaskedlm jinabertmodel jinaembeddingsv5model kimik25forconditionalgeneration "
    "kimik3forconditionalgeneration kimilinearforcausallm kimilinearmodel kimivlforconditionalgeneration "
    "kormoforcausallm lagunaforcausallm lfm2audioforconditionalgeneration lfm2bidirectionalmodel "
    "lfm2forcausallm lfm2model lfm2moeforcausallm lfm2vlforconditionalgeneration "
    "lightonocrforconditionalgeneration lladamodellm lladamoemodel lladamoemodellm llama4forcausallm "
    "llama4forconditionalgeneration llamabidirectionalmodel llamaforcausallm llamamodel "
    "llavaforconditionalgeneration llavastablelmepochforcausallm maincoderforcausallm mamba2forcausallm "
    "mambaforcausallm mambalmheadmodel mapleforcausallm mellumforcausallm meralion2forconditionalgeneration "
    "mimov2flashforcausallm mimov2forcausallm minicpm3forcausallm minicpmforcausallm "
    "minicpmv4_6forconditionalgeneration minimaxm1forcausallm minimaxm2forcausallm minimaxm3sparseforcausallm "
    "minimaxm3sparseforconditionalgeneration minimaxm3vlforconditionalgeneration minimaxtext01forcausallm "
    "ministral3forcausallm mistral3forconditionalgeneration mistralforcausallm mixtralforcausallm "
    "modernbertformaskedlm modernbertforsequenceclassification modernbertmodel mptforcausallm "
    "mt5forconditionalgeneration museglimmerforconditionalgeneration nanbeigeforcausallm nemotronforcausallm "
    "nemotronh_nano_vl_v2 nemotronhforcausallm nemotronhpuzzleforcausallm neobert "
    "neobertforsequenceclassification neobertlmhead nomicbertmodel olmo2forcausallm olmo3forcausallm "
    "olmoeforcausallm olmoforcausallm openelmforcausallm orionforcausallm paddleocrvlforconditionalgeneration "
    "panguembeddedforcausallm phi3forcausallm phi4forcausallmv phiforcausallm phimoeforcausallm "
    "plamo2forcausallm plamo3forcausallm plamoforcausallm plmforcausallm pocketttsmodel "
    "qwen2_5_vlforconditionalgeneration qwen2_5omnimodel qwen2audioforconditionalgeneration qwen2forcausallm "
    "qwen2model qwen2moeforcausallm qwen2vlforconditionalgeneration qwen2vlmodel qwen3_5forcausallm "
    "qwen3_5forconditionalgeneration qwen3_5moeforcausallm qwen3_5moeforconditionalgeneration "
    "qwen3asrforconditionalgeneration qwen3forcausallm qwen3model qwen3moeforcausallm qwen3nextforcausallm "
    "qwen3omnimoeforconditionalgeneration qwen3ttsforconditionalgeneration qwen3vlforconditionalgeneration "
    "qwen3vlmoeforconditionalgeneration qwen4expforcausallm qwen4expforconditionalgeneration qwenlmheadmodel "
    "rnd1 robertaforsequenceclassification robertamodel rugpt3xlforcausallm rwforcausallm rwkv6forcausallm "
    "rwkv6qwen2forcausallm rwkv7forcausallm rwkvhybridforcausallm sarashina2visionforcausallm "
    "sarvammoeforcausallm seedossforcausallm smallthinkerforcausallm smollm3forcausallm "
    "smolvlmforconditionalgeneration solaropenforcausallm spark2_5forcausallm stablelmepochforcausallm "
    "stablelmforcausallm starcoder2forcausallm step3p5forcausallm step3p7forconditionalgeneration "
    "stepvlforconditionalgeneration t5encodermodel t5forconditionalgeneration t5withlmheadmodel "
    "talkieforcausallm ultravoxmodel umt5forconditionalgeneration umt5model unlimitedocrforcausallm "
    "vllama3forcausallm voxtralforconditionalgeneration xlmrobertaforsequenceclassification xlmrobertamodel "
    "xverseforcausallm youtuforcausallm youtuvlforconditionalgeneration";

constexpr std::string_view kGgufNames =
    "afmoe apertus arcee arctic arwkv7 baichuan bailingmoe bailingmoe2 bailingmoe3 bert bitnet bloom chameleon "
    "chatglm clip codeshell cogvlm cohere2 cohere2moe command_r dbrx deci deepseek deepseek2 deepseek2_ocr "
    "deepseek32 deepseek4 dflash dots1 dots3note dream eagle3 ernie4_5 ernie4_5_moe eurobert exaone exaone4 "
    "exaone_moe falcon falcon_h1 gemma gemma2 gemma3 gemma3n gemma4 gemma4_assistant gemma_embedding glm4 "
    "glm4moe glm_dsa gpt2 gpt_oss gptj gptneox granite granite_swa granitehybrid granitemoe graniteswitch grok "
    "grovemoe hrm_text hunyuan_dense hunyuan_moe hunyuan_vl hy_v3 hy_v4 internlm2 jais jais2 jamba jina_bert_v2 "
    "jina_bert_v3 kimi_k3 kimi_linear laguna lfm2 lfm2moe llada llada_moe llama llama4 llama_embed maincoder "
    "mamba mamba2 maple mellum mimo2 minicpm minicpm3 minimax_01 minimax_m2 minimax_m3 mistral3 mistral4 "
    "modern_bert mpt muse_glimmer nanbeige nemotron nemotron_h nemotron_h_moe neo_bert nomic_bert "
    "nomic_bert_moe olmo olmo2 olmoe openelm orion paddleocr pangu_embedded phi2 phi3 phimoe plamo plamo2 "
    "plamo3 plm pockettts qwen qwen2 qwen2moe qwen2vl qwen3 qwen35 qwen35moe qwen3moe qwen3next qwen3tts "
    "qwen3vl qwen3vlmoe qwen4exp refact rnd1 rwkv6 rwkv6qwen2 rwkv7 seed_oss smallthinker smollm3 spark2_5 "
    "stablelm starcoder starcoder2 step35 t5 t5encoder talkie wavtokenizer_dec xverse";

constexpr std::string_view kWindowed =
    "gemma2 gemma3 gemma3_text gemma3n gemma3n_text gemma4 gemma4_text gemma4_unified gemma4_unified_text gpt_oss "
    "cohere2 cohere2_moe cohere2moe olmo2 olmo3 exaone4 exaone4_5 exaone4_5_text exaone_moe llama4 llama4_text "
    "smallthinker mimo2 mimo_v2 mimo_v2_flash step35 step3p5 step3p7 granite_swa granite_moe_swa granitemoeswa afmoe "
    "mellum muse_glimmer muse_glimmer_text plamo3 laguna lfm2 lfm2_moe lfm2moe spark2_5 maple dots3note dots3_note "
    "deepseek4 "
    "deepseek_v4 deepseek_ref dflash";
constexpr std::string_view kExpanded = "minicpm3 plm";
constexpr std::string_view kEmptyLayers = "deci nemotron_nas";
constexpr std::string_view kIndexValues =
    "minimax_m3 minimax_m3_vl minimax_m3_vl_text minimax_m3_text minimax_m3_sparse";
constexpr std::string_view kRollback =
    "kimi_k3 qwen35 qwen35moe qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text qwen4exp qwen4_exp deepseek4 "
    "deepseek_v4 deepseek_ref nemotron_h nemotron_h_moe lfm2 lfm2_moe lfm2moe bailingmoe3 bailing_moe_v3 "
    "bailing_hybrid";
constexpr std::string_view kFourStreams = "gemma3n gemma3n_text deepseek4 deepseek_v4 deepseek_ref";
constexpr std::string_view kNoFlashAttention = "grok grok_1 grok1 grok_2";

// Without what spellings differ in.
std::string plain(std::string_view names) {
  std::string out = lower(names);
  std::erase_if(out, [](char c) { return c == '-' || c == '.' || c == '_'; });
  return out;
}

bool has_name(std::string_view names, std::string_view name) {
  return has_word(plain(names), plain(name));
}

}  // namespace

bool llama_cpp_runs(const ModelShape& model) {
  if (model.format == "gguf") return has_name(kGgufNames, model.model_type) || has_name(kGgufNames, model.architecture);
  // A class may have several names; its model_type then tells.
  return model.architecture.empty() || has_name(kClasses, model.architecture) || has_name(kGgufNames, model.model_type);
}

bool llama_cpp_keeps_windows(const ModelShape& model) {
  // EXAONE 4: only the 32B has windows, and llama.cpp knows it by its 64 layers.
  if (has_name("exaone4 exaone4_5 exaone4_5_text", model.model_type)) return model.num_layers == 64;
  return has_name(kWindowed, model.model_type);
}

bool llama_cpp_expands_latents(const ModelShape& model) {
  return model.expanded_latents || has_name(kExpanded, model.model_type);
}

bool llama_cpp_keeps_empty_layers(const ModelShape& model) {
  return has_name(kEmptyLayers, model.model_type);
}

bool llama_cpp_index_has_values(const ModelShape& model) {
  return has_name(kIndexValues, model.model_type);
}

bool llama_cpp_rolls_back(const ModelShape& model) {
  return has_name(kRollback, model.model_type);
}

std::uint64_t llama_cpp_residual_streams(const ModelShape& model) {
  return has_name(kFourStreams, model.model_type) ? 4 : 1;
}

bool llama_cpp_forbids_flash_attention(const ModelShape& model) {
  return has_name(kNoFlashAttention, model.model_type);
}

}  // namespace kvplan
