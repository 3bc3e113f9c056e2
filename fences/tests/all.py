"""Runs every test of the fences. usage: all.py FOLDER POSTGRESQL-PORT MARIADB-PORT"""

import sys

import crowd
import files  # noqa: F401
import http_header  # noqa: F401
import sql  # noqa: F401

assert len(sys.argv) == 4
crowd.close()
