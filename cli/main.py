"""The command `diorama`."""


def main() -> int:
    """Run one command; 0 is success, 1 wrong input, 2 a wrong call."""
    return 0
