// The parts of docs/accuracy.md, each made where its figures are compared.
#pragma once

#include <string>

namespace kvplan {

// A part of the page, and what the README repeats of it.
struct AccuracyPart {
  std::string page, headline;
};

AccuracyPart peers_part();         // peers_test.cpp
std::string verdicts_section();    // verdicts_test.cpp
std::string estimates_section();   // engines/observations_test.cpp
std::string estimates_headline();  // the same
std::string estimates_picture();   // the same: an SVG
std::string executed_section();    // conformance/accuracy.cpp
std::string executed_headline();   // the same

}  // namespace kvplan
