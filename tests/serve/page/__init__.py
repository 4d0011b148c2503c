"""The tests of the page; a package, so that its browser is closed after the last of them."""
