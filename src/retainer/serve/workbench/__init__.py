"""The routes of a project: look, correct, teach, compare, put into use."""
