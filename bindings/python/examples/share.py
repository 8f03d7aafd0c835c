"""Two processes share the GPUs of a machine: nobody serves, the table of who has what is a file that both map."""

import multiprocessing
import os
import tempfile
from multiprocessing.connection import Connection

from ternlease import GpuPool


def worker(url: str, pipe: Connection) -> None:
    """In a process of its own: what was open in the parent is not the child's, it opens the pool itself."""
    with GpuPool(url, devices="fake:1") as pool:
        print("the child waits", flush=True)
        with pool.claim(holder="child") as lease:
            print("the child has", lease.devices[0].name, flush=True)
            pipe.send("done")


def main() -> None:
    # "host:" would be the table of this machine's GPUs; this is one of our own.
    with tempfile.TemporaryDirectory() as directory:
        url = f"host:{os.path.join(directory, 'gpus')}"
        spawn = multiprocessing.get_context("spawn")
        ours, theirs = spawn.Pipe()
        with GpuPool(url, devices="fake:1") as pool:
            with pool.claim(holder="parent"):
                child = spawn.Process(target=worker, args=(url, theirs))
                child.start()
                while not pool.pending_claimers():
                    pass
                print("the parent gives its GPU back", flush=True)
            ours.recv()
            child.join()


if __name__ == "__main__":
    main()
