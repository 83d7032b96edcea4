// The parts of docs/accuracy.md. Each is written where its figures are compared.
#pragma once

#include <string>

namespace kvplan {

// The README's headline, the section of docs/accuracy.md, and the long tables, a separate page in docs/accuracy.
struct AccuracyPart {
  std::string headline, section, tables;
};

AccuracyPart peers_part();        // peers_test.cpp
std::string verdicts_section();   // verdicts_test.cpp
AccuracyPart estimates_part();    // engines/observations_test.cpp
std::string estimates_picture();  // the same: an SVG
AccuracyPart executed_part();     // conformance/accuracy.cpp

}  // namespace kvplan
