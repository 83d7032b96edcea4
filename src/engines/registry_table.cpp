#include "engines/class_rows.h"

#include "kvplan/strings.h"

namespace kvplan {

// Prints "0.12" for 0.12.0 and for the newest 0.12.
static std::string short_release(Release release) {
  if (release.patch == kAnyCount) release.patch = 0;
  return format_release(release);
}

std::optional<Refusal> registry_refusal(std::span<const std::string_view> registry, const EngineInput& input,
                                        std::string_view engine_name) {
  const std::string_view name = input.model.architecture;
  if (name.empty() || input.model.is_gguf) return std::nullopt;
  const Release asked = release_of(input.request);
  std::optional<Release> gained, lost, before_loss;
  for (const std::string_view line : registry.subspan(1)) {  // "0.10 gains CLASS CLASS loses CLASS"
    const std::size_t gains = line.find(" gains"), loses = line.find(" loses");
    const Release release = parse_release(line.substr(0, gains));
    if (has_word(line.substr(gains + 6, loses - gains - 6), name)) gained = release;
    if (!lost && has_word(line.substr(loses + 6), name)) lost = release;
    if (!lost) before_loss = release;
  }
  if (gained && asked < *gained)
    return Refusal{"model_class",
                   {"{engine} {release} has no {class}: it came with {since}",
                    {{"engine", engine_name},
                     {"release", short_release(asked)},
                     {"class", name},
                     {"since", short_release(*gained)}}},
                   {"use {engine} {since} or newer", {{"engine", engine_name}, {"since", short_release(*gained)}}}};
  if (!lost || asked < *lost) return std::nullopt;
  const std::string last = before_loss ? short_release(*before_loss) : "an older release";
  return Refusal{
      "model_class",
      {"{engine} {release} no longer has {class}: it was dropped in {until}",
       {{"engine", engine_name}, {"release", short_release(asked)}, {"class", name}, {"until", short_release(*lost)}}},
      {"use {engine} {last}", {{"engine", engine_name}, {"last", last}}}};
}

}  // namespace kvplan
