// A process between kvplan and a program that it starts. It is the parent of whatever the program leaves behind, and
// ends all of it when kvplan ends for any reason.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace kvplan {

// What the guardian sends first. Then it sends the program's status, as of waitpid(), once that has ended.
struct GuardedStart {
  pid_t pid = -1;
  int error = 0;  // why it could not be started; 0 if it was
};
// What kvplan may send. If kvplan is killed without sending one, a program that `outlives` it is left running and
// others are ended.
enum class GuardWord : char { kEnd = 'e', kLeave = 'l' };

// Called in a child of kvplan: starts the program with its output in the file `output`, and answers at `line`, a
// socket.
[[noreturn]] void guard(const std::vector<std::string>& command, int output, int line, bool outlives) noexcept;

}  // namespace kvplan
