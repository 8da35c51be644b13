"""Reading raw input files: containers in, units out, every byte accounted for."""
