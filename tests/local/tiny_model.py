"""A tiny random Llama as a folder and as a GGUF file, so that both runtimes compute with the same weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memoryos.models.local.short_waits import short_waits

HEADS, KV_HEADS, LAYERS, HIDDEN, WINDOW = 4, 2, 2, 32, 512
_SIZES = {
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HIDDEN // HEADS,
}
CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
WORDS = "the user likes tea and lives in Oslo; notes are given between memory marks and an answer follows them"


def make_folder(
    folder: Path, *, seed: int = 7, window: int = WINDOW, kind: str = "Llama", ends: bool = True, **sizes: int
) -> Path:
    """Write a model with random weights in the form of transformers: a Llama, Qwen2 or Qwen3, of these sizes.

    Unless it `ends`, an answer fills its limit.
    """
    with short_waits():
        import torch
        import transformers

    tokenizer = _tokenizer(CONTROL[2] if ends else None)
    torch.manual_seed(seed)
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(tokenizer),
        hidden_size=HIDDEN,
        intermediate_size=2 * HIDDEN,
        max_position_embeddings=window,
        initializer_range=0.3,
        bos_token_id=0,
        eos_token_id=2 if ends else None,
        tie_word_embeddings=False,
        **{**_SIZES, **sizes},
    )
    getattr(transformers, f"{kind}ForCausalLM")(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _tokenizer(end: str | None) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=list(CONTROL), initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator([WORDS] * 4, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=made, eos_token=end, bos_token=CONTROL[0])
    fast.chat_template = TEMPLATE
    return fast


def make_gguf(folder: Path, file: Path) -> Path:
    """Write the model of that folder as a GGUF file, in 32-bit numbers."""
    import json

    import gguf
    from safetensors.numpy import load_file

    config = json.loads((folder / "config.json").read_text())
    kind = config["model_type"]
    spelled = json.loads((folder / "tokenizer.json").read_text())["model"]
    writer = gguf.GGUFWriter(file, kind)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(2 * HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_key_length(HIDDEN // HEADS)
    writer.add_value_length(HIDDEN // HEADS)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    tokens = sorted(spelled["vocab"], key=spelled["vocab"].get)
    writer.add_token_list(tokens)
    control, normal = gguf.TokenType.CONTROL, gguf.TokenType.NORMAL
    writer.add_token_types([control if one in CONTROL else normal for one in tokens])
    writer.add_token_merges([one if isinstance(one, str) else " ".join(one) for one in spelled["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(value=False)
    writer.add_chat_template(TEMPLATE)
    for name, tensor in load_file(folder / "model.safetensors").items():
        writer.add_tensor(_gguf_name(name), _placed(name, tensor) if kind == "llama" else tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def _gguf_name(name: str) -> str:
    for theirs, ours in _NAMES.items():
        name = name.replace(theirs, ours)
    return name.replace("model.layers.", "blk.")


def _placed(name: str, tensor: Any) -> Any:
    """llama.cpp rotates neighbouring numbers where transformers rotates halves."""
    heads = HEADS if "q_proj" in name else KV_HEADS if "k_proj" in name else None
    if heads is None:
        return tensor
    halves = tensor.reshape(heads, 2, tensor.shape[0] // heads // 2, tensor.shape[1])
    return halves.swapaxes(1, 2).reshape(tensor.shape).copy()
