"""The `clinworld` command."""


def main() -> int:
    """Run the command line; the exit code."""
    return 0
