"""Inspection of audio containers: their headers are checked here, their samples decoded by libsndfile.

libsndfile reads truncated files without an error, stops at an estimated length (MP3), and reads only the first of
several streams. So the sizes in each container are checked against the file before decoding. Files whose header
it would misread are decoded from memory, behind another header.
"""
