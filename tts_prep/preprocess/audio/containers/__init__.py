"""What the containers of recordings promise: their headers are read here, their samples by libsndfile.

libsndfile reads what is left of a truncated file without an error, stops at a length that it estimated (MP3), and
reads the first of several streams. So each container's own sizes are compared with the file before it is decoded.
"""
