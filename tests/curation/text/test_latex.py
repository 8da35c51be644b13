"""LaTeX to text that keeps mathematics."""

import contextlib

import orjson
import pytest

from curation.sources.units import UnitError
from curation.text.latex import text_of_latex


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"As $x^2$ and \(y\) show", r"As $x^2$ and \(y\) show"),
        (r"caf\'e, G\"odel --- 50\% of it", "café, Gödel — 50% of it"),
        ("one % two\nthree\n\n% gone\nfour", "one three\n\nfour"),
        (r"\section{Intro}\label{s}Text \cite[p.~3]{a,b} \emph{here}.", "Intro\n\nText  here."),
        (r"\begin{figure}\includegraphics{a}\caption{A bee.}\end{figure}", "A bee."),
        (r"\begin{tabular}{cc}a & b\end{tabular}After", "After"),
        (r"a\begin{equation}E=mc^2\label{e}\end{equation}b", "a\n\\begin{equation}E=mc^2\\label{e}\\end{equation}\nb"),
        (r"\title{On \textbf{bees}}\begin{document}Text.\end{document}ignored", "On bees\n\nText."),
        (r"\maketitle Seen \today{} in \LaTeX, \verb|a_b|.", "Seen  in LaTeX, a_b."),  # no clock in a text
        ("a\n\\begin{verbatim}\n>>> 7 % 2\n  x_1\n\\end{verbatim}\nb", "a\n\n>>> 7 % 2\n  x_1\n\nb"),
        (r"Text.\begin{thebibliography}{9}\bibitem{a} A.\end{thebibliography}", "Text."),
    ],
)
def test_prose_is_unicode_and_formulas_are_as_they_were(source: str, text: str) -> None:
    assert text_of_latex(source) == text


@pytest.mark.parametrize("source", ["{" * 3000, "$" * 2001, r"\begin{a}" * 900, "\\" * 999, r"\frac{" * 700])
def test_sources_that_make_no_sense_end_as_text_or_as_one_error(source: str) -> None:
    with contextlib.suppress(UnitError):
        assert isinstance(text_of_latex(source), str)


def test_real_papers_keep_their_formulas(real_data) -> None:
    for line in (real_data / "sources/arxiv_latex_11.jsonl").read_bytes().splitlines()[6:8]:
        source = orjson.loads(line)["text"]
        text = text_of_latex(source)
        assert text.count("$") > 10
        assert "\\cite" not in text
        assert "\\section" not in text
