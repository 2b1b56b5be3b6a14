"""GrayMatter's memory store: reading what the original engine wrote."""
