"""Near-duplicates: who may be compared, who is a duplicate of whom, and who stays.

The way of a document: `shingles` turns text into hashed n-grams, `minhash` into a signature, `bands` into bucket
keys and edges, `components` says which documents can influence each other, and `greedy` decides each of those groups
by exact Jaccard in rank order. `exact` finds equal texts before any of this. Nothing here knows Spark.
"""
