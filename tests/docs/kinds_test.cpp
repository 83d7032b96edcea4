// formulas/README.md is the table of kinds in Markdown.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "formulas/kinds.h"
#include "report/report.h"

TEST_CASE("formulas/README.md is what kvplan formulas prints") {
  std::ifstream page(KVPLAN_SOURCE_DIR "/formulas/README.md");
  std::stringstream text;
  text << page.rdbuf();
  CHECK(text.str() == kvplan::written(kvplan::reply_of(kvplan::all_kinds()), "markdown", "formulas", {}));
}
