"""A project in a folder: texts, annotations, versions and jobs, with every change kept."""
