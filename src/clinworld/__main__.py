"""`python -m clinworld`: the same program as the `clinworld` command."""

from clinworld.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
