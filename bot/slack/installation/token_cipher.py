"""Encrypts what is kept of installations, with keys that can be changed while the bot runs."""

from __future__ import annotations

from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet


class BadKey(Exception):
    """A key is none, or none of them fits. The text says what to do, and holds no key."""


class TokenCipher:
    """Encrypts with the first key, and decrypts with any. Raises BadKey where one of them has not the form of a key."""

    def __init__(self, keys: Sequence[str]) -> None:
        try:
            each = [Fernet(key.encode()) for key in keys]
        except ValueError as error:
            raise BadKey(
                "a key is 32 random bytes in URL-safe base64: `openssl rand -base64 32 | tr '+/' '-_'` makes one"
            ) from error
        self._first, self._all = each[0], MultiFernet(each)

    def encrypt(self, text: str) -> str:
        """Encrypt a text."""
        return self._all.encrypt(text.encode()).decode()

    def decrypt(self, text: str) -> str:
        """Decrypt a text. Raises BadKey if it was encrypted with none of the keys."""
        try:
            return self._all.decrypt(text.encode()).decode()
        except InvalidToken:
            raise BadKey("it was encrypted with none of the keys of LEADHAND_TOKEN_KEYS: add the former one") from None

    def is_current(self, text: str) -> bool:
        """Return True if a text was encrypted with the first key."""
        try:
            self._first.decrypt(text.encode())
        except InvalidToken:
            return False
        return True
