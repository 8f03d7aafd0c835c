"""A driver of tests/conformance that runs: a process that is told steps and gives answers."""

import os
import select
import subprocess
import time
from typing import Generator, List, Optional

# What a worker does: gives steps, and is sent their answers.
Life = Generator[str, str, None]

# Nothing that a worker is told to do takes so long.
PATIENCE = 120.0


class Worker:
    """One process of one language on one home."""

    def __init__(self, name: str, language: str, home: str, program: List[str]) -> None:
        self.name = name
        self.language = language
        self.home = home
        # A group of its own, so that keys at the terminal come to us alone.
        self.process = subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
        )
        assert self.process.stdin and self.process.stdout
        self._steps, self._answers = self.process.stdin, self.process.stdout
        os.set_blocking(self._answers.fileno(), False)
        self._heard = b""
        self._life: Optional[Life] = None
        self.step = ""
        self.asked_at = 0.0
        self.operations = 0

    @property
    def pid(self) -> int:
        return self.process.pid

    def fileno(self) -> int:
        """Where its answers come from."""
        return self._answers.fileno()

    def begin(self, life: Life) -> None:
        """From now on it does this."""
        self._life = life
        self._ask(next(life))

    def _ask(self, step: str) -> None:
        self.step, self.asked_at = step, time.monotonic()
        self._steps.write(step.encode() + b"\n")

    def answer_to(self, step: str) -> str:
        """Of a worker that has no life of its own: does one step, and waits for it."""
        self._ask(step)
        while not self._heard.endswith(b"\n"):
            if not select.select([self], [], [], PATIENCE)[0]:
                raise EOFError(f"{self.name} does not answer {step!r}")
            self._listen()
        return self._take_answer()

    @property
    def is_late(self) -> bool:
        return self._life is not None and time.monotonic() - self.asked_at > PATIENCE

    def hear(self) -> bool:
        """Takes the answer that is there, if it is whole, and goes on. False if that was its last."""
        self._listen()
        if not self._heard.endswith(b"\n"):
            return True
        assert self._life is not None
        try:
            self._ask(self._life.send(self._take_answer()))
        except StopIteration:
            self._life = None
            return False
        return True

    def _listen(self) -> None:
        told = self._answers.read(65536)
        if told == b"":
            raise EOFError(f"{self.name} has ended; its last step was {self.step!r}")
        self._heard += told or b""

    def _take_answer(self) -> str:
        answer, self._heard = self._heard.decode().rstrip("\n"), b""
        self.operations += 1
        return answer

    def kill(self) -> None:
        """SIGKILL: nothing is given back by the process itself."""
        self.process.kill()
        self._close()

    def end(self) -> Optional[str]:
        """Its input ends: it must end well. Otherwise the words for it."""
        self._steps.close()
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            return f"{self.name} does not end"
        self._close()
        return None if status == 0 else f"{self.name} ended with {status}"

    def _close(self) -> None:
        self.process.wait()
        self._steps.close()
        self._answers.close()
