"""`tagflow tag`: any size and format in, order and ids kept, one line a text out, and clear words where it cannot."""

import json
import shutil

import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file

from infra.cli import input_texts
from infra.cli import tag as command
from infra.cli.tag import load_tagger, tag
from tagcore import Corpus
from tagcore.baselines import KNN, OneVsRestLinear
from tagcore.features.rows import InMemory
from tagcore.fitting import fit_calibrated
from tagcore.models import PMM, Blend
from tagcore.store.array_file import write_array_file
from tagcore.tagger import Tagger
from tagcore.text import Vectoriser
from tasks.registry import client
from tasks.registry.client import RegistryError

TEXTS = ["red apple pie", "green pear tart", "fast red car", "car engine", "blue car"] * 8
TAGS = [["fruit"], ["fruit", "rock\n\x1b[1mroll"], ["cars"], ["cars"], ["cars"]] * 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Folders: `knn` is calibrated and knows how popular tags are, `bare` does not."""
    made = tmp_path_factory.mktemp("models")
    corpus, vectoriser = Corpus.from_texts(TEXTS, TAGS), Vectoriser()
    rows = InMemory(vectoriser.fit_transform(TEXTS), corpus.tags)
    model = KNN(n_neighbors=3)
    calibrator = fit_calibrated(model, rows, "isotonic")
    shares = corpus.tags.getnnz(axis=0) / len(TEXTS)
    Tagger(vectoriser, model, corpus.tag_names, calibrator, None, shares).save(made / "knn")
    Tagger(vectoriser, OneVsRestLinear().fit(rows.X, rows.Y), corpus.tag_names).save(made / "bare")
    counts = Vectoriser(use_idf=False, norm=None)
    pmm = PMM(n_classes=2).fit(counts.fit_transform(TEXTS), corpus.tags)
    Tagger(counts, pmm, corpus.tag_names, None, None, shares).save(made / "pmm")
    return made


@pytest.fixture
def run(folder, capsys):
    """Runs the command in this process: (lines of standard output, standard error)."""

    def run(*given, model="knn", **options):
        tag(text=list(given) or None, model=str(folder / model), **options)
        out, err = capsys.readouterr()
        return out.split("\n")[:-1], err

    return run


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return tmp_path / name

    return write


def rows_of(lines):
    return [(row["id"], [t["tag"] for t in row["tags"]]) for row in map(json.loads, lines)]


def test_an_altered_model_is_not_asked(folder, tmp_path):
    shutil.copytree(folder / "bare", tmp_path / "altered")
    path = tmp_path / "altered" / "model" / "state.safetensors"
    arrays = load_file(path)
    arrays["coef_data_"][0] *= 2  # as good a weight as the other: only the hash tells
    write_array_file(path, arrays)
    Tagger.load(tmp_path / "altered", verify=False)
    with pytest.raises(ValueError, match=r"state\.safetensors: sha256 .* altered"):
        load_tagger(str(tmp_path / "altered"), None)


def test_blank_lines_keep_their_place(run, write):
    lines, _ = run(file=write("a.txt", "red apple\n\n \nfast car"), k=1)
    assert [line.split(" ")[0] for line in lines] == ["fruit", "", "", "cars"]
    found = rows_of(run(file=write("b.txt", "red apple\n\nfast car\n\n"), k=1, as_json=True)[0])
    assert found == [("1", ["fruit"]), ("2", []), ("3", ["cars"]), ("4", [])]


def test_any_size_streams(run, write, monkeypatch, capsys):
    monkeypatch.setattr(input_texts, "BATCH", 2)
    file = write("a.txt", b"red apple\nfast car\ngreen pear\n" + b"\xff\n")
    with pytest.raises(ValueError, match=r"a.txt, line 4: .*UTF-8"):
        run(file=file, k=1)
    assert len(capsys.readouterr().out.splitlines()) == 2  # the first batch was out before the last line was read
    monkeypatch.setattr(input_texts, "BATCH_CHARACTERS", 1)
    assert len(run(file=write("b.txt", "red apple\n" * 5))[0]) == 5


def test_json_lines_keep_ids_and_need_no_tags(run, write):
    rows = [{"id": "x7", "title": "apple", "text": "pie"}, {"id": 3, "body": "engine"}, {"text": ""}, {"title": "car"}]
    file = write("notes.jsonl", "\n\n".join(map(json.dumps, rows)))
    expected = [("x7", ["fruit"]), ("3", ["cars"]), ("5", []), ("7", ["cars"])]
    assert rows_of(run(file=file, k=1, as_json=True)[0]) == expected
    assert run(file=file, k=1)[0][0].startswith("x7\tfruit ")
    assert rows_of(run(file=write("notes.txt", file.read_text()), k=1, as_json=True)[0]) == expected
    (line,), _ = run(file=write("own.jsonl", '{"words": "red car"}'), k=1, option=["text=words"])
    assert line.startswith("1\tcars ")


def test_tables_keep_ids_and_need_no_tags(run, write):
    file = write("notes.csv", 'ID,Title,Text\n7,"apple\nand","pear, pie"\n8,,car\n')
    assert rows_of(run(file=file, k=1, as_json=True)[0]) == [("7", ["fruit"]), ("8", ["cars"])]


def test_the_format_is_an_option_like_others(run, write):
    path = write("a.export", "id;words\n1;red car\n")
    lines, _ = run(file=path, option=["format=csv", "text=words"], k=1, as_json=True)
    assert [tags for _, tags in rows_of(lines)] == [["cars"]]


def test_counted_words_are_known_by_name(run, write):
    arff = "@relation 'x: -C 1'\n@attribute y {0,1}\n@attribute car numeric\n@attribute pear numeric\n@data\n"
    lines, _ = run(file=write("a.arff", arff + "{1 1}\n{2 1}\n"), k=1, as_json=True)
    assert [tags for _, tags in rows_of(lines)] == [["cars"], ["fruit"]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"text": "car"}\n{"text": 5}', r"a.jsonl, line 2: found 5, expected a string as text"),
        (
            "a.jsonl",
            '{"text": "car"}\n{"words": "x"}',
            r"a.jsonl, line 2: .*one of the keys text, content, body, title",
        ),
        ("a.jsonl", '{"text": "car"}\n[1]', r"a.jsonl, line 2: .*a JSON object"),
        ("a.csv", "id,words\n1,car\n", r"a.csv, line 1: no text, .*there are id, words: .*--option text="),
        ("a.csv", "id,text\n1,car,2\n", r"a.csv, line 2: found 3, expected 2 fields"),
        ("a.bin", "red car", r"a.bin: not recognised.*--format lines takes it as one text a line"),
        ("a.txt", "\n\n", r"a.txt: holds no text"),
        ("a.txt", "", r"a.txt: holds no text"),
    ],
)
def test_what_cannot_be_read_names_file_line_and_what_was_expected(run, write, name, content, message):
    with pytest.raises(ValueError, match=message):
        run(file=write(name, content))


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_ids_and_tags_go_into_a_file_that_stands_when_it_is_whole(run, write, tmp_path, name):
    into = tmp_path / name
    lines, told = run(file=write("a.txt", "red apple\n\nfast car\n"), k=2, into=into)
    assert lines == []
    assert "3 texts in " in told
    if name.endswith("parquet"):
        table = pq.read_table(into)
        assert json.loads(table.schema.metadata[b"calibrated"]) is True
        found = [(r["id"], r["tags"]) for r in table.to_pylist()]
        assert [len(r["scores"]) for r in table.to_pylist()] == [2, 0, 2]
    else:
        found = rows_of(into.read_text().splitlines())
    assert [(id_, tags[:1]) for id_, tags in found] == [("1", ["fruit"]), ("2", []), ("3", ["cars"])]
    before = into.read_bytes()
    with pytest.raises(ValueError, match="UTF-8"):
        run(file=write("bad.txt", b"car\n\xff"), into=into)
    assert into.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_a_file_of_an_unknown_form_is_refused_before_any_work(run, tmp_path):
    with pytest.raises(ValueError, match=r"out.xlsx: expected a name that ends in .jsonl, .ndjson or .parquet"):
        run("red car", into=tmp_path / "out.xlsx")
    with pytest.raises(ValueError, match="explanations are written as JSON lines"):
        run("red car", into=tmp_path / "out.parquet", explain=True)
    with pytest.raises(ValueError, match="there is no folder"):
        run("red car", into=tmp_path / "none" / "out.jsonl")


def test_tags_with_line_ends_stay_on_their_line(run):
    lines, _ = run("green pear tart", "green pear", k=3)
    assert len(lines) == 2
    assert all("rock\\n\\x1b[1mroll " in line for line in lines)
    explained, _ = run("green pear", model="bare", k=3, explain=True)
    assert any("why rock\\n\\x1b[1mroll" in line for line in explained)


def test_only_a_calibrated_score_is_called_a_probability(run):
    lines, told = run("red car", model="bare", as_json=True)
    assert "OneVsRestLinear's own and not calibrated: they rank tags and are no probabilities" in told
    assert json.loads(lines[0])["calibrated"] is False
    lines, told = run("red car", as_json=True)
    assert "calibrated" not in told
    assert json.loads(lines[0])["calibrated"] is True


def test_unlikely_tags_are_left_out_and_texts_without_a_likely_one_are_told(run, write):
    file = write("a.txt", "red apple\n\nquince")  # no word of the last is known: cars has 0.6 of all texts
    lines, told = run(file=file, min_confidence=0.61, as_json=True)
    apple, blank, quince = map(json.loads, lines)
    assert apple["tags"][0]["tag"] == "fruit"
    assert min(tag["score"] for tag in apple["tags"]) >= 0.61
    assert "abstained" not in apple | blank
    assert quince["abstained"] is True
    assert quince["tags"] == []
    assert "abstained from 1 of 3 texts: no tag of theirs has 0.61" in told
    lines, told = run(file=file, min_confidence=0.59)
    assert [bool(line) for line in lines] == [True, False, True]
    assert "abstained" not in told


def test_a_single_text_that_gets_no_tag_is_told_the_likeliest(run):
    (line,), told = run("quince", min_confidence=0.99)  # no known word: the most popular tags, none of which all have
    assert line == ""
    assert "abstained: the likeliest tag, cars 0.600, is below 0.99" in told
    (line,), told = run("quince", min_confidence=0.5)
    assert line == "cars 0.600"
    assert "abstained" not in told
    _, told = run("apple", model="bare", min_confidence=0.5)
    assert "--min-confidence compares these scores" in told


def test_texts_without_a_known_word_are_told_and_get_the_popular_tags(run):
    lines, told = run("zzz")
    assert "no word of this text is known: it gets the most popular tags" in told
    assert lines[0].startswith("cars 0.600\tfruit 0.400\trock")
    lines, told = run("zzz", "red car", "qqq", "")
    assert "2 of 4 texts have no known word: they get the most popular tags" in told
    assert "fallback" in run("zzz", model="bare")[1]


def test_progress_is_told(run, write, monkeypatch):
    monkeypatch.setattr(input_texts, "BATCH", 2)
    monkeypatch.setattr(command, "_SECONDS", 0.0)
    told = run(file=write("a.txt", "red car\n" * 5))[1].splitlines()
    assert [line.split(" in ")[0] for line in told] == ["… 2 texts", "… 4 texts", "… 5 texts", "5 texts"]


def test_without_a_state_folder_no_model_is_in_service(tmp_path, monkeypatch):
    monkeypatch.delenv("TAGFLOW_MLFLOW", raising=False)
    for model in (None, "models:/demo@champion"):
        with pytest.raises(ValueError, match=r"none: no state folder, so no model is in service yet: `tagflow run`"):
            load_tagger(model, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_registry_out_of_reach_is_told_before_mlflow_tries_for_minutes(tmp_path, monkeypatch):
    monkeypatch.setenv("TAGFLOW_MLFLOW", "http://127.0.0.1:9")
    monkeypatch.setattr(client.Registry, "open", lambda self: pytest.fail("MLflow was asked"))
    for model in (None, "models:/demo@champion"):
        with pytest.raises(RegistryError, match=r"registry http://127.0.0.1:9: cannot be reached"):
            load_tagger(model, tmp_path)


def test_standard_input_is_lines_or_json_lines(tagflow, folder):
    model = ("--model", str(folder / "knn"), "-k", "1")
    assert [t.partition(" ")[0] for t in tagflow("tag", *model, stdin="car\n\npear").stdout.split("\n")] == [
        "cars",
        "",
        "fruit",
        "",
    ]
    found = tagflow("tag", "--json", *model, stdin='{"id": "a", "text": "car"}\n{"id": "b", "text": "pear"}\n')
    assert rows_of(found.stdout.splitlines()) == [("a", ["cars"]), ("b", ["fruit"])]


def test_topics_and_the_words_that_decided_are_told(run):
    lines, _ = run("green pear", model="pmm", k=1, explain=True)
    assert any(line.startswith("topic ") and "probability" in line for line in lines)
    assert any("why fruit" in line for line in lines)
    ((told,), _) = run("green pear", model="pmm", k=1, explain=True, as_json=True)
    told = json.loads(told)
    assert {"number", "probability", "runner_up", "tags", "words", "bias"} <= told["topic"].keys()
    assert "fruit" in told["topic"]["tags"]
    (tag,) = told["tags"]
    assert {word["word"] for word in tag["words"]} <= {"green", "pear"}
    assert sum(word["push"] for word in tag["words"]) + tag["bias"] == pytest.approx(tag["score"], abs=1e-5)


def test_a_text_without_a_known_word_is_explained_by_that(run):
    ((told,), _) = run("zeppelin", model="pmm", k=1, explain=True, as_json=True)
    told = json.loads(told)
    assert told["topic"]["fallback"] == "no word of it is known"
    assert told["tags"][0]["fallback"] == "no word of it is known"
    lines, _ = run("zeppelin", model="pmm", k=1, explain=True)
    assert any("(no word of it is known)" in line for line in lines)


def test_a_blend_tells_which_member_said_what(run, folder):
    corpus, vectoriser = Corpus.from_texts(TEXTS, TAGS), Vectoriser()
    model = Blend(members=["OneVsRestLinear", "KNN"]).fit(vectoriser.fit_transform(TEXTS), corpus.tags)
    Tagger(vectoriser, model, corpus.tag_names).save(folder / "blend")
    (line,), err = run("red car", k=1, as_json=True, explain=True, model="blend")
    found = json.loads(line)
    assert found["calibrated"]
    assert "not calibrated" not in err
    assert [said["member"] for said in found["tags"][0]["members"]] == ["OneVsRestLinear", "KNN"]
    assert {said["place"] for said in found["tags"][0]["members"]} == {1}
    assert [word["word"] for word in found["tags"][0]["words"]] == ["car", "red"]
    lines, _ = run("red car", k=1, explain=True, model="blend")
    assert any("KNN: place 1, score" in line for line in lines)


def test_records_are_read_by_the_fields_of_the_model(run, write, folder):
    documents = [{"title": "pear", "names": "Ann"}, {"title": "car", "names": "Bob"}] * 10
    vectoriser = Vectoriser(fields={"title": 4, "names": 1}, own_columns=["names"])
    corpus = Corpus.from_texts([""] * 20, [["fruit"], ["cars"]] * 10)
    model = KNN(n_neighbors=3).fit(vectoriser.fit_transform(documents), corpus.tags)
    if not (folder / "fields").exists():
        Tagger(vectoriser, model, corpus.tag_names).save(folder / "fields")
    asked = [{"id": "p", "names": ["Ann"], "text": "car"}, {"id": "q", "title": "car", "names": None}, {"names": " "}]
    lines = write("a.jsonl", "".join(json.dumps(record) + "\n" for record in asked))
    expected = [("p", ["fruit"]), ("q", ["cars"]), ("3", [])]
    assert rows_of(run(file=lines, k=1, as_json=True, model="fields")[0]) == expected
    table = write("a.csv", "id,title,names\np,,Ann\nq,car,\n3,,\n")
    assert rows_of(run(file=table, k=1, as_json=True, model="fields")[0]) == expected
    with pytest.raises(ValueError, match="an object with one of the keys names, title"):
        run(file=write("b.jsonl", '{"text": "car"}\n'), model="fields")
