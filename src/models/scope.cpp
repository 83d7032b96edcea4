#include "models/scope.h"

#include <string>
#include <string_view>

#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

// The model_types of transformers whose models read images or sound and write no text.
constexpr std::string_view kWithoutLanguage =
    "align altclip beit bit chinese_clip clap clip clip_vision_model clipseg conditional_detr convnext convnextv2 cvt "
    "d_fine data2vec-vision dac deformable_detr deit depth_anything depth_pro detr dinat dinov2 "
    "dinov2_with_registers dinov3_convnext dinov3_vit dpt efficientnet encodec focalnet glpn grounding-dino groupvit "
    "hiera hubert ijepa levit mask2former maskformer mimi mobilenet_v1 mobilenet_v2 mobilevit mobilevitv2 oneformer "
    "owlv2 owlvit poolformer pvt pvt_v2 regnet resnet rt_detr rt_detr_v2 sam sam2 sam_hq segformer seggpt sew siglip "
    "siglip2 siglip2_vision_model siglip_vision_model superglue superpoint swin swin2sr swinv2 timesformer "
    "timm_backbone timm_wrapper unispeech upernet van videomae vit vit_hybrid vit_mae vit_msn vitdet vitmatte vitpose "
    "vivit vjepa2 wav2vec2 wav2vec2-bert wavlm xclip yolos zoedepth";

}  // namespace

void refuse_out_of_scope(const Fields& root) {
  if (root.contains("_diffusers_version"))
    fail(Exit::kUnknownArchitecture,
         one_line(root.find_string("_class_name").value_or("this"), 60) +
             " is a diffusion model or a part of one, and kvplan plans language models",
         "plan the pipeline's text encoder by its own config.json; for the rest see diffusers' guide to memory");
  const std::string type = root.find_string("model_type").value_or("");
  if (has_word(kWithoutLanguage, type))
    fail(Exit::kUnknownArchitecture,
         "\"" + type + "\" is an image or audio model without a language model, and kvplan plans language models",
         "it needs its weights and the activations of one batch: measure it in PyTorch");
}

}  // namespace kvplan
