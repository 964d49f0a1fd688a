"""Rollups: the sums of whole blocks of traces, kept so that a question about all traces need not visit each.

A rollup says what a question comes to over the traces of one block (`storage.blocks`), and is there only as long as it
is true: whatever writes rows that are summed deletes the rollups of their blocks in the same transaction. A reader
adds up the largest that are there, and sums the traces of the other blocks as ever. Writers of a database wait for each
other (`storage.engine.writing`), and rollups are made by such a writer: so none is kept that a change came between.
"""

from storage.rollups.answering import summed
from storage.rollups.filling import not_summed, sum_up
from storage.rollups.forgetting import SUMMED, forget_sums
from storage.rollups.questions import QUESTIONS

__all__ = ["QUESTIONS", "SUMMED", "forget_sums", "not_summed", "sum_up", "summed"]
