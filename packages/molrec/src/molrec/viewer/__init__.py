"""The page that shows a record in a browser, and the small server that ``molrec view`` gives it.

``page/`` holds the page: it reads records itself, by HTTP range requests, with nothing but JavaScript. ``server`` hands
out the page and the bytes of one record to this machine alone; ``record_files`` says which bytes those are.
"""
