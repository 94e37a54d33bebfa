"""Servers that must not be used, servers that fail, and replies that get lost."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from redis.exceptions import ResponseError

from bot.store.address import parse_url
from bot.store.redis.redis_store import Store
from bot.store.server_diagnosis import explain_error, list_faults
from bot.store.values import Commit, JobKey, LogEntry, Retention, StoreError
from tests.patience import eventually
from tests.store.kit import JOB, Kit, ask, free_port, hearing, take_job, tcp_server, until

AT_ONCE = ("--repl-diskless-sync-delay", "0")


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """A server of this test alone."""
    with tcp_server(tmp_path / "server", "--save", "", "--appendonly", "yes", *AT_ONCE) as port:
        yield port


async def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    for url in (f"redis://:secret@127.0.0.1:{free_port()}", f"unix://{tmp_path}/nothing"):
        with pytest.raises(StoreError, match=r"cannot be reached.*Check that it runs and that REDIS_URL") as caught:
            await Store.connect(url)
        assert "secret" not in str(caught.value)
        assert "\n" not in str(caught.value)


async def test_the_password(port: int) -> None:
    ask(port, "CONFIG", "SET", "requirepass", "p@ss/word")
    for login in ("", ":wrong@", "someone:p%40ss%2Fword@"):
        with pytest.raises(StoreError, match=r"refused the password\..*in REDIS_URL, between the colon and the @"):
            await Store.connect(f"redis://{login}127.0.0.1:{port}")
    with pytest.raises(StoreError, match="%23 %2F %3F %40 %3A %25"):  # how it is to be written
        await Store.connect(f"redis://:p@ss%41@127.0.0.1:{port}")
    store = await Store.connect(f"redis://:p%40ss%2Fword@127.0.0.1:{port}/1")
    assert await store.list_faults() == []
    await store.close()


async def test_a_user_who_may_not_enough(port: int) -> None:
    ask(port, "ACL", "SETUSER", "bot", "on", ">pw", "~other:*", "+@all")
    with pytest.raises(StoreError, match=r"does not allow this user enough.*~lh:\*"):
        await Store.connect(f"redis://bot:pw@127.0.0.1:{port}")
    ask(port, "ACL", "SETUSER", "bot", "resetkeys", "-@all", "~lh:*", "&lh:*", "+@all", "-@dangerous", "+info")
    store = await Store.connect(f"redis://bot:pw@127.0.0.1:{port}")
    assert await store.list_faults() == []
    assert await store.jobs.ingest(JOB, "{}", dedupe=["1"])
    await store.close()


async def test_a_server_that_evicts_keys_is_refused(port: int) -> None:
    ask(port, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    with pytest.raises(StoreError, match=r"may throw jobs away \(allkeys-lru\)\. Set `maxmemory-policy noeviction`"):
        await Store.connect(f"redis://127.0.0.1:{port}")


async def test_a_replica_is_refused(port: int, tmp_path: Path) -> None:
    with tcp_server(tmp_path / "replica", "--replicaof", f"127.0.0.1 {port}") as replica:
        until(lambda: b"master_link_status:up" in ask(replica, "INFO", "replication"), "no link")
        with pytest.raises(StoreError, match=r"read-only replica\. Point REDIS_URL at the primary"):
            await Store.connect(f"redis://127.0.0.1:{replica}")


async def test_a_primary_that_became_a_replica(port: int, tmp_path: Path) -> None:
    store = await Store.connect(f"redis://127.0.0.1:{port}")
    with tcp_server(tmp_path / "other", *AT_ONCE) as other:
        ask(port, "REPLICAOF", "127.0.0.1", str(other))
        until(lambda: b"master_link_status:up" in ask(port, "INFO", "replication"), "no link")
        with pytest.raises(StoreError, match="read-only replica"):
            await store.jobs.ingest(JOB, "{}", dedupe=["1"])
        assert any("read-only replica" in fault for fault in await store.list_faults())
    await store.close()


async def test_a_full_server_takes_nothing_half(port: int) -> None:
    store = await Store.connect(f"redis://127.0.0.1:{port}")
    await store.jobs.ingest(JOB, '{"n":1}', dedupe=["1"])
    claim = await take_job(store, lease=30)
    ask(port, "CONFIG", "SET", "maxmemory", "1mb")
    assert any("memory" in fault for fault in await store.list_faults())
    with pytest.raises(StoreError, match="out of memory"):
        await store.jobs.commit(claim, "op", 0, ["{}"], taken_entries=[1])
    with pytest.raises(StoreError, match="out of memory"):
        await store.jobs.ingest(JOB, '{"n":2}', dedupe=["2"])
    ask(port, "CONFIG", "SET", "maxmemory", "0")
    assert await store.jobs.read_log(JOB) == []
    assert len(await store.jobs.read_inbox(JOB)) == 1
    assert await store.jobs.commit(claim, "op", 0, ["{}"], taken_entries=[1]) is Commit.OK
    assert await store.jobs.ingest(JOB, '{"n":2}', dedupe=["2"])
    await store.close()


async def test_a_server_that_cannot_write_to_its_disk(tmp_path: Path) -> None:
    with tcp_server(tmp_path, "--save", "900 1") as port:
        store = await Store.connect(f"redis://127.0.0.1:{port}")
        (tmp_path / "dump.rdb" / "in the way").mkdir(parents=True)  # it listens before it has looked for its data
        ask(port, "BGSAVE")
        until(lambda: b"rdb_last_bgsave_status:err" in ask(port, "INFO", "persistence"), "it could be saved")
        with pytest.raises(StoreError, match="cannot write to its disk"):
            await store.jobs.ingest(JOB, "{}", dedupe=["1"])
        with pytest.raises(StoreError, match="cannot write to its disk"):
            await Store.connect(f"redis://127.0.0.1:{port}", prefix="new")
        await store.close()


async def test_a_server_without_a_disk_is_a_warning(tmp_path: Path) -> None:
    with tcp_server(tmp_path, "--save", "") as port:
        store = await Store.connect(f"redis://127.0.0.1:{port}")
        (fault,) = await store.list_faults()
        assert fault.startswith("Warning")
        assert "appendonly yes" in fault
        await store.close()


async def test_the_wrong_kind_of_url_says_the_right_one(port: int, cluster_url: str) -> None:
    with pytest.raises(StoreError, match=r"redis\+cluster://"):
        await Store.connect(cluster_url.replace("redis+cluster", "redis"))
    with pytest.raises(StoreError, match="Use redis://"):
        await Store.connect(f"redis+cluster://127.0.0.1:{port}")
    with pytest.raises(StoreError, match="is no Sentinel"):
        await Store.connect(f"redis+sentinel://127.0.0.1:{port}/main")


@pytest.mark.parametrize(
    "url",
    [
        "http://:secret@host",
        "redis+tcp://:secret@host",
        "redis+sentinel://:secret@host:1",
        "redis+cluster://:secret@host:1/3",
        "redis+cluster://:secret@",
        "redis://:secret@host:port",
        ":secret@host",
        "",
    ],
)
async def test_a_url_that_is_none_is_one_line_without_its_password(url: str) -> None:
    with pytest.raises(StoreError, match="REDIS_URL is not usable") as caught:
        await Store.connect(url)
    assert "secret" not in str(caught.value)


def test_urls_are_taken_apart() -> None:
    sentinel = parse_url("rediss+sentinel://bot:p%40ss@a:1,b,[::1]:3/main/2?sentinel_password=x&ssl_ca_certs=/ca.pem")
    assert sentinel.hosts == (("a", 1), ("b", 26379), ("::1", 3))
    assert sentinel.master == "main"
    assert sentinel.options == {
        "username": "bot",
        "password": "p@ss",
        "db": 2,
        "ssl": True,
        "ssl_ca_certs": "/ca.pem",
        "sentinel_password": "x",
    }
    cluster = parse_url("redis+cluster://a:7000,b:7001")
    assert (cluster.hosts, cluster.display_name) == ((("a", 7000), ("b", 7001)), "a:7000,b:7001")
    assert parse_url("unix:///a%20b/s").display_name == "/a b/s"


def test_an_old_server_is_refused() -> None:
    (fault,) = list_faults({"redis_version": "6.2.14", "aof_enabled": 1}, None)
    assert fault.is_fatal
    assert "Redis 7.0 or Valkey 7.2" in fault.text
    assert list_faults({"redis_version": "7.0.0", "aof_enabled": 1}, None) == []


async def test_the_number_of_partitions_is_fixed_by_the_first(server_url: str) -> None:
    prefix = f"t{secrets.token_hex(4)}"
    store = await Store.connect(server_url, prefix=prefix, partitions=4)
    with pytest.raises(StoreError, match="4 partitions"):
        await Store.connect(server_url, prefix=prefix)
    await store.close()


async def test_through_a_sentinel(port: int, tmp_path: Path) -> None:
    folder = tmp_path / "sentinel"
    folder.mkdir()
    ask(port, "CONFIG", "SET", "requirepass", "pw")
    settings = f"sentinel monitor main 127.0.0.1 {port} 1\nsentinel auth-pass main pw\n"
    (folder / "sentinel.conf").write_text(settings)
    with tcp_server(folder, str(folder / "sentinel.conf"), "--sentinel") as sentinel:
        url = f"redis+sentinel://:pw@127.0.0.1:{free_port()},127.0.0.1:{sentinel}"
        with pytest.raises(StoreError, match="No Sentinel"):
            await Store.connect(f"{url}/nobody")
        store = await Store.connect(f"{url}/main")
        heard: list[JobKey] = []

        async def hears() -> bool:
            await store.jobs.ingest(JOB, "{}", dedupe=[])
            return JOB in heard

        async with hearing(store.listen(), heard):
            await eventually(hears)
        claim = await take_job(store, lease=30)
        assert await store.jobs.commit(claim, "op", 0, ["{}"]) is Commit.OK
        await store.close()


async def test_scripts_are_loaded_again_where_the_server_forgot_them(server_kit: Kit) -> None:
    store = server_kit.store
    claim = await server_kit.claim_new_job()
    await store._server.run_command("SCRIPT", "FLUSH")
    assert await store.jobs.commit(claim, "op", 0, ["{}"]) is Commit.OK
    assert await store.jobs.read_log(JOB) == [LogEntry(1, "{}")]


async def test_listeners_come_back_after_a_lost_connection(server_kit: Kit) -> None:
    store = server_kit.store
    heard: list[JobKey] = []

    async def hears() -> bool:
        await store.jobs.ingest(JOB, "{}", dedupe=[])
        return JOB in heard

    async with hearing(server_kit.others[0].listen(), heard):
        await eventually(hears)
        assert await store._server.run_command("CLIENT", "KILL", "TYPE", "pubsub") >= 1
        heard.clear()
        await eventually(hears)


@asynccontextmanager
async def _lossy(server: str, socket: Path) -> AsyncIterator[list[int]]:
    """A way to a server that loses the reply to every EVALSHA whose turn (in the list) has come."""
    losses: list[int] = []
    tasks: set[asyncio.Task[None]] = set()

    async def pump(client: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        upstream, upward = await asyncio.open_unix_connection(server)
        try:
            while request := await client.read(65536):
                upward.write(request)
                reply = await upstream.read(65536)
                if b"EVALSHA" in request and losses and losses.pop():
                    return
                to.write(reply)
        finally:
            upward.close()
            to.close()

    def accept(client: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(pump(client, to))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    listener = await asyncio.start_unix_server(accept, socket)
    try:
        yield losses
    finally:
        listener.close()
        for task in list(tasks):
            task.cancel()


async def test_a_lost_reply_changes_nothing(server_url: str, tmp_path: Path) -> None:
    async with _lossy(server_url.removeprefix("unix://"), tmp_path / "s") as losses:
        store = await Store.connect(f"unix://{tmp_path}/s", prefix=f"t{secrets.token_hex(4)}")
        # Warm, so that no reply is lost that only asks for a script's text.
        warm = JobKey("T1", "warm")
        await store.jobs.ingest(warm, "{}", dedupe=[])
        claim = await take_job(store, lease=30, preferred_job=warm)
        await store.jobs.commit(claim, "op", 0, [], taken_entries=[1])
        await store.outbox.record_intent(claim, "m", "o")
        await store.jobs.release(claim, due=None)

        losses.append(1)
        assert await store.jobs.ingest(JOB, "{}", dedupe=["1"])
        losses.append(1)
        claim = await take_job(store, lease=30, preferred_job=JOB)
        assert (claim.key, claim.epoch) == (JOB, 1)
        losses.append(1)
        intent = await store.outbox.record_intent(claim, "m", "o")
        assert intent is not None
        assert intent.is_first
        losses.append(1)
        assert await store.jobs.commit(claim, "op", 0, ["{}"], taken_entries=[1]) is Commit.DUP
        losses.append(1)
        assert await store.jobs.release(claim, due=None)
        assert losses == []
        assert await store.jobs.read_log(JOB) == [LogEntry(1, "{}")]
        losses.extend([1, 1, 1])
        with pytest.raises(StoreError):
            await store.jobs.ingest(JOB, '{"n":2}', dedupe=["2"])
        assert losses == [], "three times at most"
        assert len(await store.jobs.read_inbox(JOB)) == 1
        await store.close()


async def test_finished_jobs_expire_and_what_comes_in_keeps_them(server_url: str) -> None:
    store = await Store.connect(server_url, prefix=f"t{secrets.token_hex(4)}", retention=Retention(jobs=0.4))
    large = "x" * 20_000
    keys = [JobKey("T1", "ends"), JobKey("T1", "goes on"), JobKey("T1", "waits")]
    digest = ""
    for key in keys:
        await store.jobs.ingest(key, large, dedupe=["1"], user="U1")
        claim = await take_job(store, lease=30, preferred_job=key)
        if key.job == "waits":
            await store.jobs.signal(key, "{}", dedupe=["2"])
        assert await store.jobs.commit(claim, "op", 0, [large], taken_entries=[1], starts_expiry=True) is Commit.OK
        assert await store.outbox.record_intent(claim, "late", "o") is not None
        digest = await store.blobs.put(key, b"late")
        await store.jobs.release(claim, due=None)
        if key.job == "goes on":
            assert await store.jobs.ingest(key, "{}", dedupe=["2"])
    await eventually(lambda: _is_gone(store, keys[0]))
    assert await store.outbox.read_messages(keys[0]) == {}
    with pytest.raises(KeyError):
        await store.blobs.get(keys[0], digest)
    for key in keys[1:]:
        assert [entry.payload for entry in await store.jobs.read_log(key)] == [large]
        assert len(await store.jobs.read_inbox(key)) == 1
        assert await store.blobs.get(key, digest) == b"late"
        assert (await store.outbox.read_messages(key)).keys() == {"late"}
    await store.close()


async def _is_gone(store: Store, key: JobKey) -> bool:
    return await store.jobs.read_head(key) is None


async def test_everything_kept_has_a_bound(server_kit: Kit) -> None:
    store = server_kit.store
    claim = await server_kit.claim_new_job()
    await store.blobs.put(JobKey("T1", "never"), b"x")
    await store.jobs.commit(claim, "op", 0, ["{}"], taken_entries=[1])
    await store.outbox.record_intent(claim, "m", "o")
    await store.jobs.release(claim, due=None)
    names = await store._server.run_command("KEYS", f"{store._keys.prefix}:*")
    lives = await store._server.run_commands([("PTTL", name) for name in names])
    forever = [name.decode() for name, life in zip(names, lives, strict=True) if life == -1]
    assert [name.partition("}:")[2] for name in forever] == ["partitions"]


def test_the_arguments_that_a_server_quotes_are_left_out() -> None:
    """A server that knows no AUTH quotes the password, and the client the command of a pipeline."""
    quoted = ResponseError("unknown command 'AUTH', with args beginning with: 'leadhand' 'S3cret' ")
    assert "S3cret" not in str(explain_error(quoted, "db:6379"))
    assert "unknown command 'AUTH'" in str(explain_error(quoted, "db:6379"))
    piped = ResponseError("Command # 1 (SET key S3cret) of pipeline caused error: ERR syntax error")
    assert str(explain_error(piped, "db:6379")).endswith("refused a command: ERR syntax error")
