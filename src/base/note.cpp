#include "kvplan/note.h"

namespace kvplan {

std::string_view name(Origin origin) {
  switch (origin) {
    case Origin::kFile: return "file";
    case Origin::kAlias: return "alias";
    case Origin::kClassDefault: return "class_default";
    case Origin::kDerived: return "derived";
  }
  return "";
}

}  // namespace kvplan
