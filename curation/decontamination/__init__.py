"""Finding benchmark texts in documents and cutting them out, by the method of MT-NLG and a stricter one."""
