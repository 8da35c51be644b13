"""Tokens on disk as Megatron reads them: tokenizer, `.bin`/`.idx` pairs, their papers, and how they are blended."""
