"""What comes from Meta, on its way into the books, and what of it is known already."""
