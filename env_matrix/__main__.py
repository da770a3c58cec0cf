import sys

from env_matrix.cli import main

if __name__ == "__main__":
    # What the encoding of the output lacks is escaped, as Python itself does on stderr: an exception's exit status 1
    # says that something was found. A closed stdout is None.
    if sys.stdout is not None:
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(main())
