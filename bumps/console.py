"""The console that every command prints on."""

import rich.console


class Console(rich.console.Console):
    """A rich console whose reader may go away (`| head`): that is a BrokenPipeError, as everywhere in Python."""

    def on_broken_pipe(self) -> None:
        # Rich's own ends the process with status 1, which says that something regressed.
        raise BrokenPipeError
