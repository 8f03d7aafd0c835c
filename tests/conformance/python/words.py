"""The words of a step."""

from typing import List, Optional

from answers import Nonsense


class Words:
    """Words that are needed, in order, and options after them, in any order."""

    def __init__(self, line: str) -> None:
        self._words: List[str] = line.split(" ")
        self._place = 0

    def more(self) -> bool:
        """Is there another word?"""
        return self._place < len(self._words)

    def next(self) -> str:
        """The next word; a step without it makes no sense."""
        if not self.more() or not self._words[self._place]:
            raise Nonsense
        self._place += 1
        return self._words[self._place - 1]

    def number(self) -> int:
        """The next word, which must be a number."""
        return int(self.next())

    def rest(self) -> List[str]:
        """All words that are left."""
        return self._words[self._place :]

    def has(self, word: str) -> bool:
        """Was this option given?"""
        return word in self.rest()

    def option(self, key: str) -> Optional[str]:
        """What was given as key=value."""
        for word in self.rest():
            name, equals, value = word.partition("=")
            if equals and name == key:
                return value
        return None

    def option_number(self, key: str) -> Optional[int]:
        """What was given as key=number."""
        value = self.option(key)
        return None if value is None else int(value)
