"""The parsers of vLLM and SGLang that are measured, with the formats that their models write.

From the flags that the servers' own documentation and recipes name for these models (vLLM 0.33.0, SGLang 0.5.23).
vLLM's reasoning parsers `deepseek_v3` and `poolside_v1` are left out: what they do depends on the request's `thinking`
and `enable_thinking`.
"""

from dataclasses import dataclass

VERSIONS = {"vLLM": "0.33.0", "SGLang": "0.5.23"}


@dataclass(frozen=True, slots=True)
class MeasuredParser:
    """One tool parser, a reasoning parser that its models are served with or None, and a format that they write."""

    server: str
    tool: str
    reasoning: str | None
    format: str


_ROWS = """
hermes          vLLM hermes qwen3                 SGLang qwen25 qwen3-thinking
hermes          SGLang hermes qwen3-thinking      vLLM qwen3_json -
hermes          SGLang trinity -
hermes          vLLM hermes holo2                 SGLang qwen25 deepseek-r1
qwen            vLLM hermes qwen3                 SGLang qwen25 qwen3-thinking
mistral         vLLM mistral mistral              SGLang mistral mistral
llama3          vLLM llama3_json -                SGLang llama3 -
pythonic        vLLM pythonic -                   SGLang pythonic -
pythonic        vLLM llama4_pythonic -
jamba           vLLM jamba -
deepseek_v3     vLLM deepseek_v3 deepseek_r1      SGLang deepseekv3 deepseek-r1
deepseek_v31    vLLM deepseek_v31 -               SGLang deepseekv31 deepseek-v3
deepseek_v32    vLLM deepseek_v32 -               SGLang deepseekv32 deepseek-v3
deepseek_v4     vLLM deepseek_v4 deepseek_v4      SGLang deepseekv4 deepseek-v4
deepseek_v41    vLLM deepseek_v41 deepseek_v41    SGLang deepseekv41 deepseek-v41
kimi_k2         vLLM kimi_k2 kimi_k2              SGLang kimi_k2 kimi_k2
kimi_k3         vLLM kimi_k3 kimi_k3              SGLang kimi_k3 kimi_k3
granite         vLLM granite -
granite4        vLLM granite4 granite
granite_20b_fc  vLLM granite-20b-fc -
phi4            vLLM phi4_mini_json -
xlam            vLLM xlam -
internlm2       vLLM internlm -                   SGLang interns1 interns1
cohere          vLLM cohere_command4 cohere_command4 SGLang cohere_command4 cohere_command4
apertus         vLLM apertus -                    SGLang apertus2509 apertus2509
gigachat3       vLLM gigachat3 -                  SGLang gigachat3 -
gigachat35      SGLang gigachat35 gigachat35
qwen3_coder     vLLM qwen3_coder qwen3            SGLang qwen3_coder qwen3-thinking
qwen3_coder     vLLM mimo mimo                    SGLang mimo mimo
qwen3_coder     vLLM qwen3_coder deepseek_r1      SGLang qwen3_coder deepseek-r1
qwen3_coder     vLLM qwen3_coder granite_thinking_parser SGLang qwen3_coder granite_thinking_parser
qwen3_coder     vLLM qwen3_coder minicpmv         vLLM step5 step5
qwen3_coder     SGLang nanbeige nanbeige
seed_oss        vLLM seed_oss seed_oss
step3           vLLM step3 step3                  SGLang step3 step3
step3p5         vLLM step3p5 step3p5              SGLang step3p5 step3p5
minimax_m2      vLLM minimax_m2 minimax_m2        SGLang minimax-m2 minimax
minimax_m3      vLLM minimax_m3 minimax_m3        SGLang minimax-m3 minimax-m3
dots            vLLM dots qwen3                   SGLang dots dots
glm45           vLLM glm45 glm45                  SGLang glm45 glm45
glm45           vLLM glm47 glm47                  SGLang glm47 glm45
glm45           vLLM ling3 ling3                  SGLang ling3 ling3
glm45           vLLM poolside_v1 -                SGLang poolside_v1 poolside_v1
glm45           SGLang spark25 deepseek-r1
ernie45         vLLM ernie45 ernie45
longcat         vLLM longcat deepseek_r1
hunyuan         vLLM hunyuan_a13b hunyuan_a13b
hy_v3           vLLM hy_v3 hy_v3                  SGLang hunyuan hunyuan
hy_v4           vLLM hy_v4 hy_v4
iquest_q1       SGLang iquest_q1 iquest_q1
k2_horizon      vLLM k2_horizon k2_horizon        SGLang k2_horizon k2_horizon
muse            vLLM muse_glimmer muse_glimmer    SGLang muse muse
inkling         vLLM inkling inkling              SGLang inkling inkling
plamo3          vLLM plamo3 plamo3
minicpm5        vLLM minicpm5 qwen3               SGLang minicpm5 qwen3-thinking
olmo3_pythonic  vLLM olmo3 olmo3
lfm2            vLLM lfm2 qwen3                   SGLang lfm2 qwen3
gemma4          vLLM gemma4 gemma4                SGLang gemma4 gemma4
functiongemma   vLLM functiongemma -
"""


def measured_parsers() -> list[MeasuredParser]:
    """The rows above; each parser that has a reasoning parser comes once more without one."""
    parsers: list[MeasuredParser] = []
    for row in _ROWS.strip().splitlines():
        format, *rest = row.split()
        for index in range(0, len(rest), 3):
            server, tool, reasoning = rest[index : index + 3]
            parsers += [MeasuredParser(server, tool, None, format)]
            parsers += [MeasuredParser(server, tool, reasoning, format)] if reasoning != "-" else []
    return list(dict.fromkeys(parsers))
