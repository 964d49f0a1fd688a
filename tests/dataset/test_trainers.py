"""The rewards in the real trainers: TRL's `GRPOTrainer` for a step, and verl's reward managers. `make test-trainers`.

The tokenizer has the right answer, a wrong one and a text as one token each, and a completion is one token, so that a
model of random weights gives answers of all kinds, whose rewards are known.
"""

import json
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import weaklink
from weaklink.inspector.model import Json

pytestmark = pytest.mark.skipif(
    not all(map(find_spec, ("torch", "trl", "verl"))),
    reason="PyTorch, TRL and verl are not installed: make test-trainers",
)
TOOLS: Json = [
    {
        "name": "get_weather",
        "description": "Weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }
]
RIGHT = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n</tool_call>'
WRONG = RIGHT.replace("Rome", "Oslo")
REFERENCE = [{"name": "get_weather", "arguments": {"city": "Rome"}}]
ANSWERS = {RIGHT: 1.0, WRONG: 0.0, "Hello": 0.0}
ASKED = "Rome"
COMPLETIONS = 64


def tokenizer() -> Any:
    """A tokenizer whose tokens are whole answers."""
    kit, transformers = import_module("tokenizers"), import_module("transformers")
    base = kit.Tokenizer(kit.models.WordLevel({"<pad>": 0, "<eos>": 1, "<unk>": 2, ASKED: 3}, unk_token="<unk>"))
    base.pre_tokenizer = kit.pre_tokenizers.WhitespaceSplit()
    base.decoder = kit.decoders.Fuse()
    base.add_tokens([kit.AddedToken(text, normalized=False) for text in ANSWERS])
    pre_trained_tokenizer_fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=base,
        pad_token="<pad>",
        eos_token="<eos>",
        unk_token="<unk>",
        padding_side="left",
    )
    pre_trained_tokenizer_fast.chat_template = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
    return pre_trained_tokenizer_fast


def test_a_step_of_grpo_pays_each_answer_what_it_is_worth(tmp_path: Path) -> None:
    datasets, transformers, trl = map(import_module, ("datasets", "transformers", "trl"))
    reward: Any = weaklink.trl_reward("tool-use", tools=TOOLS, format="hermes")
    paid: list[tuple[str, float]] = []

    def seen(prompts: Any, completions: Any, **columns: Any) -> list[float]:
        rewards: list[float] = reward(prompts=prompts, completions=completions, **columns)
        paid.extend(
            (answer[0]["content"], answer_reward) for answer, answer_reward in zip(completions, rewards, strict=True)
        )
        return rewards

    words = tokenizer()
    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    settings = {"vocab_size": len(words), "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 1, **shape}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**settings))
    row = {"prompt": [{"role": "user", "content": ASKED}], "ground_truth": json.dumps(REFERENCE)}
    options = {"per_device_train_batch_size": COMPLETIONS, "num_generations": COMPLETIONS, "max_completion_length": 1}
    config = trl.GRPOConfig(
        str(tmp_path), max_steps=1, use_cpu=True, report_to=[], logging_steps=1, save_strategy="no", seed=1, **options
    )
    trainer = trl.GRPOTrainer(
        model=model,
        reward_funcs=[seen, reward],
        args=config,
        train_dataset=datasets.Dataset.from_list([row] * COMPLETIONS),
        processing_class=words,
    )
    trainer.train()
    assert len(paid) == COMPLETIONS
    assert {answer for answer, _ in paid} >= ANSWERS.keys()
    assert all(paid_reward == ANSWERS.get(answer.strip(), 0.0) for answer, paid_reward in paid)
    (logged, *_) = [entry for entry in trainer.state.log_history if "reward" in entry]
    mean = sum(paid_reward for _, paid_reward in paid) / COMPLETIONS
    assert float(logged["rewards/tool_use_reward/mean"]) == pytest.approx(mean, abs=1e-3)


@pytest.mark.parametrize("manager", ["naive", "dapo", "rate_limited"])
def test_verl_s_reward_manager_loads_the_score_from_a_file_and_pays_each_answer(tmp_path: Path, manager: str) -> None:
    numpy, omegaconf, torch = map(import_module, ("numpy", "omegaconf", "torch"))
    data_proto = import_module("verl").DataProto
    file = tmp_path / "score.py"
    file.write_text(
        f"import weaklink\n\ncompute_score = weaklink.verl_reward('tool-use', tools={TOOLS!r}, format='hermes')\n",
        encoding="utf-8",
    )
    reward = {
        "custom_reward_function": {"path": str(file), "name": "compute_score"},
        "reward_manager": {"source": "register", "name": manager},
        "reward_kwargs": {},
    }
    words = tokenizer()
    config = omegaconf.OmegaConf.create({"reward": reward})
    loaded = import_module("verl.trainer.ppo.reward").load_reward_manager(config, words)
    for answer, worth in ANSWERS.items():
        tokens = torch.tensor([words.encode(answer)])
        facts = {
            "data_source": "tools",
            "reward_model": {"ground_truth": json.dumps(REFERENCE)},
            "extra_info": {"prompt": ASKED},
        }
        data = data_proto.from_dict(
            tensors={"responses": tokens, "attention_mask": torch.ones_like(tokens)},
            non_tensors={name: numpy.array([fact], dtype=object) for name, fact in facts.items()},
        )
        paid = loaded.loop.run_until_complete(loaded.run_single(data))
        assert paid["reward_score"] == worth, answer
