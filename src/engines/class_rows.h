// The table of what an engine does differently for some classes of models. It is the only file of an engine that names
// architectures or classes; a model resolves it once into a plain struct of flags.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "kvplan/architecture.h"
#include "kvplan/strings.h"

namespace kvplan {

// A behaviour, and the models with it: architectures, or class names as in configs, separated by spaces.
template <class Its>
struct ClassRow {
  bool Its::*has;
  std::initializer_list<Arch> archs{};
  std::string_view classes{};
};

template <class Its>
Its resolve_class(std::span<const ClassRow<Its>> rows, Arch arch, std::string_view class_name) {
  Its out;
  for (const ClassRow<Its>& row : rows)
    if (is_one_of(arch, row.archs) || has_word(row.classes, class_name)) out.*row.has = true;
  return out;
}

}  // namespace kvplan
