"""Whether this process was asked to end.

The exception that asks for it is raised wherever the program happens to be, and Python drops those that come up inside
of a callback from C code. So whoever runs for long asks here too.
"""

from __future__ import annotations

received = False


def check() -> None:
    """Raise `KeyboardInterrupt` where this process was asked to end."""
    if received:
        raise KeyboardInterrupt
