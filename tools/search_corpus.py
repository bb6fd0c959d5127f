"""The corpus of `./dev bench search`: HTML documentation of Debian packages, as lines of JSON; and queries drawn from it."""

import collections
import hashlib
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# In this order until there are enough documents. At most so many of one package, so that none is the whole corpus.
PACKAGES = """
    rust-doc openjdk-17-doc fp-docs-3.2.2 linux-doc-6.1 cppreference-doc-en-html libreoffice-help-pt libreoffice-help-pt-br
    debian-handbook python3.11-doc erlang-doc ghc-doc postgresql-doc-15 libreoffice-help-es libreoffice-help-fr
    libreoffice-help-de libreoffice-help-it libboost1.81-doc qtbase5-doc-html libstdc++-12-doc lilypond-doc-html racket-doc
    scala-doc libfastutil-java-doc groovy-doc libgtkmm-3.0-doc wx3.2-doc python-pandas-doc libapache-poi-java-doc
    libghc-gi-gtk-doc openscenegraph-doc vtk9-doc
""".split()
MOST_OF_ONE = 20_000

# Too common to be asked for by name anywhere, or left out by some of the four.
STOP_WORDS = set(
    """
    the and for that this with are not from can will has have was were but you your his her its our their they them she
    all any each few more most other some such only own same than too very just should now who whom which what when where
    why how about into through during before after above below between under again further then once here there been being
    does did doing would could may might must shall also use used using one two com www http https html org der die das und
    que para com uma por dos das não mais como ele ela ser são sobre seu sua los las del una por con les des est une pour
    dans sur qui pas plus par avec der die und den von mit ist des sich auf für nicht ein eine dem als auch che non per
    con una sono della nel gli dei
    """.split()
)
WORD = re.compile(r"[^\W\d_]{3,20}")


def build(folder, documents, program):
    """The corpus file with at least so many documents, made once, and how many documents each package gave."""
    corpus, parts = folder / "corpus.jsonl", folder / "corpus.parts.json"
    if corpus.exists() and parts.exists():
        known = json.loads(parts.read_text())
        if sum(known.values()) >= documents:
            return corpus, known
    folder.mkdir(parents=True, exist_ok=True)
    seen, counts = set(), collections.OrderedDict()
    unfinished = folder / "corpus.new"
    with unfinished.open("w", encoding="utf-8") as out:
        for package in PACKAGES:
            if sum(counts.values()) >= documents:
                break
            counts[package] = add_package(folder, package, program, seen, out)
            print(f"  {package}: {counts[package]} documents, {sum(counts.values())} in all", file=sys.stderr)
    if sum(counts.values()) < documents:
        print(f"only {sum(counts.values())} documents were found", file=sys.stderr)
    shuffle(unfinished, corpus)
    unfinished.unlink()
    parts.write_text(json.dumps(counts))
    return corpus, counts


def add_package(folder, package, program, seen, out):
    """Writes the documents of a package that were not there yet; how many."""
    debs = folder / "debs"
    debs.mkdir(exist_ok=True)
    if not list(debs.glob(f"{package}_*.deb")):
        subprocess.run(["apt-get", "download", "-qq", package], cwd=debs, stderr=subprocess.DEVNULL)
    found = sorted(debs.glob(f"{package}_*.deb"))
    if not found:
        print(f"  {package} cannot be downloaded", file=sys.stderr)
        return 0
    unpacked, lines = folder / "unpacked", folder / "package.jsonl"
    shutil.rmtree(unpacked, ignore_errors=True)
    unpacked.mkdir()
    # Only the pages: pictures and search indexes would fill the disk.
    kinds = [f"*.{ending}{zipped}" for ending in ("html", "htm", "xhtml") for zipped in ("", ".gz")]
    tar = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", found[-1]], stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", unpacked, "--wildcards", *kinds], stdin=tar.stdout, stderr=subprocess.DEVNULL)
    tar.wait()
    subprocess.run([program, unpacked, package, lines], check=True)
    count = 0
    with lines.open(encoding="utf-8") as source:
        for line in source:
            # The same text twice would be one document for us and two for the others.
            text = hashlib.md5(json.loads(line)["text"].encode()).digest()
            if text in seen or count >= MOST_OF_ONE:
                continue
            seen.add(text)
            out.write(line)
            count += 1
    shutil.rmtree(unpacked, ignore_errors=True)
    lines.unlink()
    return count


def shuffle(source, target):
    """The lines in an order drawn once: the first thousand are as mixed as all of them."""
    places, at = [], 0
    with source.open("rb") as file:
        for line in file:
            places.append((at, len(line)))
            at += len(line)
    random.Random(2006).shuffle(places)
    with source.open("rb") as file, target.open("wb") as out:
        for at, length in places:
            file.seek(at)
            out.write(file.read(length))


def read(corpus, documents):
    """The first documents: number, title and text for those who know only these."""
    with corpus.open(encoding="utf-8") as file:
        for number, line in enumerate(file):
            if number >= documents:
                return
            page = json.loads(line)
            # The others have two columns: headings and description are in ours, and so in their text.
            text = "\n".join([page["description"], *page["headings"], page["text"]])
            yield number + 1, page["title"].replace("\0", ""), text.replace("\0", "")


def draw_queries(corpus, documents, count):
    """Four kinds of queries as lists of words, after Fischer's Quadro 26: drawn from the documents, some words rare, some common.

    In every fifth query all words are among the 300 most common: `"quero café"` took Fischer's system 17.9 s because
    both words were everywhere and hardly ever side by side.
    """
    chance = random.Random(26)
    frequency = collections.Counter()
    sample = []
    for number, _, text in read(corpus, documents):
        if number % max(1, documents // 20_000) == 0:
            words = [word.lower() for word in WORD.findall(text)]
            frequency.update(set(words))
            sample.append(text)
    good = lambda word: word not in STOP_WORDS and frequency[word] >= 3
    common = [word for word, _ in frequency.most_common(450) if word not in STOP_WORDS][:300]
    is_common = set(common)

    def neighbours(size, only_common):
        """Words that stand side by side in some document, with one space between."""
        pattern = re.compile(r"(?<!\w)" + " ".join([r"([^\W\d_]{3,20})"] * size) + r"(?!\w)")
        while True:
            found = pattern.findall(chance.choice(sample)[:50_000].lower())
            found = [words for words in found if len(set(words)) == size and all(map(good, words))]
            if only_common:
                found = [words for words in found if all(word in is_common for word in words)]
            if found:
                return list(chance.choice(found))

    def apart(size, only_common):
        """Words of one document, anywhere in it."""
        while True:
            words = sorted({word.lower() for word in WORD.findall(chance.choice(sample)[:20_000])})
            words = [word for word in words if good(word) and (not only_common or word in is_common)]
            if len(words) >= size:
                return chance.sample(words, size)

    kinds = {"any": [], "all": [], "not": [], "phrase": []}
    for number in range(count):
        only_common = number % 5 == 0
        kinds["any"].append(apart(2 + number % 2, only_common))
        kinds["all"].append(apart(2 + number % 2, only_common))
        kinds["not"].append(apart(2, only_common))
        # Every second phrase of common words stands nowhere, or hardly: two of them put together by chance.
        is_strange = only_common and number % 10 == 0
        words = chance.sample(common, 2) if is_strange else neighbours(2 + number % 2, only_common)
        kinds["phrase"].append(words)
    return kinds
