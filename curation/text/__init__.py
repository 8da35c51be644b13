"""Text itself: getting it out of markup, repairing it, cleaning it, and measuring it."""
