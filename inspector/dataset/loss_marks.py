"""The marks by which trainers leave a message out of the loss, so that a model reads a fault and does not learn it.

| trainer | mark on the message | read by |
| --- | --- | --- |
| OpenAI, Mistral and Together fine-tuning | `weight: 0` | the services |
| Axolotl | `train: false` | `message_field_training: train` |
| LLaMA-Factory v1 | `loss_weight: 0` | its messages |
| ms-swift | `loss: false` | its messages |

Others, such as TRL, take no mark for a single message.
"""

from collections.abc import Mapping
from enum import StrEnum

from weaklink.inspector.model import Json


class Trainer(StrEnum):
    """A trainer, by the mark that it reads."""

    OPENAI = "openai"
    AXOLOTL = "axolotl"
    LLAMA_FACTORY = "llama-factory"
    MS_SWIFT = "ms-swift"
    NONE = "none"


LOSS_MARKS: Mapping[Trainer, Mapping[str, Json]] = {
    Trainer.OPENAI: {"weight": 0},
    Trainer.AXOLOTL: {"train": False},
    Trainer.LLAMA_FACTORY: {"loss_weight": 0},
    Trainer.MS_SWIFT: {"loss": False},
}
"""The member of a message by which a trainer leaves it out of the loss."""
_SWITCHES = ("train", "training", "loss", "weight", "loss_weight")


def is_left_out(message: Json) -> bool:
    """Whether a message has a mark of one of the trainers: a switch that is false or 0."""
    if not isinstance(message, dict):
        return False
    return any(message.get(name) in (False, 0) and message.get(name) is not None for name in _SWITCHES)
