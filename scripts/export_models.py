#!/usr/bin/env python3
"""Writes the whole networks of datasets/models/networks: StableHLO as JAX lowers it, compressed.

bf16 with f32 where it is usual (norms, softmax, losses, optimizer states). Weights are arguments, so that a file has
the graph alone. Nothing is run, and no GPU is needed; the same version of JAX writes the same bytes.

  scripts/export_models.py                        all of them
  scripts/export_models.py gpt2 llama3_8b         some
  scripts/export_models.py llama3_8b --layers 320 --out /tmp

Needs JAX from PyPI (python3 -m pip install jax; written with 0.10.2).
"""
import argparse
import gzip
import re
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
from jax import lax

BF16, F32, I32 = jnp.bfloat16, jnp.float32, jnp.int32


def spec(*shape, dtype=BF16):
    return jax.ShapeDtypeStruct(shape, dtype)


# Parts that several networks share.


def layer_norm(x, scale, bias, epsilon=1e-5):
    f = x.astype(F32)
    mean = f.mean(-1, keepdims=True)
    variance = jnp.square(f - mean).mean(-1, keepdims=True)
    return ((f - mean) * lax.rsqrt(variance + epsilon) * scale + bias).astype(x.dtype)


def rms_norm(x, scale, epsilon=1e-5):
    f = x.astype(F32)
    return (f * lax.rsqrt(jnp.square(f).mean(-1, keepdims=True) + epsilon) * scale).astype(x.dtype)


def heads_of(x, heads):
    batch, rows, width = x.shape
    return x.reshape(batch, rows, heads, width // heads).transpose(0, 2, 1, 3)


def attention(q, k, v, mask=None):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k, preferred_element_type=F32) * q.shape[-1] ** -0.5
    if mask is not None:
        scores = jnp.where(mask, scores, jnp.float32(-1e9))
    probabilities = jax.nn.softmax(scores, axis=-1).astype(q.dtype)
    out = jnp.einsum("bhqk,bhkd->bhqd", probabilities, v)
    batch, heads, rows, width = out.shape
    return out.transpose(0, 2, 1, 3).reshape(batch, rows, heads * width)


def causal(rows):
    return jnp.tril(jnp.ones((rows, rows), bool))


def norm_specs(width):
    return {"scale": spec(width), "bias": spec(width)}


def dense_specs(rows, columns):
    return {"w": spec(rows, columns), "b": spec(columns)}


def dense(x, p):
    return x @ p["w"] + p["b"]


# Transformers.


def transformer_specs(width, hidden):
    return {"ln1": norm_specs(width), "qkv": dense_specs(width, 3 * width),
            "out": dense_specs(width, width), "ln2": norm_specs(width),
            "up": dense_specs(width, hidden), "down": dense_specs(hidden, width)}


def self_attention(x, p, heads, mask):
    q, k, v = (heads_of(part, heads) for part in jnp.split(dense(x, p["qkv"]), 3, axis=-1))
    return dense(attention(q, k, v, mask), p["out"])


def mlp(x, p, activation):
    return dense(activation(dense(x, p["up"])), p["down"])


def pre_norm_layer(x, p, heads, mask, activation):
    with jax.named_scope("attention"):
        x = x + self_attention(layer_norm(x, **p["ln1"]), p, heads, mask)
    with jax.named_scope("mlp"):
        return x + mlp(layer_norm(x, **p["ln2"]), p, activation)


def gpt2(layers=12, width=768, heads=12, batch=8, rows=1024, vocabulary=50257):
    p = {"tokens": spec(vocabulary, width), "positions": spec(rows, width),
         "layers": [transformer_specs(width, 4 * width) for _ in range(layers)],
         "ln": norm_specs(width)}

    def gpt2(p, ids):
        x = p["tokens"][ids] + p["positions"]
        for i, layer in enumerate(p["layers"]):
            with jax.named_scope(f"layer_{i}"):
                x = pre_norm_layer(x, layer, heads, causal(rows), jax.nn.gelu)
        return jnp.einsum("bsd,vd->bsv", layer_norm(x, **p["ln"]), p["tokens"],
                          preferred_element_type=F32)

    return gpt2, (p, spec(batch, rows, dtype=I32))


