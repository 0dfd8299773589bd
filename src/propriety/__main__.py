"""``python -m propriety``."""

from propriety.cli import main

if __name__ == "__main__":
    main()
