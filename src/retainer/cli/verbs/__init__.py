"""One file per verb of the command line. A verb's function signature is its interface; heavy imports happen inside."""