def gpt2_train(layers=12):
    """One step with AdamW, whose states are f32."""
    forward, (p, ids) = gpt2(layers)
    state = jax.tree.map(lambda x: spec(*x.shape, dtype=F32), p)

    def loss(p, ids, targets):
        logits = forward(p, ids)
        picked = jnp.take_along_axis(logits, targets[..., None], -1)[..., 0]
        return (jax.nn.logsumexp(logits, -1) - picked).mean()

    def adamw(x, gradient, m, v):
        gradient = gradient.astype(F32)
        m = 0.9 * m + 0.1 * gradient
        v = 0.95 * v + 0.05 * jnp.square(gradient)
        step = m / (jnp.sqrt(v) + 1e-8) + 0.1 * x.astype(F32)
        return (x.astype(F32) - 3e-4 * step).astype(x.dtype), m, v

    def gpt2_train(p, m, v, ids, targets):
        value, gradient = jax.value_and_grad(loss)(p, ids, targets)
        with jax.named_scope("adamw"):
            new = jax.tree.map(adamw, p, gradient, m, v)
        parts = [jax.tree.map(lambda t: t[i], new, is_leaf=lambda t: isinstance(t, tuple))
                 for i in range(3)]
        return value, *parts

    return gpt2_train, (p, state, state, ids, ids)


def bert_base(layers=12, width=768, heads=12, batch=32, rows=512, vocabulary=30522):
    p = {"tokens": spec(vocabulary, width), "positions": spec(rows, width),
         "types": spec(2, width), "ln": norm_specs(width), "pooler": dense_specs(width, width),
         "layers": [transformer_specs(width, 4 * width) for _ in range(layers)]}

    def bert_base(p, ids, types, lengths):
        x = layer_norm(p["tokens"][ids] + p["positions"] + p["types"][types], **p["ln"])
        mask = (jnp.arange(rows) < lengths[:, None])[:, None, None, :]
        for i, layer in enumerate(p["layers"]):
            with jax.named_scope(f"layer_{i}"):
                x = layer_norm(x + self_attention(x, layer, heads, mask), **layer["ln1"])
                gelu = partial(jax.nn.gelu, approximate=False)
                x = layer_norm(x + mlp(x, layer, gelu), **layer["ln2"])
        return x, jnp.tanh(dense(x[:, 0], p["pooler"]))

    return bert_base, (p, spec(batch, rows, dtype=I32), spec(batch, rows, dtype=I32),
                       spec(batch, dtype=I32))


def vit_b16(layers=12, width=768, heads=12, batch=64):
    p = {"patches": spec(16, 16, 3, width), "class": spec(1, 1, width), "positions": spec(197, width),
         "layers": [transformer_specs(width, 4 * width) for _ in range(layers)],
         "ln": norm_specs(width), "head": dense_specs(width, 1000)}

    def vit_b16(p, image):
        x = conv(image, p["patches"], 16, "VALID").reshape(batch, 196, width)
        x = jnp.concatenate([jnp.broadcast_to(p["class"], (batch, 1, width)), x], 1) + p["positions"]
        for i, layer in enumerate(p["layers"]):
            with jax.named_scope(f"layer_{i}"):
                x = pre_norm_layer(x, layer, heads, None, jax.nn.gelu)
        return dense(layer_norm(x, **p["ln"])[:, 0], p["head"])

    return vit_b16, (p, spec(batch, 224, 224, 3))


def rope(x, base=500000.0):
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[2], dtype=F32)[:, None] * base ** (-jnp.arange(half, dtype=F32) / half)
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    a, b = jnp.split(x.astype(F32), 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1).astype(x.dtype)


