"""Builds the ONNX graph of all-MiniLM-L6-v2 from the weights of its package, and its int8 version.

One text at a time: ids [1, tokens] in, the unit vector [1, 384] out. The operators are the standard ones that exporters
print; ONNX Runtime fuses them itself. (Its fused operators written by hand were slower from 64 tokens on.)
"""
import json

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

LAYERS, WIDTH, HEADS, PLACES = 6, 384, 12, 256
DEPTH = WIDTH // HEADS
EPSILON = 1e-12  # of the layer norms: config.json of the model


def tensors(path):
    """Returns the float tensors of a safetensors file by name: eight bytes of length, a JSON header, the data."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header, data = json.loads(data[8 : 8 + size]), data[8 + size :]
    found = {}
    for name, entry in header.items():
        if entry.get("dtype") == "F32":
            begin, end = entry["data_offsets"]
            found[name] = numpy.frombuffer(data[begin:end], numpy.float32).reshape(entry["shape"])
    return found


class Graph:
    """Collects nodes and constants; each method adds a step and returns the name of its result."""

    def __init__(self, weights):
        self.weights, self.nodes, self.constants = weights, [], []

    def constant(self, value, kind=numpy.float32):
        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.ascontiguousarray(value, kind), name))
        return name

    def node(self, kind, *inputs, **attributes):
        name = f"{kind}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def dense(self, x, name):
        product = self.node("MatMul", x, self.constant(self.weights[name + ".weight"].T))
        return self.node("Add", product, self.constant(self.weights[name + ".bias"]))

    def norm(self, x, residual, name):
        gamma, beta = (self.constant(self.weights[name + part]) for part in (".weight", ".bias"))
        return self.node("LayerNormalization", self.node("Add", x, residual), gamma, beta, epsilon=EPSILON)

    def gelu(self, x):
        erf = self.node("Erf", self.node("Div", x, self.constant(2**0.5)))
        return self.node("Mul", self.node("Mul", x, self.node("Add", erf, self.constant(1))), self.constant(0.5))

    def heads(self, x, order):
        split = self.node("Reshape", x, self.constant([1, -1, HEADS, DEPTH], numpy.int64))
        return self.node("Transpose", split, perm=order)

    def attention(self, x, prefix):
        q, k, v = (self.dense(x, f"{prefix}.{part}") for part in ("query", "key", "value"))
        scores = self.node("MatMul", self.heads(q, [0, 2, 1, 3]), self.heads(k, [0, 2, 3, 1]))
        weights = self.node("Softmax", self.node("Div", scores, self.constant(DEPTH**0.5)), axis=-1)
        mixed = self.node("Transpose", self.node("MatMul", weights, self.heads(v, [0, 2, 1, 3])), perm=[0, 2, 1, 3])
        return self.node("Reshape", mixed, self.constant([1, -1, WIDTH], numpy.int64))

    def layer(self, x, prefix):
        mixed = self.dense(self.attention(x, prefix + ".attention.self"), prefix + ".attention.output.dense")
        x = self.norm(mixed, x, prefix + ".attention.output.LayerNorm")
        wide = self.gelu(self.dense(x, prefix + ".intermediate.dense"))
        return self.norm(self.dense(wide, prefix + ".output.dense"), x, prefix + ".output.LayerNorm")

    def embed(self):
        table = {part: self.weights[f"embeddings.{part}_embeddings.weight"] for part in ("word", "position", "token_type")}
        places = self.constant(table["position"][None, :PLACES] + table["token_type"][0])
        begin, axis = self.constant([0], numpy.int64), self.constant([1], numpy.int64)
        rows = self.node("Slice", places, begin, self.node("Shape", "ids", start=1, end=2), axis)
        return self.norm(self.node("Gather", self.constant(table["word"]), "ids"), rows, "embeddings.LayerNorm")

    def model(self):
        x = self.embed()
        for i in range(LAYERS):
            x = self.layer(x, f"encoder.layer.{i}")
        mean = self.node("ReduceMean", x, self.constant([1], numpy.int64), keepdims=0)
        self.nodes.append(helper.make_node("LpNormalization", [mean], ["vector"], p=2, axis=-1))
        ids = helper.make_tensor_value_info("ids", TensorProto.INT64, [1, "tokens"])
        vector = helper.make_tensor_value_info("vector", TensorProto.FLOAT, [1, WIDTH])
        graph = helper.make_graph(self.nodes, "minilm", [ids], [vector], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def build(weights, plain, quantized):
    """Writes the float32 model, and the one that ONNX Runtime quantizes dynamically to int8, per channel."""
    onnx.save(Graph(tensors(weights)).model(), plain)
    quantize_dynamic(plain, quantized, ["MatMul"], per_channel=True, weight_type=QuantType.QInt8)
