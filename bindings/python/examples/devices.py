"""Two GPUs that are linked, in one lease, and a child that sees these and no others. Then somebody who has to wait.

TERNLEASE_DEVICES=host takes the GPUs of this machine; if nothing is said, this uses four that do not exist.
"""

import os
import subprocess
import sys

from ternlease import GpuPool, NoDevices, Timeout


def main() -> None:
    # GPUs that exist are claimed in the pool that all programs of this machine share.
    with GpuPool() if "TERNLEASE_DEVICES" in os.environ else GpuPool("process:", devices="fake:4") as pool:
        try:
            pair = pool.claim(2, holder="trainer", timeout=60)
        except NoDevices:
            print("on the CPU, then:", pool.absence())
            return
        with pair:
            print("trainer has", [gpu.place for gpu in pair.devices])
            child = "import os; print('the child sees', os.environ['CUDA_VISIBLE_DEVICES'])"
            subprocess.run([sys.executable, "-c", child], env=pair.env(), check=True)
            rest = pool.capacity - 2
            with pool.claim(rest):
                try:
                    pool.claim(timeout=0.01)
                except Timeout as error:
                    print("the next one waited in vain:", error.status.name)
        with pool.claim(timeout=0.01) as one:
            print("trainer gave its two back, and the next one has", [gpu.place for gpu in one.devices])


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    main()
