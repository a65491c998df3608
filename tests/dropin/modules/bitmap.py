"""The part of bitmap that tini's test programs use: binary digits, the last one has index 0."""


class BitMap:
    def __init__(self, digits):
        self._digits = digits

    @classmethod
    def fromstring(cls, digits):
        return cls(digits)

    def nonzero(self):
        return [index for index, digit in enumerate(reversed(self._digits)) if digit == '1']
