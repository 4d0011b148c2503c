"""A project in a folder: texts, annotations, versions, jobs; every change kept."""
