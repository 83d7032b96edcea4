#include <doctest/doctest.h>
#include "kvplan/quantity.h"
TEST_CASE("x") { CHECK(kvplan::ceil_div(3, 2) == 2); }
