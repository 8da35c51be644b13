"""What is done to the text of one document, and what is measured on it."""
