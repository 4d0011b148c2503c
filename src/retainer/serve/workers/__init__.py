"""Several processes behind one port: workers that answer, and the supervisor that starts, swaps and replaces them."""
