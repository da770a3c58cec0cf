"""One module a command: `add_parser(subparsers)` declares its arguments, `run(args)` returns the exit status."""
