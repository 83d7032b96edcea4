// llama.cpp's GGUF of an image encoder and its projector.
#include "formats/gguf.h"
#include "kvplan/error.h"
#include "kvplan/ggml_types.h"
#include "kvplan/strings.h"
#include "models/gguf_archs.h"
#include "models/read.h"

namespace kvplan {

ProjectorFile read_gguf_projector(const Gguf& file) {
  const std::string architecture(file.text("general.architecture").value_or(""));
  if (!is_gguf_projector(architecture))
    fail("--mmproj: the file is a \"" + one_line(architecture, 40) + "\", no projector of images or sound",
         "give the model's mmproj-*.gguf");
  ProjectorFile out;
  for (const GgufTensor& tensor : file.tensors()) {
    const auto type = find_ggml_type(tensor.type);
    if (!type) fail("a tensor has the unknown type " + std::to_string(tensor.type), "convert the projector again");
    ++out.tensors;
    out.bytes += tensor_bytes(*type, tensor.shape());
  }
  out.projector =
      one_line(file.text("clip.projector_type").value_or(file.text("clip.vision.projector_type").value_or("")), 40);
  out.takes_any_size = out.projector.find("qwen") != std::string::npos;
  out.width = file.count("clip.vision.embedding_length").value_or(0);
  out.intermediate = file.count("clip.vision.feed_forward_length").value_or(0);
  out.heads = file.count("clip.vision.attention.head_count").value_or(0);
  out.image_size = file.count("clip.vision.image_size").value_or(0);
  out.patch_size = file.count("clip.vision.patch_size").value_or(0);
  return out;
}

}  // namespace kvplan
