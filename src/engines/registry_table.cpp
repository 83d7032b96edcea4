#include "engines/class_rows.h"

#include "kvplan/strings.h"

namespace kvplan {

// "0.12" for 0.12.0, and for a name that means the newest of its line.
static std::string short_release(Release release) {
  if (release.patch == kAnyCount) release.patch = 0;
  return format_release(release);
}

std::optional<Refusal> registry_refusal(std::span<const RegistryRow> table, const EngineInput& input,
                                        std::string_view engine_name) {
  const std::string_view name = input.model.architecture;
  if (name.empty() || input.model.is_gguf) return std::nullopt;
  const Release asked = release_of(input.request);
  const RegistryRow* gained = nullptr;
  const RegistryRow* lost = nullptr;
  const RegistryRow* before_loss = nullptr;
  for (const RegistryRow& row : table) {
    if (has_word(row.gains, name)) gained = &row;
    if (lost == nullptr && has_word(row.losses, name)) lost = &row;
    if (lost == nullptr) before_loss = &row;
  }
  if (gained != nullptr && asked < gained->release)
    return Refusal{
        "model_class",
        {"{engine} {release} has no {class}: it came with {since}",
         {{"engine", engine_name},
          {"release", short_release(asked)},
          {"class", name},
          {"since", short_release(gained->release)}}},
        {"use {engine} {since} or newer", {{"engine", engine_name}, {"since", short_release(gained->release)}}}};
  if (lost == nullptr || asked < lost->release) return std::nullopt;
  const std::string last = before_loss != nullptr ? short_release(before_loss->release) : "an older release";
  return Refusal{"model_class",
                 {"{engine} {release} no longer has {class}: it was dropped in {until}",
                  {{"engine", engine_name},
                   {"release", short_release(asked)},
                   {"class", name},
                   {"until", short_release(lost->release)}}},
                 {"use {engine} {last}", {{"engine", engine_name}, {"last", last}}}};
}

}  // namespace kvplan
