"""Run the command line: `python -m diorama.cli`."""

from diorama.cli.main import main

raise SystemExit(main())
