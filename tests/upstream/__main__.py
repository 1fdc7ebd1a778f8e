"""``python -m tests.upstream [numpy|scipy|all] [--devices 8] [--tenth]``; what follows is pytest's."""

import sys

from .runner import main

if __name__ == "__main__":
    sys.exit(main())
