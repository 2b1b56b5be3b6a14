"""The data that stilltrue measures with: scenarios and backgrounds, each described by its card. Data only."""
