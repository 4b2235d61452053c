"""`get_file`: a file is fetched once, checked, and never there by half."""

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


def get(source, cache, **options):
    return utils.get_file(origin=source.as_uri(), cache_dir=cache, **options)


def test_fetches_once(source, tmp_path):
    first = get(source, tmp_path / "cache")
    assert (
        first == str(tmp_path / "cache" / "datasets" / "words.txt")
        and pathlib.Path(first).read_text() == "hello"
    )
    source.write_text("changed")
    assert pathlib.Path(get(source, tmp_path / "cache")).read_text() == "hello"
    assert (
        pathlib.Path(get(source, tmp_path / "cache", force_download=True)).read_text() == "changed"
    )


@pytest.mark.parametrize("kind", ["sha256", "md5"])
def test_checks_the_hash_and_fetches_anew_when_the_cached_file_differs(source, tmp_path, kind):
    right = hashlib.new(kind, b"hello").hexdigest()
    path = pathlib.Path(get(source, tmp_path / "cache", file_hash=right))
    path.write_text("damaged")
    assert pathlib.Path(get(source, tmp_path / "cache", file_hash=right)).read_text() == "hello"


def test_a_file_with_the_wrong_hash_is_not_kept(source, tmp_path):
    with pytest.raises(ValueError, match=rf"has the hash [0-9a-f]+; {'0' * 64} was expected"):
        get(source, tmp_path / "cache", file_hash="0" * 64)
    assert list((tmp_path / "cache" / "datasets").iterdir()) == []


def test_without_a_connection_it_says_where_to_put_the_file(tmp_path):
    missing = tmp_path / "nowhere" / "digits.npz"
    with pytest.raises(
        OSError,
        match=rf"{missing.as_uri()} could not be fetched: .*put it at "
        rf"{tmp_path}/datasets/digits.npz",
    ):
        get(missing, tmp_path)
    assert list((tmp_path / "datasets").iterdir()) == []


def test_the_cache_is_keras_home(source, tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "home"))
    assert utils.get_file("a.txt", source.as_uri(), cache_subdir="books") == str(
        tmp_path / "home" / "books" / "a.txt"
    )


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_unpacks_archives(source, tmp_path, kind):
    archive = source.parent / f"all.{kind}"
    if kind == "tar":
        with tarfile.open(archive, "w") as tar:
            tar.add(source, "inner/words.txt")
    else:
        with zipfile.ZipFile(archive, "w") as packed:
            packed.write(source, "inner/words.txt")
    folder = pathlib.Path(get(archive, tmp_path / "cache", extract=True))
    assert (folder / "inner" / "words.txt").read_text() == "hello"
    assert get(archive, tmp_path / "cache", extract=True) == str(folder)


def tar_with(path, **fields):
    member = tarfile.TarInfo(fields.pop("name"))
    for name, value in fields.items():
        setattr(member, name, value)
    with tarfile.open(path, "w:gz") as tar:
        tar.addfile(member, io.BytesIO(bytes(member.size)))


def zip_with(path, name, mode=0):
    member = zipfile.ZipInfo(name)
    member.external_attr = mode << 16
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr(member, b"x")


@pytest.mark.parametrize(
    ("make", "match"),
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
            "beyond the limit of 200 times .*: a bomb",
        ),
        (lambda path: zip_with(path, "../evil.txt"), "unsafe path"),
        (lambda path: zip_with(path, "..\\evil.txt"), "unsafe path"),
        (lambda path: zip_with(path, "evil", 0o120777), "is a link"),
    ],
)
def test_hostile_archives_are_refused_and_leave_nothing(tmp_path, make, match):
    archive = tmp_path / "evil.tar"
    make(archive)
    with pytest.raises(ValueError, match=match):
        get(archive, tmp_path / "cache", extract=True)
    assert [path.name for path in tmp_path.rglob("*evil*")] == ["evil.tar", "evil.tar"]


def test_mistakes_are_explained(source, tmp_path):
    with pytest.raises(ValueError, match="no origin"):
        utils.get_file("a")
    with pytest.raises(ValueError, match="give one with fname="):
        utils.get_file(origin="https://example.com/")
    with pytest.raises(ValueError, match="is no archive"):
        get(source, tmp_path / "cache", extract=True)
