"""stilltrue: measures whether what an agent memory returns is still true."""
