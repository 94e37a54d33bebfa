"""URLs that people or the web gave. A known URL is found again by what it asks for, however a model spells it.

A URL has endless spellings (percent-encodings, slashes, case, ports, fragments), and a spelling could carry a text out.
So a call asks for the known URL in the spelling in which it was given, never in the model's.
"""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

_URL = re.compile(r"https?://[^\s<>\"'|\[\]`\\]+", re.IGNORECASE)
_BARE_DOMAIN = re.compile(
    r"(?<![\w@./\\:-])((?:[^\W_][\w-]{0,62}\.)+([^\W\d_]{2,63}|xn--[\w-]{2,59})(?::\d{1,5})?)(/[^\s<>\"'|\[\]`\\]*)?(?![\w@-])",
    re.IGNORECASE,
)
_TRAILING_SIGNS = ".,;:!?*_'"
"""Punctuation after a URL that is not part of it."""
_DEFAULT_PORTS = {"http": 80, "https": 443}
_FILE_SUFFIX = re.compile(
    r"7z|ai|app|avi|bak|bash|bat|bin|bmp|bz2|c|cc|cfg|cgi|class|cmd|conf|cpp|cs|css|csv|dat|db|dll|dmg|docx?|eml|env|epub"
    r"|exe|gif|go|gz|h|hpp|hs|html?|ics|ini|ipynb|iso|jar|java|jpe?g|js|jsonl?|jsx|key|kt|lock|log|lua|mdx?|mjs|mkv|ml|mm"
    r"|mov|mp3|mp4|msg|ndjson|numbers|od[pst]|pages|parquet|patch|pdf|php|pkg|pl|png|pptx?|properties|ps|ps1|psd|pyi?|rar"
    r"|rb|rs|rst|rtf|sass|scala|scss|sh|so|sql|sqlite|srt|svg|swift|tab|tar|tex|tf|tgz|tiff?|toml|tsv?|tsx|txt|vb|vue"
    r"|wasm|wav|webp|wmv|xls[bmx]?|xml|xz|ya?ml|zip|zst",
    re.IGNORECASE,
)
"""Suffixes of file names, some of which are also top-level domains. A name in a text that ends in one is a file."""
_CONTAINER_SUFFIX = re.compile(r"7z|bz2|gz|jar|js|rar|tar|tgz|xz|zip|zst", re.IGNORECASE)
"""Suffixes of files that a slash and a path may follow, and that are no hosts even then: an archive, two libraries."""
_MAX_SECOND_LEVEL_LETTERS = 3
"""Most letters of the part before a country's domain that belongs to it, such as the `co` of co.uk."""

_UrlKey = tuple[str, str, str]
"""A URL as it is compared: a triple of (host, path, query), decoded."""


class KnownUrls:
    """Known URLs, each found again by what it asks for."""

    def __init__(self) -> None:
        self._spellings: set[str] = set()
        self._first_spellings: dict[_UrlKey, str] = {}

    def __len__(self) -> int:
        """Return the number of URLs. Different spellings count separately."""
        return len(self._spellings)

    def add(self, url: str) -> None:
        """Add a URL as it was given. A URL that no browser would accept is left out."""
        key = _parse_url(url)
        if key is None:
            return
        self._spellings.add(url)
        self._first_spellings.setdefault(key, url)

    def find_known_spelling(self, url: str) -> str | None:
        """Return the known URL that asks for the same, as it was given; None if none does.

        A URL without a query also finds a known one that has a query.
        """
        key = _parse_url(url)
        if url in self._spellings or key is None:
            return url if key is not None else None
        if key in self._first_spellings or key[2]:
            return self._first_spellings.get(key)
        return next((spelling for other, spelling in self._first_spellings.items() if other[:2] == key[:2]), None)


def find_absolute_urls(text: str) -> set[str]:
    """Find the URLs with a scheme in a text. One with a closing bracket is returned twice: whole, and cut before it."""
    urls = set()
    for match in _URL.findall(text):
        url = match.rstrip(_TRAILING_SIGNS)
        while url.endswith(")") and url.count(")") > url.count("("):
            url = url[:-1].rstrip(_TRAILING_SIGNS)
        urls |= {url, match.split(")", 1)[0].rstrip(_TRAILING_SIGNS)}
    return urls


def find_urls_and_domains(text: str) -> set[str]:
    """Find the URLs that a person wrote, with a scheme or as a bare domain, which is returned with both http and https.

    A name that ends like a file (`notes.md`, `setup.py`) is no domain. Neither is an abbreviation, a version, or the
    part after an @.
    """
    urls = find_absolute_urls(text)
    for host, ending, path in _BARE_DOMAIN.findall(_URL.sub(" ", text)):
        if not (_CONTAINER_SUFFIX if len(path) > 1 else _FILE_SUFFIX).fullmatch(ending):
            urls |= {f"{scheme}://{host}{path.rstrip(_TRAILING_SIGNS + ')')}" for scheme in _DEFAULT_PORTS}
    return urls


def extract_host(url: str) -> str:
    """Return the host of a URL as hosts are compared, with any unusual port; "" if it has no host."""
    key = _parse_url(url)
    return key[0] if key is not None else ""


def extract_site(host: str) -> str:
    """Return the registered domain that a host belongs to. An IP address is returned as it is."""
    name = host.partition(":")[0]
    labels = name.split(".")
    if host.startswith("[") or labels[-1].isdigit():
        return host
    has_country_suffix = len(labels) > 2 and len(labels[-1]) == 2 and len(labels[-2]) <= _MAX_SECOND_LEVEL_LETTERS
    return ".".join(labels[-3:] if has_country_suffix else labels[-2:])


def fold_host(host: str) -> str:
    """Return a host as hosts are compared: in lower case, without `www.`."""
    return host.lower().removeprefix("www.")


def encode_host(url: str) -> str:
    """Return a URL with its host in the ASCII form in which it is looked up, so that look-alike letters show."""
    try:
        host = urlsplit(url).hostname or ""
        return (
            url if host.isascii() else re.sub(re.escape(host), _normalize_host(host), url, count=1, flags=re.IGNORECASE)
        )
    except ValueError:  # no URL, or no host that can be looked up
        return url


def _normalize_host(host: str) -> str:
    """Return a host in ASCII, as it is looked up. Raises UnicodeError if it can be read in more than one way."""
    ascii_host = host.encode("idna").decode()
    if not host.isascii() and ascii_host.encode().decode("idna") != host.lower():
        raise UnicodeError(f"{host} has several readings")
    return ascii_host


def _parse_url(url: str) -> _UrlKey | None:
    """Parse a URL; None if no browser would accept it, or if a user name in it may disguise its host."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or "@" in parts.netloc or "\\" in url:
        return None
    try:
        ascii_name = _normalize_host(parts.hostname)
    except UnicodeError:
        return None
    name = f"[{ascii_name}]" if ":" in ascii_name else ascii_name
    host = name if port in {None, _DEFAULT_PORTS[parts.scheme]} else f"{name}:{port}"
    return fold_host(host), unquote(parts.path).rstrip("/"), unquote(parts.query)
