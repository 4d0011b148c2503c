"""One version against another: what was kept, gained, lost and relabelled, and the gates for CI."""
