"""One module for each page: the cluster in, the document of the page out."""
