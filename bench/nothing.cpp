// The do-nothing program with which kvplan's start is compared. It is linked in the same way and writes one line.
#include <string>

#include <unistd.h>

int main(int argc, char**) {
  const std::string text = argc > 100 ? "many\n" : "{}\n";
  return write(STDOUT_FILENO, text.data(), text.size()) < 0 ? 1 : 0;
}
