"""Version A against version B: what is kept, gained, lost and called by another name, and limits on that."""
