// Which model classes SGLang gained and lost, release by release. A class that transformers' code can run in the
// release is not missing. Made by scripts/engine_classes.py from the wheels of 0.4.4 to 0.5.23.
#include "engines/sglang/class_table.h"

namespace kvplan {

// clang-format off
constexpr RegistryRow kRegistry[] = {
    {{0, 4, 6},
     "KimiVLForConditionalGeneration LlavaForConditionalGeneration MiMoForCausalLM "
     "Mistral3ForConditionalGeneration"},
    {{0, 4, 9},
     "ArceeForCausalLM Ernie4_5_MoeForCausalLM Exaone4ForCausalLM Gemma3nForCausalLM "
     "Gemma3nForConditionalGeneration Glm4ForCausalLM Glm4MoeForCausalLM Glm4vForConditionalGeneration "
     "GraniteMoeForCausalLM HunYuanDenseV1ForCausalLM HunYuanMoEV1ForCausalLM "
     "InternS1ForConditionalGeneration Lfm2ForCausalLM OPTForCausalLM PersimmonForCausalLM "
     "Phi4MMForCausalLM PhiMoEForCausalLM Qwen2AudioForConditionalGeneration TransformersForCausalLM "
     "VILAForConditionalGeneration VoxtralForConditionalGeneration"},
    {{0, 4, 10},
     "Step3VLForConditionalGeneration"},
    {{0, 5, 1},
     "ApertusForCausalLM BailingMoeForCausalLM Cohere2VisionForConditionalGeneration DeciLMForCausalLM "
     "Ernie4_5_ForCausalLM Glm4vMoeForConditionalGeneration GptOssForCausalLM"},
    {{0, 5, 2},
     "LongcatFlashForCausalLM Qwen3NextForCausalLM"},
    {{0, 5, 3},
     "BailingMoEForCausalLM BailingMoeV2ForCausalLM DeepseekV32ForCausalLM DotsOCRForCausalLM "
     "DotsVLMForCausalLM FalconH1ForCausalLM Lfm2VlForConditionalGeneration NemotronHForCausalLM "
     "Qwen3OmniMoeForConditionalGeneration Qwen3VLForConditionalGeneration "
     "Qwen3VLMoeForConditionalGeneration Sarashina2VisionForCausalLM SolarForCausalLM"},
    {{0, 5, 4},
     "DeepseekOCRForCausalLM KimiLinearForCausalLM MiniMaxM2ForCausalLM NVILAForConditionalGeneration "
     "NVILALiteForConditionalGeneration",
     "VILAForConditionalGeneration"},
    {{0, 5, 5},
     "JetNemotronForCausalLM OrionForCausalLM TeleFLMForCausalLM"},
    {{0, 5, 6},
     "JetVLMForConditionalGeneration LLaDA2MoeModelLM Ministral3ForCausalLM MistralLarge3ForCausalLM "
     "NemotronH_Nano_VL_V2 PaddleOCRVLForConditionalGeneration PixtralForConditionalGeneration"},
    {{0, 5, 7},
     "GlmAsrForConditionalGeneration MiMoV2FlashForCausalLM"},
    {{0, 5, 8},
     "AfmoeForCausalLM Glm4MoeLiteForCausalLM IQuestCoderForCausalLM IQuestLoopCoderForCausalLM"},
    {{0, 5, 9},
     "BailingMoeV2_5ForCausalLM Ernie4_5_VLMoeForConditionalGeneration ExaoneMoEForCausalLM "
     "GPTJForCausalLM GlmMoeDsaForCausalLM GlmOcrForConditionalGeneration GraniteMoeHybridForCausalLM "
     "InternS1ProForConditionalGeneration KimiK25ForConditionalGeneration Lfm2MoeForCausalLM "
     "LightOnOCRForConditionalGeneration Qwen3_5ForConditionalGeneration "
     "Qwen3_5MoeForConditionalGeneration SDARForCausalLM SDARMoeForCausalLM Step3p5ForCausalLM "
     "StepVLForConditionalGeneration"},
    {{0, 5, 10},
     "ExaoneMoeForCausalLM FalconMambaForCausalLM GlmImageForConditionalGeneration "
     "GraniteMoeSharedForCausalLM Mamba2ForCausalLM MambaForCausalLM Qwen3_5ForCausalLM "
     "Qwen3_5MoeForCausalLM SarvamMLAForCausalLM SarvamMoEForCausalLM TransformersMoEForCausalLM "
     "TransformersMultiModalForCausalLM TransformersMultiModalMoEForCausalLM "
     "WhisperForConditionalGeneration"},
    {{0, 5, 11},
     "Gemma4ForCausalLM Gemma4ForConditionalGeneration HYV3ForCausalLM MiMoV2ForCausalLM "
     "MossVLForConditionalGeneration NemotronH_Nano_Omni_Reasoning_V3 Qwen3ASRForConditionalGeneration"},
    {{0, 5, 12},
     "DeepseekV4ForCausalLM InternS2PreviewForConditionalGeneration LagunaForCausalLM "
     "MiniCPMV4_6ForConditionalGeneration"},
    {{0, 5, 13},
     "Cohere2MoeForCausalLM Gemma4UnifiedForConditionalGeneration NemotronHPuzzleForCausalLM "
     "Step3p7ForConditionalGeneration"},
    {{0, 5, 14},
     "MiMoV2ASRForCausalLM ZayaForCausalLM"},
    {{0, 5, 15},
     "DiffusionGemmaForBlockDiffusion HrmTextForCausalLM LocateAnythingForConditionalGeneration "
     "MellumForCausalLM MiniMaxM3SparseForConditionalGeneration UnlimitedOCRForCausalLM"},
    {{0, 5, 16},
     "InklingForConditionalGeneration MiniMaxM3SparseForCausalLM"},
    {{0, 5, 17},
     "KimiK3ForConditionalGeneration"},
    {{0, 5, 18},
     "InternS2MobiusForConditionalGeneration MuseGlimmerForCausalLM MuseGlimmerForConditionalGeneration"},
    {{0, 5, 19},
     "BailingMoeV3ForCausalLM Dots3NoteForCausalLM GraniteMoeSWAForCausalLM GraniteSWAForCausalLM "
     "KimiK3LinearForCausalLM MiniCPMSALAForCausalLM Spark2_5ForCausalLM"},
    {{0, 5, 20},
     "Cosmos3EdgeForConditionalGeneration Cosmos3ForConditionalGeneration Glm5NextForConditionalGeneration "
     "HYV4ForCausalLM K2HorizonForCausalLM NanbeigeForCausalLM NemotronH_Omni_Reasoning_V3 "
     "Qwen4ExpForConditionalGeneration XllmForCausalLM"},
    {{0, 5, 21},
     "BailingMM2NativeForConditionalGeneration BailingMMNativeForConditionalGeneration "
     "BailingMoeV3VLForConditionalGeneration GigaChat35ForCausalLM IQuestQ1ForCausalLM"},
    {{0, 5, 22},
     "MiniCPMV4_7ForConditionalGeneration"},
    {{0, 5, 23},
     "BeamForCausalLM MuseSparkForConditionalGeneration"},
};
// clang-format on

std::span<const RegistryRow> sglang_registry_rows() {
  return kRegistry;
}

}  // namespace kvplan
