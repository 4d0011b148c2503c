"""The tagger: encoder, head, tokenization, batches, decoding, prediction, ONNX."""
