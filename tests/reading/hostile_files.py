"""Files that want too much: bombs, loops, and what a crash or a lost connection leaves of a file."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from pathlib import Path

FILES = Path(__file__).parent / "files"
MEGABYTE = 1024 * 1024
_ADLER = 65521
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def pdf(*objects: bytes, root: int = 1) -> bytes:
    """A PDF of numbered objects, the first of them its catalog."""
    out, places = io.BytesIO(), []
    out.write(b"%PDF-1.7\n")
    for number, body in enumerate(objects, start=1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.writelines(b"%010d 00000 n \n" % place for place in places)
    out.write(b"trailer\n<< /Size %d /Root %d 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, root, start))
    return out.getvalue()


def stream(data: bytes, words: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), words, data)


def deflate_repeats(piece: bytes, times: int) -> bytes:
    """`piece` many times over, as zlib packs it: packed once, and the packed bytes repeated."""
    packer = zlib.compressobj(9, wbits=-15)
    packed = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    return b"\x78\xda" + packed * times + packer.flush() + struct.pack(">I", _adler32(piece, times))


def _adler32(piece: bytes, times: int) -> int:
    """The checksum of `piece` many times over."""
    whole = zlib.adler32(piece)
    first, second = (whole - 1) & 0xFFFF, whole >> 16  # the sum of the bytes; the sum of the sums up to each of them
    second += first * len(piece) * (times - 1) // 2
    return (1 + first * times) % _ADLER | (second * times % _ADLER) << 16


def page_with(content: bytes, *more: bytes, resources: bytes = b"", box: bytes = b"0 0 600 800") -> bytes:
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [%s] /Contents 4 0 R /Resources << %s >> >>" % (box, resources)
    return pdf(b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page, content, *more)


def nested_forms() -> bytes:
    """Nine forms, each of which draws the next one ten times."""
    forms = []
    for depth in range(9):
        words = b"/Type /XObject /Subtype /Form /BBox [0 0 600 800] "
        words += b"/Resources << /XObject << /F %d 0 R >> /Font << /A 15 0 R >> >>"
        last = depth == 8
        body = b"BT /A 9 Tf 10 10 Td (x) Tj ET" if last else b"/F Do " * 10
        forms.append(stream(body, words % (15 if last else depth + 6)))
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    return page_with(stream(b"/F Do " * 10), *forms, font, font, resources=b"/XObject << /F 5 0 R >>")


def many_operators() -> bytes:
    return page_with(
        stream(deflate_repeats(b"q 1 0 0 1 0 0 cm 0 0 m 9 9 l S Q " * 3000, 1000), b"/Filter /FlateDecode")
    )


def blanks() -> bytes:
    return page_with(stream(deflate_repeats(b" " * MEGABYTE, 2000), b"/Filter /FlateDecode"))


def huge_page() -> bytes:
    return page_with(stream(b"0 0 m 9 9 l S"), box=b"0 0 1000000 1000000")


def huge_scan() -> bytes:
    words = b"/Type /XObject /Subtype /Image /Width 60000 /Height 60000 /ColorSpace /DeviceGray /BitsPerComponent 8"
    image = stream(deflate_repeats(b"\0" * 60000, 60000), words + b" /Filter /FlateDecode")
    return page_with(stream(b"600 0 0 800 0 0 cm /I Do"), image, resources=b"/XObject << /I 5 0 R >>")


def many_pages() -> bytes:
    kids = b" ".join(b"3 0 R" for _ in range(200_000))
    return pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count 200000 >>" % kids,
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] >>",
    )


def circle_of_pages() -> bytes:
    return pdf(b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [2 0 R] /Count 2000000000 >>")


def nested_arrays() -> bytes:
    return pdf(b"<< /Type /Catalog /Pages 2 0 R >>", b"[" * 200_000 + b"]" * 200_000)


def zip_members(members: dict[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", kind) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def with_bomb(members: dict[str, bytes], name: str, head: bytes, piece: bytes, times: int, tail: bytes = b"") -> bytes:
    """An archive one member of which is `piece` many times over."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for other, data in members.items():
            archive.writestr(other, data)
        with archive.open(name, "w", force_zip64=True) as file:
            file.write(head)
            for _ in range(times):
                file.write(piece)
            file.write(tail)
    return out.getvalue()


