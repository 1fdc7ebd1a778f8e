"""``python -m tpufft`` is the command ``tpufft``."""

from tpufft.cli import main

if __name__ == "__main__":
    main()