def llama_attention(x, p, heads, kv_heads):
    rows = x.shape[1]
    q, k, v = (heads_of(x @ p[n], h) for n, h in (("q", heads), ("k", kv_heads), ("v", kv_heads)))
    q, k = rope(q), rope(k)
    k, v = (jnp.repeat(part, heads // kv_heads, axis=1) for part in (k, v))
    return attention(q, k, v, causal(rows)) @ p["o"]


def llama_attention_specs(width, kv_width):
    return {"norm1": spec(width), "norm2": spec(width), "q": spec(width, width),
            "k": spec(width, kv_width), "v": spec(width, kv_width), "o": spec(width, width)}


def llama3_8b(layers=32, scanned=False, rows=2048, width=4096, hidden=14336, vocabulary=128256):
    layer = llama_attention_specs(width, 1024) | {"gate": spec(width, hidden),
                                                  "up": spec(width, hidden),
                                                  "down": spec(hidden, width)}
    stacked = jax.tree.map(lambda x: spec(layers, *x.shape), layer)
    p = {"tokens": spec(vocabulary, width), "head": spec(width, vocabulary), "norm": spec(width),
         "layers": stacked if scanned else [layer] * layers}

    def block(x, p):
        with jax.named_scope("attention"):
            x = x + llama_attention(rms_norm(x, p["norm1"]), p, 32, 8)
        with jax.named_scope("mlp"):
            y = rms_norm(x, p["norm2"])
            return x + (jax.nn.silu(y @ p["gate"]) * (y @ p["up"])) @ p["down"]

    def llama3_8b(p, ids):
        x = p["tokens"][ids]
        if scanned:
            x, _ = lax.scan(lambda x, p: (block(x, p), None), x, p["layers"])
        else:
            for i, layer in enumerate(p["layers"]):
                with jax.named_scope(f"layer_{i}"):
                    x = block(x, layer)
        return rms_norm(x[:, -1:], p["norm"]) @ p["head"]

    return llama3_8b, (p, spec(1, rows, dtype=I32))


def mixtral(layers=4, rows=2048, width=4096, hidden=14336, experts=8, vocabulary=32000):
    """The first layers: each token's two experts, computed for all tokens and weighted."""
    layer = llama_attention_specs(width, 1024) | {"router": spec(width, experts),
                                                  "gate": spec(experts, width, hidden),
                                                  "up": spec(experts, width, hidden),
                                                  "down": spec(experts, hidden, width)}
    p = {"tokens": spec(vocabulary, width), "head": spec(width, vocabulary), "norm": spec(width),
         "layers": [layer] * layers}

    def moe(x, p):
        logits = (x @ p["router"]).astype(F32)
        values, chosen = lax.top_k(logits, 2)
        weights = jax.nn.softmax(values, axis=-1)
        combine = (jax.nn.one_hot(chosen, experts) * weights[..., None]).sum(-2).astype(x.dtype)
        gate = jax.nn.silu(jnp.einsum("bsd,edf->besf", x, p["gate"]))
        up = jnp.einsum("bsd,edf->besf", x, p["up"])
        return jnp.einsum("besf,efd,bse->bsd", gate * up, p["down"], combine,
                          optimize=[(0, 1), (0, 1)])

    def mixtral(p, ids):
        x = p["tokens"][ids]
        for i, layer in enumerate(p["layers"]):
            with jax.named_scope(f"layer_{i}"):
                x = x + llama_attention(rms_norm(x, layer["norm1"]), layer, 32, 8)
                x = x + moe(rms_norm(x, layer["norm2"]), layer)
        return rms_norm(x[:, -1:], p["norm"]) @ p["head"]

    return mixtral, (p, spec(1, rows, dtype=I32))


def mamba2(layers=24, batch=8, rows=2048, width=768, state=128, head=64, chunk=256,
           vocabulary=50288):
    """Mamba-2 130M: the state space layer in chunks, as matrix products."""
    inner, chunks = 2 * width, rows // chunk
    heads = inner // head
    layer = {"norm": spec(width), "in": spec(width, 2 * inner + 2 * state + heads),
             "conv": spec(4, inner + 2 * state), "a": spec(heads, dtype=F32),
             "bias": spec(heads, dtype=F32), "d": spec(heads), "gated": spec(inner),
             "out": spec(inner, width)}
    p = {"tokens": spec(vocabulary, width), "norm": spec(width), "layers": [layer] * layers}

    def decays(a):
        """exp of sums over each range of positions of a chunk; 0 above the diagonal."""
        sums = jnp.cumsum(a, -1)
        return jnp.where(causal(a.shape[-1]), jnp.exp(sums[..., :, None] - sums[..., None, :]), 0.0)

    def scan(x, a, b, c):
        x = x.reshape(batch, chunks, chunk, heads, head)
        b, c = (t.reshape(batch, chunks, chunk, state) for t in (b, c))
        a = a.reshape(batch, chunks, chunk, heads).transpose(0, 3, 1, 2)
        sums = jnp.cumsum(a, -1)
        scores = jnp.einsum("bcln,bcsn->bcls", c, b)
        own = jnp.einsum("bcls,bhcls,bcshp->bclhp", scores, decays(a).astype(BF16), x,
                         optimize=[(0, 1), (0, 1)])
        rest = jnp.exp(sums[..., -1:] - sums).astype(BF16)
        states = jnp.einsum("bcln,bhcl,bclhp->bchpn", b, rest, x, optimize=[(1, 2), (0, 1)])
        between = decays(jnp.pad(sums[..., -1], ((0, 0), (0, 0), (1, 0))))[..., :-1, 1:]
        before = jnp.einsum("bhzc,bchpn->bzhpn", between.astype(BF16), states)
        carried = jnp.einsum("bcln,bchpn,bhcl->bclhp", c, before, jnp.exp(sums).astype(BF16),
                             optimize=[(0, 1), (0, 1)])
        return (own + carried).reshape(batch, rows, heads, head)

    def block(x, p):
        parts = rms_norm(x, p["norm"]) @ p["in"]
        z, xbc, dt = jnp.split(parts, [inner, 2 * inner + 2 * state], axis=-1)
        padded = jnp.pad(xbc, ((0, 0), (3, 0), (0, 0)))
        xbc = jax.nn.silu(sum(padded[:, i:i + rows] * p["conv"][i] for i in range(4)))
        u, b, c = jnp.split(xbc, [inner, inner + state], axis=-1)
        dt = jax.nn.softplus(dt.astype(F32) + p["bias"])
        u = u.reshape(batch, rows, heads, head)
        y = scan(u * dt[..., None].astype(BF16), -jnp.exp(p["a"]) * dt, b, c) + u * p["d"][:, None]
        return x + rms_norm(y.reshape(batch, rows, inner) * jax.nn.silu(z), p["gated"]) @ p["out"]

    def mamba2(p, ids):
        x = p["tokens"][ids]
        for i, layer in enumerate(p["layers"]):
            with jax.named_scope(f"layer_{i}"):
                x = block(x, layer)
        return rms_norm(x[:, -1:], p["norm"]) @ p["tokens"].T

    return mamba2, (p, spec(batch, rows, dtype=I32))


# Convolutional networks, NHWC.


def conv(x, w, stride=1, padding="SAME"):
    return lax.conv_general_dilated(x, w, (stride, stride), padding,
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


def conv_norm_specs(size, inputs, outputs):
    return {"w": spec(size, size, inputs, outputs), "scale": spec(outputs), "bias": spec(outputs)}


def conv_norm(x, p, stride=1):
    """With the statistics of training folded into a scale and a bias."""
    return conv(x, p["w"], stride) * p["scale"] + p["bias"]


def resnet50(batch=64):
    p = {"stem": conv_norm_specs(7, 3, 64), "blocks": [], "head": dense_specs(2048, 1000)}
    strides, inputs = [], 64
    for stage, count in enumerate((3, 4, 6, 3)):
        inner = 64 << stage
        for i in range(count):
            block = {"a": conv_norm_specs(1, inputs, inner), "b": conv_norm_specs(3, inner, inner),
                     "c": conv_norm_specs(1, inner, 4 * inner)}
            if i == 0:
                block["shortcut"] = conv_norm_specs(1, inputs, 4 * inner)
            p["blocks"].append(block)
            strides.append(2 if i == 0 and stage > 0 else 1)
            inputs = 4 * inner

    def resnet50(p, x):
        x = jax.nn.relu(conv_norm(x, p["stem"], 2))
        x = lax.reduce_window(x, -jnp.array(jnp.inf, BF16), lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        for i, (block, stride) in enumerate(zip(p["blocks"], strides)):
            with jax.named_scope(f"block_{i}"):
                y = jax.nn.relu(conv_norm(x, block["a"]))
                y = jax.nn.relu(conv_norm(y, block["b"], stride))
                y = conv_norm(y, block["c"])
                if "shortcut" in block:
                    x = conv_norm(x, block["shortcut"], stride)
                x = jax.nn.relu(x + y)
        return dense(x.astype(F32).mean((1, 2)).astype(BF16), p["head"])

    return resnet50, (p, spec(batch, 224, 224, 3))


def unet(batch=4, size=64, context=77):
    """As in latent diffusion: residual blocks, attention to itself and to a text, three scales."""
    widths, heads = (320, 640, 1280), 8

    def residual_specs(inputs, outputs):
        p = {"n1": norm_specs(inputs), "c1": spec(3, 3, inputs, outputs),
             "time": dense_specs(1280, outputs), "n2": norm_specs(outputs),
             "c2": spec(3, 3, outputs, outputs)}
        return p | ({"skip": spec(1, 1, inputs, outputs)} if inputs != outputs else {})

    def attention_specs(width):
        return {"n1": norm_specs(width), "qkv": dense_specs(width, 3 * width),
                "out": dense_specs(width, width), "n2": norm_specs(width), "q": spec(width, width),
                "kv": spec(768, 2 * width), "out2": dense_specs(width, width),
                "n3": norm_specs(width), "up": dense_specs(width, 4 * width),
                "down": dense_specs(4 * width, width)}

    def group_norm(x, scale, bias, groups=32):
        b, h, w, c = x.shape
        f = x.astype(F32).reshape(b, h, w, groups, c // groups)
        mean = f.mean((1, 2, 4), keepdims=True)
        variance = jnp.square(f - mean).mean((1, 2, 4), keepdims=True)
        f = ((f - mean) * lax.rsqrt(variance + 1e-5)).reshape(b, h, w, c)
        return (f * scale + bias).astype(x.dtype)

    def residual(x, time, p):
        y = conv(jax.nn.silu(group_norm(x, **p["n1"])), p["c1"])
        y = y + dense(jax.nn.silu(time), p["time"])[:, None, None]
        y = conv(jax.nn.silu(group_norm(y, **p["n2"])), p["c2"])
        return y + (conv(x, p["skip"]) if "skip" in p else x)

    def transformer(x, text, p):
        shape = x.shape
        x = x.reshape(shape[0], -1, shape[3])
        x = x + self_attention(layer_norm(x, **p["n1"]), p, heads, None)
        q = heads_of(layer_norm(x, **p["n2"]) @ p["q"], heads)
        k, v = (heads_of(t, heads) for t in jnp.split(text @ p["kv"], 2, axis=-1))
        x = x + dense(attention(q, k, v), p["out2"])
        return (x + mlp(layer_norm(x, **p["n3"]), p, jax.nn.gelu)).reshape(shape)

    down, up, inputs, skips = [], [], widths[0], [widths[0]]
    for scale, width in enumerate(widths):
        for _ in range(2):
            down.append({"residual": residual_specs(inputs, width), "attention": attention_specs(width)})
            inputs = width
            skips.append(width)
        if scale < 2:
            down.append({"down": spec(3, 3, width, width)})
            skips.append(width)
    middle = residual_specs(inputs, inputs)
    for scale, width in reversed(list(enumerate(widths))):
        for i in range(3):
            up.append({"residual": residual_specs(inputs + skips.pop(), width),
                       "attention": attention_specs(width)})
            inputs = width
            if i == 2 and scale > 0:
                up[-1]["up"] = spec(3, 3, width, width)
    p = {"in": spec(3, 3, 4, widths[0]), "down": down, "middle": middle, "up": up,
         "norm": norm_specs(widths[0]), "out": spec(3, 3, widths[0], 4)}

    def unet(p, x, time, text):
        x = conv(x, p["in"])
        skips = [x]
        for i, block in enumerate(p["down"]):
            with jax.named_scope(f"down_{i}"):
                if "down" in block:
                    x = conv(x, block["down"], 2)
                else:
                    x = transformer(residual(x, time, block["residual"]), text, block["attention"])
                skips.append(x)
        x = residual(x, time, p["middle"])
        for i, block in enumerate(p["up"]):
            with jax.named_scope(f"up_{i}"):
                x = residual(jnp.concatenate([x, skips.pop()], -1), time, block["residual"])
                x = transformer(x, text, block["attention"])
                if "up" in block:
                    x = conv(x.repeat(2, axis=1).repeat(2, axis=2), block["up"])
        return conv(jax.nn.silu(group_norm(x, **p["norm"])), p["out"])

    return unet, (p, spec(batch, size, size, 4), spec(batch, 1280), spec(batch, context, 768))


NETWORKS = {
    "gpt2": gpt2,
    "gpt2_train": gpt2_train,
    "bert_base": bert_base,
    "vit_b16": vit_b16,
    "resnet50": resnet50,
    "llama3_8b": llama3_8b,
    "llama3_8b_scan": partial(llama3_8b, scanned=True),
    "mixtral": mixtral,
    "mamba2": mamba2,
    "unet": unet,
}


def text_of(function, arguments):
    """With names of layers, without the files and lines of this script."""
    lowered = jax.jit(function, keep_unused=True).trace(*arguments).lower(lowering_platforms=("cuda",))
    text = lowered.as_text(debug_info=True)
    return re.sub(r'#loc(\d*) = loc\("[^"]*":\d+:\d+(?: to [^)]*)?\)', r"#loc\1 = loc(unknown)", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=", ".join(NETWORKS))
    parser.add_argument("--layers", type=int, help="as many in place of the usual number")
    parser.add_argument("--out", type=Path, default=Path("datasets/models/networks"))
    arguments = parser.parse_args()
    for name in arguments.networks:
        if name not in NETWORKS:
            parser.error(f"no network {name}; there are {', '.join(NETWORKS)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.networks or NETWORKS:
        layers = {} if arguments.layers is None else {"layers": arguments.layers}
        text = text_of(*NETWORKS[name](**layers))
        path = arguments.out / f"{name}.mlir.gz"
        path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
        print(f"{path}: {text.count(chr(10))} lines, {path.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
