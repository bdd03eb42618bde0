"""The operator table: one file a family of rows; ``table.py`` lists them all."""
