"""python -m kvplan: runs the program with the given arguments. verify is a command of this package."""

import os
import subprocess
import sys

from kvplan._program import program


def main() -> None:
    if sys.argv[1:2] == ["verify"]:
        from kvplan.verify import main as verify

        sys.exit(verify(sys.argv[2:]))
    words = [program(), *sys.argv[1:]]
    if sys.platform == "win32":
        sys.exit(subprocess.call(words))
    os.execv(words[0], words)


if __name__ == "__main__":
    main()
