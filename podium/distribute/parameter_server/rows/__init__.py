"""Programs that take some rows of large tables instead of all of them."""
