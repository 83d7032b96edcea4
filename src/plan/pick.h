// The models of the catalogue that run on a GPU.
//
// For each model the least lossy type that fits is chosen: of GGUF files the engine's usual types from 8 bit down, else
// the published checkpoints. If none fits the GPUs, the engine may keep a part in main memory if it fits there.
// Order: the generation published last first, then size. Of a family the newest generation that the GPUs hold is kept,
// and newer ones that need main memory.
#pragma once

#include <string>

#include "kvplan/published.h"
#include "kvplan/request.h"
#include "models/read.h"

namespace kvplan {

struct PickQuestion {
  Request request;  // the GPU, the length, the sequences; the engine if one was named
  bool engine_given = false;
  std::string task = "chat";
  bool all = false;  // older generations, too
};

// Throws Error(kBadInput) if no GPU is named, or the engine cannot be started by a model's name.
Pick pick_models(const PickQuestion& question, const ReadOptions& options);

}  // namespace kvplan
