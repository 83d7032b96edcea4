"""python -m kvplan: the program, with the arguments as they are."""

import os
import subprocess
import sys

from kvplan._program import program


def main() -> None:
    words = [program(), *sys.argv[1:]]
    if sys.platform == "win32":
        sys.exit(subprocess.call(words))
    os.execv(words[0], words)


if __name__ == "__main__":
    main()
