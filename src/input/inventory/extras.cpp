// What families have beside the plain layers.
#include "input/inventory/inventory.h"

namespace kvplan {
void write_extras(Inventory&) {}
void write_encoder(Inventory&) {}
void write_towers(Inventory&) {}
void write_mtp(Inventory&, const std::vector<Ffn>&) {}
}  // namespace kvplan
