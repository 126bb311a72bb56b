"""`python -m dev.bench`. Light: multiprocessing loads the main module again in every process that it starts, and in the
workers that are measured it would cost a tenth of a second and memory that no Core's worker has."""

if __name__ == "__main__":
    import sys

    from dev.bench.command import main

    sys.exit(main())
