#include "launch/shell.h"

#include <doctest/doctest.h>

#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {
namespace {

// The words of every command, with "|" between words and one line for each command.
std::string commands_of(const std::string& text) {
  return join(read_shell(text).commands, "\n", [](const ShellCommand& command) {
    return join(command.own, "", [](const auto& each) { return each.first + "=" + each.second + " "; }) +
           join(command.words, "|", &ShellWord::text);
  });
}

TEST_CASE("A shell's words, quotes and ends of commands") {
  CHECK(commands_of("vllm serve m --x 'a b' --y \"c d\"") == "vllm|serve|m|--x|a b|--y|c d");
  CHECK(commands_of("A=1 B='2 3' run x") == "A=1 B=2 3 run|x");
  CHECK(commands_of("one a; two b && three c || four | five & six") == "one|a\ntwo|b\nthree|c\nfour\nfive\nsix");
  CHECK(commands_of("a b # a comment\nc#d") == "a|b\nc#d");
  CHECK(commands_of("a > out.log 2>&1 &\nb < in --x") == "a\nb|--x");
  CHECK(commands_of("a \\\n  --x 1 \\\n  --y 2") == "a|--x|1|--y|2");
  CHECK(commands_of("a `\n --x 1 `\n --y 2\n") == "a|--x|1|--y|2");  // PowerShell
  CHECK(commands_of("a\n  --x 1\n  -y\nb") == "a|--x|1|-y\nb");      // lost backslashes
  CHECK(commands_of("a --key <key> --z") == "a|--key|<key>|--z");    // a placeholder
  CHECK(commands_of("a '{\"x\": 1}' \"{\\\"y\\\": 2}\"") == "a|{\"x\": 1}|{\"y\": 2}");
  CHECK(commands_of("E:\\LLM\\a.exe -m \"C:\\m\\x y.gguf\"") == "E:\\LLM\\a.exe|-m|C:\\m\\x y.gguf");
}

TEST_CASE("Variables have the value that the text assigns") {
  CHECK(commands_of("M=org/x\nexport N=2\nrun $M ${N} \"$M-$N\" '$M'") == "run|org/x|2|org/x-2|$M");
  CHECK(commands_of("run ${A:-1} ${B-2}") == "run|1|2");
  CHECK(commands_of("X=\"--a 1 --b\"; run $X \"$X\"") == "run|--a|1|--b|--a 1 --b");
  CHECK(commands_of("ARGS=(--a 1\n --b '2 3')\nrun \"${ARGS[@]}\"") == "run|--a|1|--b|2 3");
  CHECK(
      commands_of("A=(--x)\nA+=(--y 1)  # more\n[ -n \"$Q\" ] && A+=(--z)\n[ -n \"$Q\" ] && B=2\nrun \"${A[@]}\" $B") ==
      "[|-n|$Q|]\n[|-n|$Q|]\nrun|--x|--y|1|$B");
  CHECK(commands_of("f() { local c=3\nrun $c \"$@\"\n}") == "f\nrun|3|$@");
  CHECK(commands_of("case x in a) F=1 ;; esac; run $F") == "case|x|in|a\nesac\nrun|1");
  CHECK(commands_of("$env:GPU=\"0\"; run $env:GPU") == "run|0");
  const ShellText open = read_shell("run $A x$B$(date) ${C%x}");
  CHECK(commands_of("run $A x$B$(date) ${C%x}") == "run|$A|x$B$(date)|${C%x}");
  CHECK(open.commands.at(0).words.at(1).unset == std::vector<std::string>{"A"});
  CHECK(open.commands.at(0).words.at(2).unset.size() == 2);
  CHECK(open.commands.at(0).words.at(3).unset == std::vector<std::string>{"C"});
}

TEST_CASE("A value that the text leaves open stays open behind another name") {
  CHECK(read_shell("N=$SLURM_GPUS\nrun $N").commands.at(0).words.at(1).unset == std::vector<std::string>{"SLURM_GPUS"});
  CHECK(read_shell("run ${A:-$B}").commands.at(0).words.at(1).unset == std::vector<std::string>{"B"});
  CHECK(commands_of("B=3; run ${A:-$B} ${A:-${B}}") == "run|3|3");
  CHECK(commands_of("L=8192\nwhile x; do L=\"$2\"; done\nrun $L") == "x\ndone\nrun|8192");  // a script's default
  CHECK(commands_of("C=4\nN=$((2 * C + 1))\nrun $N $((32*1024)) $(( $C / 2 - 1 ))") == "run|9|32768|1");
  CHECK(read_shell("run $((2 * Q))").commands.at(0).words.at(1).unset.size() == 1);
  CHECK(commands_of("run $((1 / 0))").starts_with("run|$(("));
  // 17 times 2^60 would wrap to 2^60.
  std::string sum = "1152921504606846976";
  for (int i = 0; i < 16; ++i) sum += "+1152921504606846976";
  CHECK(commands_of("run $((" + sum + "))").starts_with("run|$(("));
}

TEST_CASE("Windows scripts and text from web pages are read") {
  CHECK(commands_of("set M=x.gguf\nrun.exe -m %M% -p \"%M%\" %Q% 50%") == "run.exe|-m|x.gguf|-p|x.gguf|%Q%|50%");
  CHECK(commands_of("run\xC2\xA0--x \xE2\x80\x9C"
                    "a b\xE2\x80\x9D \xE2\x80\x93y 1") == "run|--x|a b|--y|1");
}

TEST_CASE("The reader's input is limited") {
  std::string doubling = "A=xxxxxxxxxxxxxxxx\n";
  for (int i = 0; i < 60; ++i) doubling += "A=$A$A\n";
  CHECK_THROWS_AS(read_shell(doubling), Error);
  std::string words;
  for (int i = 0; i < 10001; ++i) words += "a ";
  CHECK_THROWS_AS(read_shell(words), Error);
  for (const char* piece : {"<", "${", "$(", "\\", "`", "\"", "(", "a=(", "<<E\n", "'", "#\n", "^\n"}) {
    std::string many;
    while (many.size() < 500000) many += piece;
    try {
      read_shell(many);
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace kvplan
