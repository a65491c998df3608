"""The part of python-prctl that tini's test programs use."""

import ctypes
import os

_PR_SET_CHILD_SUBREAPER = 36


def set_child_subreaper(value):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
