import sys

from env_matrix.cli import main

if __name__ == "__main__":
    sys.exit(main())
