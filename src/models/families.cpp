#include "models/families.h"
#include "kvplan/strings.h"

#include <array>
#include <string>

namespace kvplan {

namespace {

constexpr std::array kFamilies{
    Family{
        "plain",
        "llama code_llama yi internlm internlm2 internlm3 arcee seed_oss granite granitemoe granitemoeshared "
        "exaone helium hyperclovax apertus olmo olmo2 olmoe flex_olmo stablelm stablelm_epoch nemotron phi persimmon "
        "ernie4_5 ernie4_5_moe ernie4_5_vl_moe_text ernie4_5_moe_vl glm glm4 glm4_moe glm4v_text glm4v_moe_text "
        "glm_ocr_text "
        "glm_image_text solar solar_open hunyuan_vl_text hy_v3 jais jais2 bitnet "
        "cohere "
        "minimax_m2 nanochat diffllama qwen baichuan deepseek bailing_moe bailing_moe_v2 ministral3 xglm biogpt aquila "
        "gpt2 gptj codegen gpt_neox gpt_neox_japanese opt bloom ctrl xverse orion minicpm minicpmv klear telechat "
        "telechat2 telechat3 aria_text emu3_text_model fuyu chameleon openai-gpt gemma doge jetmoe cpmant csm moshi "
        "kimi_vl_text grok-1 grok arctic skywork decilm smollm phi3small llada pangu paddleocr_vl_text "
        "step1 llada2_moe sarvam_moe panguembedded granite_speech gpt-sw3 mixformer-sequential qwen2_audio_text "
        "idefics cohere_compass_text "
        "qwen3_omni_moe_talker_text cosmos3_edge_text "
        "granite4_vision_text higgs_audio_v2 evolla csm_depth_decoder_model musicgen_decoder musicgen_melody_decoder "
        "imagegpt git clvp_decoder xlnet reformer blt_global_transformer kosmos_2_text_model kosmos_2_5_text_model "
        "phixtral lille-130m codeshell molmo molmo2 unlimited_ocr_text "
        "deepseek_v1",
        read_plain},
    Family{"windowed",
           "mistral mistral3_text ministral mixtral phi3 phimoe phi4_multimodal phi4mm phi3_v starcoder2 gemma2 "
           "vaultgemma "
           "gemma3_text t5gemma2_text cohere2 cohere2_moe olmo3 cwm exaone4 exaone_moe afmoe gpt_oss granite_swa "
           "granitemoe_swa "
           "laguna mellum modernbert-decoder gpt_neo smollm3 voxtral_realtime_text diffusion_gemma_text "
           "muse_glimmer_text muse_glimmer_assistant smallthinker spark2_5 plamo3 kyutai_speech_to_text moshi_depth "
           "beam flint kolibri1 muse_spark_text",
           read_windowed},
    Family{"qwen",
           "mimo qwen2 qwen2_moe qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen2_5_omni_text qwen3 qwen3_moe "
           "qwen3_vl_text "
           "qwen3_vl_moe_text qwen3_omni_moe_text dots1 internvl_chat_text minicpmo qwen3_asr_text "
           "deepseek_ocr2_encoder dream sdar sdar_moe llava_qwen dots_ocr "
           "qwen2_5_omni_talker qwen3_omni_moe_talker_code_predictor",
           read_qwen},
    Family{"llama4", "llama4_text llama4", read_llama4},
    Family{"gemma3n", "gemma3n_text", read_gemma3n},
    Family{"gemma4", "gemma4_text gemma4_unified_text", read_gemma4},
    Family{"mimo_v2", "mimo_v2_flash mimo_v2", read_mimo_v2},
    Family{"step3p5", "step3p5 step3p7 step3_text", read_step3p5},
    Family{"nemotron-nas", "nemotron-nas deci", read_nemotron_nas},
    Family{"openelm", "openelm", read_openelm},
    Family{"falcon", "falcon refinedweb refinedwebmodel", read_falcon},
    Family{"gpt_bigcode", "gpt_bigcode", read_gpt_bigcode},
    Family{"attn_config", "mpt dbrx", read_attn_config},
    Family{"chatglm", "chatglm", read_chatglm},
    Family{"cross_layer", "hunyuan hunyuan_large hunyuan_moe hunyuan_v1_dense hunyuan_v1_moe afm7 afm",
           read_cross_layer},
    Family{"phi4flash", "phi4flash sambay", read_phi4flash},
    Family{"mla",
           "deepseek_v2 deepseek_v3 deepseek_vl_v2 dots_vlm deepseek_ocr2_text kimi_k2 kimi_k25 glm4_moe_lite minicpm3 "
           "youtu axk1 "
           "mistral4 pangu_ultra_moe deepseek_mtp sarvam_mla",
           read_mla},
    Family{"sparse_mla", "deepseek_v32 glm_moe_dsa axk2 hy_v4", read_sparse_mla},
    Family{"dots3_note", "dots3_note_text", read_dots3_note},
    Family{"mistral_large4", "mistral_large4_text", read_mistral_large4},
    Family{"longcat", "longcat_flash longcat_flash_ngram longcat_next", read_longcat},
    Family{"deepseek_v4", "deepseek_v4 deepseek_ref", read_deepseek_v4},
    Family{"minimax_m3", "minimax_m3_vl_text minimax_m3", read_minimax_m3},
    Family{"gated_delta_net", "qwen3_next qwen3_5_text qwen3_5_moe_text olmo_hybrid", read_gated_delta_net},
    Family{"qwen4_exp", "qwen4_exp_text qwen4_exp qwen3_8_flash_next_text qwen3_8_flash_next", read_qwen4_exp},
    Family{"gigachat", "gigachat3_5", read_gigachat},
    Family{"glm5_next", "glm5_next_text glm5_next glm5next_text glm5next", read_glm5_next},
    Family{"minicpm_sala", "minicpm_sala", read_minicpm_sala},
    Family{"jet_nemotron", "jet_nemotron", read_jet_nemotron},
    Family{"kimi_linear", "kimi_linear kimi_k3", read_kimi_linear},
    Family{"lightning", "minimax minimax_text_01 minimax_m1 bailing_moe_linear bailing_moe_v2_linear bailing_hybrid",
           read_lightning},
    Family{"mamba", "mamba falcon_mamba", read_mamba},
    Family{"mamba2", "mamba2", read_mamba2_model},
    Family{"jamba", "jamba", read_jamba},
    Family{"mamba2_hybrid", "bamba granitemoehybrid nemotron_h nemotron_h_puzzle", read_mamba2_hybrid},
    Family{"plamo", "plamo", read_plamo},
    Family{"plamo2", "plamo2", read_plamo2},
    Family{"zamba", "zamba", read_zamba},
    Family{"zamba2", "zamba2", read_zamba2},
    Family{"falcon_h1", "falcon_h1", read_falcon_h1},
    Family{"hymba", "hymba", read_hymba},
    Family{"lfm2", "lfm2 lfm2_moe lfm3", read_lfm2},
    Family{"recurrent_gemma", "recurrent_gemma", read_recurrent_gemma},
    Family{"rwkv", "rwkv rwkv5 rwkv6 rwkv6qwen2 rwkv7 arwkv7", read_rwkv},
    Family{"xlstm", "xlstm", read_xlstm},
    Family{"mllama", "mllama_text_model", read_mllama},
    Family{"encoder_decoder",
           "t5 mt5 umt5 longt5 switch_transformers ul2 bart mbart plbart mvp pegasus pegasus_x marian m2m_100 nllb-moe "
           "blenderbot blenderbot-small whisper speech_to_text moonshine moonshine_streaming t5gemma t5_gemma_module "
           "t5gemma2_decoder t5gemma2_module fsmt bigbird_pegasus seamless_m4t seamless_m4t_v2 led prophetnet "
           "xlm-prophetnet "
           "speecht5 trocr pop2piano udop dia_decoder cohere_asr pix2struct_text_model nllb_moe",
           read_encoder_decoder},
    Family{"looped", "hrm_text iquestloopcoder ouro nanbeige", read_looped},
    Family{"conv_attention", "zaya inkling_text inkling2_text baichuan_m1", read_conv_attention},
    Family{"encoder",
           "bert roberta xlm-roberta xlm-roberta-xl roberta-prelayernorm albert distilbert electra camembert deberta "
           "deberta-v2 mpnet modernbert eurobert nomic_bert jina_embeddings_v3 bert-generation rembert roformer "
           "megatron-bert ernie big_bird data2vec-text mobilebert squeezebert xmod "
           "new gte",  // what Alibaba's and Snowflake's embedders call themselves
           read_encoder},
};

}  // namespace

std::span<const Family> families() {
  return kFamilies;
}

const Family* find_family(std::string_view model_type) {
  const std::string wanted = lower(model_type);
  for (const Family& family : kFamilies)
    if (has_word(family.model_types, wanted)) return &family;
  return nullptr;
}

bool attends_plainly(const Family& family) {
  return family.read == read_plain || family.read == read_windowed || family.read == read_qwen;
}

std::string_view model_type_of(std::string_view architecture) {
  for (const std::string_view suffix : {"ForConditionalGeneration", "ForCausalLM", "LMHeadModel", "Model"}) {
    if (!architecture.ends_with(suffix)) continue;
    architecture.remove_suffix(suffix.size());
    break;
  }
  // "DeepseekV4" and "deepseek_v4" are the same word.
  const std::string wanted = folded(architecture);
  if (wanted.empty()) return {};
  for (const Family& family : kFamilies)
    for (const std::string_view type : split(family.model_types))
      if (folded(type) == wanted || folded(type) == wanted + "text") return type;
  return {};
}

}  // namespace kvplan
