"""Citations as title and abstract."""

CITATION = (
    "<PubmedArticle><MedlineCitation><PMID>5</PMID><Article><Journal><JournalIssue><PubDate><Year>2019</Year>"
    "<Month>May</Month></PubDate></JournalIssue></Journal><ArticleTitle>{0}</ArticleTitle>{1}</Article>"
    "</MedlineCitation></PubmedArticle>\n"
)


def read_citation(read_bytes, records, title: str, abstract: str):
    data = "<PubmedArticleSet>" + CITATION.format(title, abstract) + "</PubmedArticleSet>"
    return records(read_bytes("pubmed", data.encode()))


def test_sections_keep_their_labels_and_inline_markup_its_text(read_bytes, records) -> None:
    abstract = (
        '<Abstract><AbstractText Label="AIM">To see\n CO<sub>2</sub>.</AbstractText>'
        '<AbstractText Label="UNLABELLED">Seen.</AbstractText>'
        "<CopyrightInformation>(c) X</CopyrightInformation></Abstract>"
    )
    [record] = read_citation(read_bytes, records, "On <i>Apis</i>.", abstract)
    assert record.content == "On Apis.\nAIM: To see CO2. Seen."
    assert (record.timestamp, record.metadata["pmid"]) == ("2019-05", "5")


def test_citations_without_an_abstract_are_skipped(read_bytes, records) -> None:
    assert read_citation(read_bytes, records, "Erratum.", "") == []


def test_a_real_citation_is_read_whole(read_bytes, records, real_data) -> None:
    data = (real_data / "sources/pubmed/pubmed-29768149.xml").read_bytes()
    [record] = records(read_bytes("pubmed", data))
    title, abstract = record.content.split("\n")
    assert title == "Inhaled Combined Budesonide-Formoterol as Needed in Mild Asthma."
    assert all(f"{label}: " in abstract for label in ("BACKGROUND", "METHODS", "RESULTS", "CONCLUSIONS"))
