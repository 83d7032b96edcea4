// Which model classes vLLM gained and lost, release by release. A class that transformers' code can run in the release
// is not missing. Made by scripts/engine_classes.py from the wheels of 0.6.6 to 0.33.0.
#include "engines/vllm/class_table.h"

namespace kvplan {

// clang-format off
constexpr RegistryRow kRegistry[] = {
    {{0, 7},
     "BambaForCausalLM DeepseekVLV2ForCausalLM Fairseq2LlamaForCausalLM GLM4VForCausalLM "
     "InternLM3ForCausalLM Mamba2ForCausalLM MiniCPMO Qwen2_5_VLForConditionalGeneration "
     "QwenVLForConditionalGeneration WhisperForConditionalGeneration"},
    {{0, 8},
     "AyaVisionForConditionalGeneration Gemma3ForCausalLM Gemma3ForConditionalGeneration Glm4ForCausalLM "
     "GraniteMoeSharedForCausalLM GraniteSpeechForConditionalGeneration Grok1ModelForCausalLM "
     "KimiVLForConditionalGeneration Llama4ForCausalLM Llama4ForConditionalGeneration "
     "MiniMaxText01ForCausalLM Mistral3ForConditionalGeneration Phi4MMForCausalLM "
     "Phi4MultimodalForCausalLM Plamo2ForCausalLM Qwen3ForCausalLM Qwen3MoeForCausalLM "
     "SmolVLMForConditionalGeneration TeleFLMForCausalLM Zamba2ForCausalLM"},
    {{0, 9},
     "ArceeForCausalLM Dots1ForCausalLM Ernie4_5ForCausalLM Ernie4_5_ForCausalLM Ernie4_5_MoeForCausalLM "
     "Exaone4ForCausalLM FalconH1ForCausalLM Gemma3nForCausalLM Gemma3nForConditionalGeneration "
     "Glm4MoeForCausalLM Glm4vForConditionalGeneration GraniteMoeHybridForCausalLM HunYuanMoEV1ForCausalLM "
     "InternVLForConditionalGeneration KeyeForConditionalGeneration Lfm2ForCausalLM MiMoForCausalLM "
     "MiniMaxForCausalLM MiniMaxM1ForCausalLM MiniMaxVL01ForConditionalGeneration NemotronHForCausalLM "
     "Ovis Qwen2_5OmniForConditionalGeneration Tarsier2ForConditionalGeneration "
     "TarsierForConditionalGeneration VoxtralForConditionalGeneration"},
    {{0, 10},
     "ApertusForCausalLM BailingMoeForCausalLM Cohere2VisionForConditionalGeneration "
     "DonutForConditionalGeneration Ernie4_5_VLMoeForConditionalGeneration "
     "Glm4vMoeForConditionalGeneration GptOssForCausalLM HCXVisionForCausalLM HunYuanDenseV1ForCausalLM "
     "InternS1ForConditionalGeneration KeyeVL1_5ForConditionalGeneration Llama_Nemotron_Nano_VL "
     "MBartForConditionalGeneration MotifForCausalLM NemotronH_Nano_VL Ovis2_5 Phi4FlashForCausalLM "
     "Qwen3NextForCausalLM RForConditionalGeneration SeedOssForCausalLM Step3TextForCausalLM "
     "Step3VLForConditionalGeneration",
     "Ernie4_5_ForCausalLM Phi3SmallForCausalLM QuantMixtralForCausalLM"},
    {{0, 11},
     "AfmoeForCausalLM BailingMoeV2ForCausalLM BeeForConditionalGeneration CwmForCausalLM "
     "DeepseekOCRForCausalLM DeepseekV32ForCausalLM DotsOCRForCausalLM FlexOlmoForCausalLM "
     "KimiLinearForCausalLM Lfm2MoeForCausalLM Lfm2VlForConditionalGeneration "
     "LightOnOCRForConditionalGeneration LongcatFlashForCausalLM MiniMaxM2ForCausalLM NemotronH_Nano_VL_V2 "
     "Olmo3ForCausalLM OuroForCausalLM PaddleOCRVLForConditionalGeneration PanguEmbeddedForCausalLM "
     "PanguUltraMoEForCausalLM Qwen3OmniMoeForConditionalGeneration Qwen3VLForConditionalGeneration "
     "Qwen3VLMoeForConditionalGeneration",
     "DonutForConditionalGeneration MotifForCausalLM NemotronH_Nano_VL Phi4FlashForCausalLM"},
    {{0, 12},
     "HunYuanVLForConditionalGeneration MistralLarge3ForCausalLM OpenCUAForConditionalGeneration "
     "Plamo3ForCausalLM TeleChatForCausalLM"},
    {{0, 13},
     "AudioFlamingo3ForConditionalGeneration BagelForConditionalGeneration Jais2ForCausalLM"},
    {{0, 14},
     "ExaoneMoEForCausalLM GlmAsrForConditionalGeneration Grok1ForCausalLM IQuestCoderForCausalLM "
     "IQuestLoopCoderForCausalLM IsaacForConditionalGeneration KananaVForConditionalGeneration "
     "MiMoV2FlashForCausalLM NemotronParseForConditionalGeneration PanguProMoEV2ForCausalLM "
     "VoxtralStreamingGeneration"},
    {{0, 15},
     "Glm4MoeLiteForCausalLM KimiK25ForConditionalGeneration Molmo2ForConditionalGeneration "
     "Step1ForCausalLM Step3p5ForCausalLM StepVLForConditionalGeneration"},
    {{0, 16},
     "DeepseekOCR2ForCausalLM FunAudioChatForConditionalGeneration GlmMoeDsaForCausalLM "
     "GlmOcrForConditionalGeneration HF_ColBERT InternS1ProForConditionalGeneration "
     "MusicFlamingoForConditionalGeneration NemotronHPuzzleForCausalLM OpenPanguVLForConditionalGeneration "
     "Qwen3ASRForConditionalGeneration VoxtralRealtimeGeneration",
     "VoxtralStreamingGeneration"},
    {{0, 17},
     "AXK1ForCausalLM BailingMoeV2_5ForCausalLM ColQwen3 FireRedASR2ForConditionalGeneration "
     "FunASRForConditionalGeneration Ovis2_6ForCausalLM Ovis2_6_MoeForCausalLM Qwen3ASRRealtimeGeneration "
     "Qwen3_5ForConditionalGeneration Qwen3_5MoeForConditionalGeneration"},
    {{0, 18},
     "HCXVisionV2ForCausalLM HyperCLOVAXForCausalLM MoonshotKimiaForCausalLM OlmoHybridForCausalLM "
     "SarvamMLAForCausalLM SarvamMoEForCausalLM"},
    {{0, 19},
     "CohereAsrForConditionalGeneration ColQwen3_5 ExaoneMoeForCausalLM Gemma4ForCausalLM "
     "Gemma4ForConditionalGeneration Ministral3ForCausalLM Qwen3_5ForCausalLM Qwen3_5MoeForCausalLM"},
    {{0, 20},
     "Cheers CheersForConditionalGeneration DeepseekV4ForCausalLM Exaone4_5_ForConditionalGeneration "
     "FireRedLIDForConditionalGeneration Granite4VisionForConditionalGeneration HYV3ForCausalLM "
     "NemotronH_Nano_Omni_Reasoning_V3 NemotronH_Super_Omni_Reasoning_V3 Param2MoEForCausalLM "
     "Phi4ForCausalLMV Rnj1ForCausalLM TeleChat3ForCausalLM"},
    {{0, 21},
     "Cohere2MoeForCausalLM HfMoondream LagunaForCausalLM MiMoV2ForCausalLM MiMoV2OmniForCausalLM "
     "Moondream3ForCausalLM QianfanOCRForConditionalGeneration"},
    {{0, 22},
     "InternS2PreviewForConditionalGeneration MellumForCausalLM MiniCPMV4_6ForConditionalGeneration "
     "OpenVLAForActionPrediction"},
    {{0, 23},
     "Cosmos3ForConditionalGeneration Gemma4UnifiedForConditionalGeneration "
     "GraniteSpeechPlusForConditionalGeneration Step3p7ForConditionalGeneration"},
    {{0, 24},
     "DiffusionGemmaForBlockDiffusion HrmTextForCausalLM MiniMaxM3SparseForCausalLM "
     "MiniMaxM3SparseForConditionalGeneration",
     "InternLM2VEForCausalLM InternLMForCausalLM MiniMaxM1ForCausalLM MiniMaxText01ForCausalLM "
     "MiniMaxVL01ForConditionalGeneration QwenVLForConditionalGeneration XverseForCausalLM"},
    {{0, 25},
     "LlavaOnevision2ForConditionalGeneration MossTranscribeDiarizeForConditionalGeneration "
     "UnlimitedOCRForCausalLM",
     "AquilaForCausalLM BaiChuanForCausalLM BaichuanForCausalLM Grok1ForCausalLM Grok1ModelForCausalLM "
     "MantisForConditionalGeneration Tarsier2ForConditionalGeneration TarsierForConditionalGeneration"},
    {{0, 26},
     "Cosmos3EdgeForConditionalGeneration InklingForCausalLM InklingForConditionalGeneration "
     "LongcatFlashNgramForCausalLM",
     "TeleChatForCausalLM"},
    {{0, 27},
     "KimiK3ForConditionalGeneration",
     "OuroForCausalLM Plamo2ForCausalLM"},
    {{0, 28},
     "BailingMoeV3ForCausalLM Dots3NoteForCausalLM InternS2MobiusForConditionalGeneration "
     "MuseGlimmerForCausalLM MuseGlimmerForConditionalGeneration"},
    {{0, 29},
     "CohereCompassForConditionalGeneration Glm5NextForConditionalGeneration GraniteMoeSWAForCausalLM "
     "GraniteSWAForCausalLM HYV4ForCausalLM NemotronH_Omni_Reasoning_V3 Qwen4ExpForCausalLM "
     "Qwen4ExpForConditionalGeneration",
     "ArcticForCausalLM Cheers CheersForConditionalGeneration Fairseq2LlamaForCausalLM "
     "FireRedLIDForConditionalGeneration GritLM HCXVisionForCausalLM MPTForCausalLM MptForCausalLM "
     "RWForCausalLM StableLMEpochForCausalLM"},
    {{0, 30},
     "BailingMoeV3VLForConditionalGeneration DeepseekV41ForCausalLM DeepseekV4ForConditionalGeneration "
     "Glm5NextForCausalLM K2HorizonForCausalLM"},
    {{0, 32},
     "ClefOmniForJointSchema MiniCPMV4_7ForConditionalGeneration"},
    {{0, 33},
     "AliceAIForCausalLM Alpamayo2Super BeamForCausalLM ClefFlashForJointSchema DomynEdgeForCausalLM "
     "DoryForCausalLM FlintForCausalLM MiniCPMOcrForConditionalGeneration "
     "MuseSparkForConditionalGeneration RadioMBartPrefixForCausalLM Step5ForCausalLM "
     "Step5ForConditionalGeneration"},
};
// clang-format on

std::span<const RegistryRow> vllm_registry_rows() {
  return kRegistry;
}

}  // namespace kvplan
