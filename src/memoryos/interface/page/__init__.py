"""The page: the files of a web page that shows and steers a memory over the REST addresses."""