def replace_member(name: str, member: str, data: bytes) -> bytes:
    """One of the good files, with one member replaced."""
    with zipfile.ZipFile(FILES / name) as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    return zip_members(members | {member: data})


def word(body: bytes, before: bytes = b"") -> bytes:
    return b'<?xml version="1.0"?>%s<w:document xmlns:w="%s"><w:body>%s</w:body></w:document>' % (
        before,
        _WORD.encode(),
        body,
    )


def docx_of(xml: bytes) -> bytes:
    return zip_members({"[Content_Types].xml": b"<Types/>", "word/document.xml": xml})


def laughs() -> bytes:
    entities = [b'<!ENTITY a0 "ha ha ha ha ha ha ha ha">']
    entities += [b'<!ENTITY a%d "%s">' % (depth, b"&a%d;" % (depth - 1) * 10) for depth in range(1, 12)]
    paragraph = b"<w:p><w:r><w:t>&a11;</w:t></w:r></w:p>"
    return docx_of(word(paragraph, b"<!DOCTYPE x [%s]>" % b"".join(entities)))


def outside_entity() -> bytes:
    return docx_of(
        word(b"<w:p><w:r><w:t>so:&x;</w:t></w:r></w:p>", b'<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/hosts">]>')
    )


def big_word() -> bytes:
    piece = b"<w:p><w:r><w:t>x</w:t></w:r></w:p>" * 10_000
    head, tail = word(b"@").split(b"@")
    return with_bomb({"[Content_Types].xml": b"<Types/>"}, "word/document.xml", head, piece, 700, tail)


def dense_word() -> bytes:
    """As much XML as is parsed, in the smallest elements."""
    return docx_of(word(b"<w:p/>" * 7_000_000))


def lying_archive() -> bytes:
    """A member of 300 MB that says it has 10 bytes."""
    data = bytearray(with_bomb({}, "a.txt", b"", b"\0" * MEGABYTE, 300))
    directory = data.rindex(b"PK\x01\x02")
    struct.pack_into("<I", data, directory + 24, 10)
    return bytes(data)


def archive_of_everything(files: int) -> bytes:
    return zip_members({f"{number}.txt": b"" for number in range(files)}, zipfile.ZIP_STORED)


def png(width: int, height: int, rows: bytes, *chunks: bytes) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    texts = b"".join(chunk(b"zTXt", text) for text in chunks)
    return b"\x89PNG\r\n\x1a\n" + head + texts + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def gif(width: int, height: int) -> bytes:
    size = struct.pack("<HH", width, height)
    return b"GIF89a" + size + b"\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0" + size + b"\0\x02\x02L\x01\0;"


def nested_mail() -> bytes:
    heads = b"".join(b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (n, n) for n in range(3_000))
    return b"From: a@b.c\nDate: x\nSubject: deep\nMIME-Version: 1.0\n" + heads


def mail_of_many() -> bytes:
    part = b"--b\nContent-Type: text/csv\nContent-Disposition: attachment; filename=a.csv\n\nx\n"
    return b'From: a@b.c\nSubject: many\nContent-Type: multipart/mixed; boundary="b"\n\n' + part * 10_000 + b"--b--\n"


def workbook(rows: int) -> bytes:
    head = (
        b'<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    )
    with zipfile.ZipFile(FILES / "sales.xlsx") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    del members["xl/worksheets/sheet1.xml"]
    piece = b"<row>" + b"<c><v>1</v></c>" * 1000 + b"</row>"
    return with_bomb(members, "xl/worksheets/sheet1.xml", head, piece, rows, b"</sheetData></worksheet>")


def far_cell() -> bytes:
    first = b'<row r="1"><c r="A1"><v>1</v></c></row>'
    last = b'<row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'
    sheet = b'<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    sheet += b"<sheetData>%s%s</sheetData></worksheet>" % (first, last)
    return replace_member("sales.xlsx", "xl/worksheets/sheet1.xml", sheet)
