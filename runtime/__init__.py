"""Effects: calling, caching, loading and saving what the compiler made."""
