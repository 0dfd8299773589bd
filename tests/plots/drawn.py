"""What a figure shows: its texts, the entries of its legend, and the data of its lines."""

import numpy as np


def texts(ax):
    return [text.get_text() for text in ax.texts]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def line(ax, label):
    """Return the data of the only line with this label."""
    (found,) = [one for one in ax.get_lines() if one.get_label() == label]
    return np.asarray(found.get_xdata()), np.asarray(found.get_ydata())
