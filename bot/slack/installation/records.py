"""Stores the app's installations, encrypted: implements `AsyncInstallationStore` of slack_sdk on our store.

A record is for a workspace (T...) or an organisation (E...). A workspace that uses the installation of its organisation
has a record that points to it, since a job knows only its workspace. When the app is removed, the tokens are deleted at
once, and the record stays until the data of the workspace is erased.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from pydantic import BaseModel, ConfigDict, ValidationError
from slack_sdk.oauth.installation_store import Bot, Installation
from slack_sdk.oauth.installation_store.async_installation_store import AsyncInstallationStore

from bot.store.redis.redis_records import Installations

log = logging.getLogger(__name__)

SlackInstallation = Installation
"""The installation class of slack_sdk, for modules that only pass one on."""


class InstallationRecord(BaseModel):
    """The stored data of an installation.

    - fields: the fields of slack_sdk's `Installation`; {} once the app was removed, and in a record that points to an
      organisation.
    - organisation: the id of the organisation whose installation is used; "" if the record has its own.
    - left: the time at which the app was removed, in seconds since the epoch; 0 while it is installed.
    - refreshing: the time until which an instance may be refreshing its token, on the same clock; 0 if none is.
    """

    model_config = ConfigDict(frozen=True)

    fields: dict[str, Any] = {}
    organisation: str = ""
    left: float = 0.0
    refreshing: float = 0.0

    @property
    def installation(self) -> Installation | None:
        """The installation; None if the app was removed, or the record points to an organisation."""
        return Installation(**self.fields) if self.fields and not self.left else None


def dump_fields(installation: Installation) -> dict[str, Any]:
    """Return the fields of an installation as they are stored, without tokens of people, which are never requested."""
    return {name: value for name, value in vars(installation).items() if not name.startswith("user_token")}


class InstallationRecords(AsyncInstallationStore):
    """Reads and writes the installations of the app.

    Args:
        rows: The rows in the store.
        cipher: Encrypts and decrypts the records.
        clock: Returns the store's time, in seconds since the epoch.
    """

    def __init__(self, rows: Installations, cipher: TokenCipher, clock: Callable[[], float]) -> None:
        self._store_rows = rows
        self._cipher = cipher
        self.clock = clock
        self._rows: dict[str, str] = {}
        self._last_records: dict[str, InstallationRecord] = {}
        self._unreadable: dict[str, str] = {}
        """The rows that no key decrypts, by id: each is logged once."""

    @property
    def logger(self) -> logging.Logger:
        """The logger that the SDK uses."""
        return log

    async def read_all(self) -> dict[str, InstallationRecord]:
        """Return all records that can be read, by id. Records that did not change are not decrypted again.

        For a record that cannot be decrypted any more, the content read before is returned. So an instance keeps
        working while the keys are rotated, until it is restarted.
        """
        rows = await self._store_rows.read_all()
        changed_records = {
            name: self._try_decrypt_record(name, row) for name, row in rows.items() if self._rows.get(name) != row
        }
        records = {name: changed_records.get(name) or self._last_records.get(name) for name in rows}
        self._rows = rows
        self._last_records = {name: record for name, record in records.items() if record is not None}
        return dict(self._last_records)

    async def read(self, name: str) -> tuple[InstallationRecord | None, str]:
        """Return one record and its encrypted row. The record is None if there is none, or it cannot be read."""
        row = await self._store_rows.read(name)
        return (self._try_decrypt_record(name, row) if row else None), row

    async def replace(self, name: str, record: InstallationRecord, *, former_row: str) -> bool:
        """Write a record in place of the row `former_row`. Returns False if the row has changed since it was read."""
        return await self._store_rows.put(name, self._cipher.encrypt(record.model_dump_json()), old_payload=former_row)

    async def delete(self, name: str, *, former_row: str) -> bool:
        """Delete a record if its row is still `former_row`. Returns False if the row has changed since it was read."""
        return await self._store_rows.put(name, "", old_payload=former_row)

    async def reencrypt_all(self) -> int:
        """Re-encrypt the records that were not encrypted with the first key. Returns the number of records written."""
        rows = [
            (name, row)
            for name, row in (await self._store_rows.read_all()).items()
            if not self._cipher.is_under_current_key(row)
        ]
        records = [(name, self._try_decrypt_record(name, row), row) for name, row in rows]
        return sum(
            [await self.replace(name, record, former_row=row) for name, record, row in records if record is not None]
        )

    async def update_record(
        self, name: str, make: Callable[[InstallationRecord | None], InstallationRecord | None]
    ) -> None:
        """Replace a record by the one that `make` returns for it, unless `make` returns None.

        `make` gets None if the record is missing or unreadable. It may be called again after a concurrent change.
        """
        while True:
            there, row = await self.read(name)
            record = make(there)
            if record is None or await self.replace(name, record, former_row=row):
                return

    async def mark_removed(self, name: str, token: str = "") -> None:
        """Record that the app was removed, and delete its tokens.

        `token` is the token that Slack refused. If the record has another token by now, the app was installed again,
        and the record is not changed.
        """
        at = self.clock()

        def make_removed_record(one: InstallationRecord | None) -> InstallationRecord | None:
            if one is None or one.left or (token and one.fields.get("bot_token") != token):
                return None
            return InstallationRecord(organisation=one.organisation, left=at)

        await self.update_record(name, make_removed_record)

    async def link_to_organisation(self, team: str, organisation: str) -> None:
        """Record that a workspace uses the installation of its organisation, unless it has one of its own."""
        there, row = await self.read(team)
        if (there is None and not row) or (there is not None and there.installation is None):
            await self.replace(team, InstallationRecord(organisation=organisation), former_row=row)

    def _decrypt_record(self, row: str) -> InstallationRecord:
        try:
            return InstallationRecord.model_validate_json(self._cipher.decrypt(row))
        except ValidationError:
            raise BadKey("a newer release wrote it, or it is damaged") from None

    def _try_decrypt_record(self, name: str, row: str) -> InstallationRecord | None:
        try:
            return self._decrypt_record(row)
        except BadKey as error:
            if self._unreadable.get(name) != row:
                log.error("the installation of %s cannot be read: %s", name, error)  # noqa: TRY400 - one clear line
            self._unreadable[name] = row
            return None

    # The interface of slack_sdk -------------------------------------------------------------------------

    async def async_save(self, installation: Installation) -> None:
        """Store an installation. After a removal, the workspace can use the data again that it left behind."""
        name = (installation.enterprise_id if installation.is_enterprise_install else installation.team_id) or ""
        await self.update_record(name, lambda _: InstallationRecord(fields=dump_fields(installation)))

    async def async_save_bot(self, bot: Bot) -> None:
        """Store new tokens of an installation."""
        name = (bot.enterprise_id if bot.is_enterprise_install else bot.team_id) or ""
        await self.update_record(
            name, lambda one: replace_tokens(one, bot) if one is not None and one.installation else None
        )

    async def async_find_installation(
        self,
        *,
        enterprise_id: str | None,
        team_id: str | None,
        user_id: str | None = None,
        is_enterprise_install: bool | None = False,
    ) -> Installation | None:
        """Return the installation of a workspace or, without one, of its organisation; None if there is none."""
        del user_id
        for name in (enterprise_id,) if is_enterprise_install else (team_id, enterprise_id):
            record = (await self.read(name))[0] if name else None
            if record is not None and record.installation is not None:
                return record.installation
        return None

    async def async_find_bot(
        self, *, enterprise_id: str | None, team_id: str | None, is_enterprise_install: bool | None = False
    ) -> Bot | None:
        """Return the tokens of a workspace or, without any, of its organisation; None if there are none."""
        of: dict[str, Any] = {"enterprise_id": enterprise_id, "team_id": team_id}
        installation = await self.async_find_installation(**of, is_enterprise_install=is_enterprise_install)
        return installation.to_bot() if installation is not None else None

    async def async_delete_bot(self, *, enterprise_id: str | None, team_id: str | None) -> None:
        """Record that the app was removed from a workspace or, without `team_id`, from an organisation."""
        if name := team_id or enterprise_id:
            await self.mark_removed(name)

    async def async_delete_installation(
        self, *, enterprise_id: str | None, team_id: str | None, user_id: str | None = None
    ) -> None:
        """Record that the app was removed, as `async_delete_bot` does: no data is stored per installing person."""
        del user_id
        await self.async_delete_bot(enterprise_id=enterprise_id, team_id=team_id)


def replace_tokens(record: InstallationRecord, bot: Bot) -> InstallationRecord:
    """Return a record with the tokens of `bot` in place of its own, and with no refresh under way."""
    new = {name: getattr(bot, name) for name in ("bot_token", "bot_refresh_token", "bot_token_expires_at")}
    return record.model_copy(update={"fields": {**record.fields, **new}, "refreshing": 0.0})


class BadKey(Exception):
    """A key has the wrong form, or a record cannot be decrypted or parsed. The message holds no key."""


class TokenCipher:
    """Encrypts with the first key, and decrypts with any. Raises BadKey if one of the keys has the wrong form."""

    def __init__(self, keys: Sequence[str]) -> None:
        try:
            ciphers = [Fernet(key.encode()) for key in keys]
        except ValueError as error:
            raise BadKey(
                "a key is 32 random bytes in URL-safe base64: `openssl rand -base64 32 | tr '+/' '-_'` makes one"
            ) from error
        self._first, self._all = ciphers[0], MultiFernet(ciphers)

    def encrypt(self, text: str) -> str:
        """Encrypt a text."""
        return self._all.encrypt(text.encode()).decode()

    def decrypt(self, text: str) -> str:
        """Decrypt a text. Raises BadKey if it was encrypted with none of the keys."""
        try:
            return self._all.decrypt(text.encode()).decode()
        except InvalidToken:
            raise BadKey("it was encrypted with none of the keys of LEADHAND_TOKEN_KEYS: add the former one") from None

    def is_under_current_key(self, text: str) -> bool:
        """Return True if a text was encrypted with the first key."""
        try:
            self._first.decrypt(text.encode())
        except InvalidToken:
            return False
        return True
