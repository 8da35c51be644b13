"""One line for each command that a person could type, as `--help` shows it and the command reference prints it."""

EXAMPLES = {
    "init": "curate init archives/ notes.jsonl --output mine.toml",
    "plan": "curate plan mine.toml --work work --set dedup.threshold=0.7",
    "run": "curate run mine.toml --input /data --work work",
    "takedown": "curate takedown mine.toml --work work --set removal_list=remove.txt",
    "demo": "curate demo --work build/demo/work",
    "ledger": "curate ledger work",
    "report": "curate report work --output report.html",
    "explain": "curate explain work https://example.org/page --text",
    "duplicates": "curate duplicates work books:books/a.tar.gz:17",
    "sample": "curate sample work --signal quality_ppm --threshold 500000 -n 5",
    "verify": "curate verify work --contamination --sample 0.1",
    "contamination": "curate contamination work --task mmlu",
    "doctor": "curate doctor --work work --spark",
    "trace": "curate trace work web-train-00000 42",
    "blend": "curate blend work --root /data/shards",
    "train": "curate train --help",
}
