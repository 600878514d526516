"""Marks that models and their prompts leave in a text."""

from __future__ import annotations

THINKING_TAGS = (
    *((f"<{name}>", f"</{name}>") for name in ("think", "thinking", "thought", "reasoning", "seed:think")),
    ("[THINK]", "[/THINK]"),
    ("\u25c1think\u25b7", "\u25c1/think\u25b7"),
)
"""The tags between which models think."""

SPECIAL_TOKEN = (
    r"<\|[\w ]{2,40}\|>|<\uff5c[\w\u2581 ]{2,40}\uff5c>|</?s>"
    r"|<(?:eos|bos|pad|unk|end_of_turn|EOT|fim_\w{3,9}|file_sep|endoftext|seed:eos)>|\[/?INST\]"
)
"""A special token of a model, left in its text."""

ASSISTANT, ANALYSIS, FINAL = "<|start|>assistant", "<|channel|>analysis", "<|channel|>final"
"""The turn of the model, its thinking and its answer in the format "harmony" of gpt-oss.

The prompt has the first of them where a reply begins behind it.
"""

BARE_ANALYSIS, BARE_FINAL = "analysis", "assistantfinal"
"""What is left of thinking and answer where a server drops special tokens."""
