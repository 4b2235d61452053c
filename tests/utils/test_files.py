"""`get_file` downloads a file once, verifies it, and never stores a partial file."""

import hashlib
import io
import pathlib
import tarfile
import zipfile

import pytest

from podium import utils


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "web" / "words.txt"
    path.parent.mkdir()
    path.write_text("hello")
    return path


def download(source, cache, **options):
    return utils.get_file(origin=source.as_uri(), cache_dir=cache, **options)


def test_get_file_downloads_once(source, tmp_path):
    first = download(source, tmp_path / "cache")
    assert (
        first == str(tmp_path / "cache" / "datasets" / "words.txt")
        and pathlib.Path(first).read_text() == "hello"
    )
    source.write_text("changed")
    assert pathlib.Path(download(source, tmp_path / "cache")).read_text() == "hello"
    assert (
        pathlib.Path(download(source, tmp_path / "cache", force_download=True)).read_text()
        == "changed"
    )


@pytest.mark.parametrize("algorithm", ["sha256", "md5"])
def test_cached_file_with_another_hash_is_downloaded_again(source, tmp_path, algorithm):
    expected = hashlib.new(algorithm, b"hello").hexdigest()
    path = pathlib.Path(download(source, tmp_path / "cache", file_hash=expected))
    path.write_text("corrupt")
    assert (
        pathlib.Path(download(source, tmp_path / "cache", file_hash=expected)).read_text()
        == "hello"
    )


def test_file_with_wrong_hash_is_not_stored(source, tmp_path):
    with pytest.raises(ValueError, match=rf"has the hash [0-9a-f]+; {'0' * 64} was expected"):
        download(source, tmp_path / "cache", file_hash="0" * 64)
    assert list((tmp_path / "cache" / "datasets").iterdir()) == []


def test_offline_error_names_the_cache_path(tmp_path):
    missing = tmp_path / "nowhere" / "digits.npz"
    with pytest.raises(
        OSError,
        match=rf"{missing.as_uri()} could not be downloaded: .*put it at "
        rf"{tmp_path}/datasets/digits.npz",
    ):
        download(missing, tmp_path)
    assert list((tmp_path / "datasets").iterdir()) == []


def test_cache_directory_is_keras_home(source, tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "home"))
    assert utils.get_file("a.txt", source.as_uri(), cache_subdir="books") == str(
        tmp_path / "home" / "books" / "a.txt"
    )


@pytest.mark.parametrize("archive_format", ["tar", "zip"])
def test_get_file_extracts_archives(source, tmp_path, archive_format):
    archive = source.parent / f"all.{archive_format}"
    if archive_format == "tar":
        with tarfile.open(archive, "w") as tar:
            tar.add(source, "inner/words.txt")
    else:
        with zipfile.ZipFile(archive, "w") as zipped:
            zipped.write(source, "inner/words.txt")
    directory = pathlib.Path(download(archive, tmp_path / "cache", extract=True))
    assert (directory / "inner" / "words.txt").read_text() == "hello"
    assert download(archive, tmp_path / "cache", extract=True) == str(directory)


def tar_with(path, **fields):
    member = tarfile.TarInfo(fields.pop("name"))
    for name, value in fields.items():
        setattr(member, name, value)
    with tarfile.open(path, "w:gz") as tar:
        tar.addfile(member, io.BytesIO(bytes(member.size)))


def zip_with(path, name, mode=0):
    member = zipfile.ZipInfo(name)
    member.external_attr = mode << 16
    with zipfile.ZipFile(path, "w") as zipped:
        zipped.writestr(member, b"x")


@pytest.mark.parametrize(
    ("write_archive", "message"),
    [
        (lambda path: tar_with(path, name="../../evil.txt"), "'../../evil.txt' has an unsafe path"),
        (lambda path: tar_with(path, name="/tmp/evil.txt"), "unsafe path"),
        (
            lambda path: tar_with(path, name="evil", type=tarfile.SYMTYPE, linkname=".."),
            "'evil' is a link",
        ),
        (
            lambda path: tar_with(path, name="evil", type=tarfile.LNKTYPE, linkname="/etc/passwd"),
            "is a link",
        ),
        (lambda path: tar_with(path, name="evil", type=tarfile.CHRTYPE), "a device"),
        (
            lambda path: tar_with(path, name="evil", size=160 << 20),
            "beyond the limit of 200 times .* zip bomb",
        ),
        (lambda path: zip_with(path, "../evil.txt"), "unsafe path"),
        (lambda path: zip_with(path, "..\\evil.txt"), "unsafe path"),
        (lambda path: zip_with(path, "evil", 0o120777), "is a link"),
    ],
)
def test_unsafe_archive_raises_and_leaves_no_file(tmp_path, write_archive, message):
    archive = tmp_path / "evil.tar"
    write_archive(archive)
    with pytest.raises(ValueError, match=message):
        download(archive, tmp_path / "cache", extract=True)
    assert [path.name for path in tmp_path.rglob("*evil*")] == ["evil.tar", "evil.tar"]


def test_invalid_arguments_raise(source, tmp_path):
    with pytest.raises(ValueError, match="no origin"):
        utils.get_file("a")
    with pytest.raises(ValueError, match="pass one as fname"):
        utils.get_file(origin="https://example.com/")
    with pytest.raises(ValueError, match="is not an archive"):
        download(source, tmp_path / "cache", extract=True)


@pytest.mark.parametrize("name", ["../a.txt", "sub/a.txt", "/tmp/a.txt", "a\\b.txt", ".."])
def test_a_path_in_place_of_a_file_name_is_refused(name, tmp_path):
    with pytest.raises(ValueError, match="which is a path; the name of a file was expected"):
        utils.get_file(name, "https://example.com/a.txt", cache_dir=tmp_path)
    assert not list(tmp_path.iterdir())
