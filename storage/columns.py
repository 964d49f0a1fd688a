"""What the tables consist of: the kinds of columns that they share."""

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def of_trace(*, key: bool = True) -> sa.Column[int]:
    """The id of a trace, with which the row goes; part of the key unless told."""
    return sa.Column("trace_id", sa.ForeignKey("trace.id", ondelete="CASCADE"), primary_key=key, nullable=False)


def number(name: str = "number") -> sa.Column[int]:
    """A number that is part of the key."""
    return sa.Column(name, sa.Integer, primary_key=True, autoincrement=False)


def text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    """A column of escaped text."""
    return sa.Column(name, sa.Text, nullable=nullable)


def count(name: str, *, nullable: bool = False) -> sa.Column[int]:
    """A column of whole numbers."""
    return sa.Column(name, sa.BigInteger, nullable=nullable)


def blob(name: str, *, nullable: bool = False) -> sa.Column[bytes]:
    """A column of packed bytes."""
    return sa.Column(name, sa.LargeBinary, nullable=nullable)
