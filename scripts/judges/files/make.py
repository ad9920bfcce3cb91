"""Makes files of kinds that a machine may lack: python3 make.py FOLDER"""
import bz2, gzip, io, lzma, os, sqlite3, struct, sys, tarfile, wave, zipfile, zlib

os.chdir(sys.argv[1])
TEXT = b"The database is saved every night at three.\n" * 200


def write(name, data):
    with open(name, "wb") as f:
        f.write(data)


def archive(name, entries):
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as z:
        for entry, data in entries.items():
            z.writestr(zipfile.ZipInfo(entry), data, zipfile.ZIP_STORED if entry == "mimetype" else zipfile.ZIP_DEFLATED)


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes((x * y) % 256 for x in range(width)) for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def pdf():
    out, offsets = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", []
    for n, body in enumerate([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
                              b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] >>"], 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (n, body)
    table = b"".join(b"%010d 00000 n \n" % at for at in offsets)
    return out + b"xref\n0 4\n0000000000 65535 f \n" + table + b"trailer\n<< /Size 4 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(out)


write("text.gz", gzip.compress(TEXT, mtime=0))
write("text.bz2", bz2.compress(TEXT))
write("text.xz", lzma.compress(TEXT))
write("empty.txt", b"")
write("utf16.txt", TEXT.decode().encode("utf-16"))
write("utf8bom.txt", b"\xef\xbb\xbf" + TEXT)
write("latin1.txt", "Der Schlüssel hängt über der Tür.\n".encode("latin-1") * 50)
write("one.bin", b"\0")
write("noise.bin", zlib.compress(bytes(range(256)) * 40)[2:] * 3)
write("image.png", png(40, 30))
write("page.pdf", pdf())
write("table.csv", b"name,size\n" + b"a,1\nb,2\n" * 50)
write("table.tsv", b"name\tsize\n" + b"a\t1\nb\t2\n" * 50)
write("list.ndjson", b'{"a": 1}\n' * 50)
write("letter.rtf", b"{\\rtf1\\ansi\\deff0 {\\fonttbl {\\f0 Times;}} Hello.}")
write("card.vcf", b"BEGIN:VCARD\r\nVERSION:3.0\r\nN:Doe;Ann\r\nFN:Ann Doe\r\nEND:VCARD\r\n")
write("day.ics", b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//y//EN\r\nEND:VCALENDAR\r\n")
archive("plain.zip", {"a.txt": TEXT, "b/c.txt": TEXT})
archive("book.epub", {"mimetype": b"application/epub+zip", "META-INF/container.xml": b"<container/>"})
for kind in ("text", "spreadsheet", "presentation"):
    archive("office." + {"text": "odt", "spreadsheet": "ods", "presentation": "odp"}[kind],
            {"mimetype": b"application/vnd.oasis.opendocument." + kind.encode(), "content.xml": b"<office/>"})
for name, part in (("docx", "word/document.xml"), ("xlsx", "xl/workbook.xml"), ("pptx", "ppt/presentation.xml")):
    archive("office." + name, {"[Content_Types].xml": b'<?xml version="1.0"?><Types/>', "_rels/.rels": b"<Relationships/>", part: b"<document/>"})
archive("classes.jar", {"META-INF/MANIFEST.MF": b"Manifest-Version: 1.0\r\n\r\n", "A.class": b"\xca\xfe\xba\xbe\0\0\0\x3d"})
for name, mode in (("files.tar", "w"), ("files.tar.gz", "w:gz")):
    with tarfile.open(name, mode) as t:
        info = tarfile.TarInfo("a.txt")
        info.size = len(TEXT)
        t.addfile(info, io.BytesIO(TEXT))
with wave.open("tone.wav", "wb") as w:
    w.setnchannels(1)
    w.setsampwidth(2)
    w.setframerate(8000)
    w.writeframes(bytes(4000))
db = sqlite3.connect("data.sqlite")
db.execute("CREATE TABLE t (x)")
db.commit()
db.close()
