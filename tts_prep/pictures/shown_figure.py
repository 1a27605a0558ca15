"""A matplotlib figure that notebooks show."""

from io import BytesIO

from matplotlib.figure import Figure


class ShownFigure(Figure):
    """A figure that is shown as the value of a cell, also before pyplot is imported, which tells notebooks how to."""

    def _repr_png_(self) -> bytes:
        png = BytesIO()
        self.savefig(png, format="png")
        return png.getvalue()
