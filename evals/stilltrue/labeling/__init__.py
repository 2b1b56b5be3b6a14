"""Labelling pairs from one's own store: the sample, the sheet that holds the labels, terminal and web page."""
