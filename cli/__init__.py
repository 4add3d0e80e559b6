"""The command line: a module per family of commands; starts fast, imports late."""
