"""Adapters on encoders of several kinds: nothing changes at first, merging loses nothing, and peft itself agrees."""

import copy
import sys

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import (
    BertConfig,
    BertForTokenClassification,
    DistilBertConfig,
    DistilBertForTokenClassification,
    FunnelConfig,
    FunnelForTokenClassification,
    MPNetConfig,
    MPNetForTokenClassification,
    RobertaConfig,
    RobertaForTokenClassification,
)

from retainer.errors import InputError
from retainer.model.adapters import adapter_parameters, add_adapters, learned_state, merge_adapters, require_adapters

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 90}
KINDS = {
    "bert": lambda: BertForTokenClassification(BertConfig(**SMALL)),
    "roberta": lambda: RobertaForTokenClassification(RobertaConfig(**SMALL)),
    "mpnet": lambda: MPNetForTokenClassification(MPNetConfig(**SMALL)),
    "distilbert": lambda: DistilBertForTokenClassification(
        DistilBertConfig(dim=32, n_layers=2, n_heads=4, hidden_dim=64, vocab_size=90)
    ),
}
IDS = torch.arange(3, 51).view(4, 12)


def made(kind):
    torch.manual_seed(0)
    return KINDS[kind]().eval()


def said(network):
    with torch.no_grad():
        return network(input_ids=IDS).logits


def train(network):
    """Move the adapters as training would, B away from zero too."""
    for parameter in adapter_parameters(network):
        torch.nn.init.normal_(parameter, std=0.5)


@pytest.mark.parametrize("kind", KINDS)
class TestEveryKind:
    def test_adapters_change_nothing_until_they_learn(self, kind):
        network = made(kind)
        before = said(network)
        add_adapters(network, 4)
        assert torch.equal(said(network), before)
        train(network)
        assert not torch.allclose(said(network), before, atol=1e-4)

    def test_query_and_value_of_every_layer_have_one(self, kind):
        network = made(kind)
        add_adapters(network, 4)
        assert sum(parameter.numel() for parameter in adapter_parameters(network)) == 2 * 2 * (2 * 4 * 32)
        adapted = {name.split(".lora_")[0].rpartition(".")[2] for name in network.state_dict() if ".lora_" in name}
        assert adapted in ({"query", "value"}, {"q", "v"}, {"q_lin", "v_lin"})

    def test_merged_it_is_a_plain_network_that_says_the_same(self, kind):
        network, plain = made(kind), made(kind)
        add_adapters(network, 4)
        train(network)
        before = said(network)
        merge_adapters(network)
        assert torch.allclose(said(network), before, atol=1e-5)
        assert [name for name, _ in network.named_parameters()] == [name for name, _ in plain.named_parameters()]
        assert not any("lora" in name for name in network.state_dict()) and not hasattr(network, "peft_config")

    def test_peft_merges_to_the_same_weights(self, kind):
        ours, theirs = made(kind), made(kind)
        add_adapters(ours, 4)
        names = {"bert": "query value", "roberta": "query value", "mpnet": "q v", "distilbert": "q_lin v_lin"}[kind]
        wrapped = get_peft_model(theirs, LoraConfig(r=4, lora_alpha=4, target_modules=names.split()))
        train(ours)
        learned = dict(ours.named_parameters())
        for name, parameter in wrapped.get_base_model().named_parameters():
            parameter.data.copy_(learned[name].data)
        merge_adapters(ours)
        merged = wrapped.merge_and_unload().state_dict()
        assert merged.keys() == ours.state_dict().keys()
        for name, tensor in ours.state_dict().items():
            assert torch.equal(tensor, merged[name]), name


def test_a_network_without_adapters_stays_as_it_is():
    network = made("bert")
    before = copy.deepcopy(network.state_dict())
    merge_adapters(network)
    assert adapter_parameters(network) == [] and learned_state(network).keys() == before.keys()
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())


class TestRefused:
    def test_an_encoder_whose_attention_is_not_known(self):
        sizes = {"d_model": 16, "n_head": 2, "d_head": 8, "d_inner": 16, "block_sizes": [1, 1], "vocab_size": 90}
        network = FunnelForTokenClassification(FunnelConfig(**sizes))
        with pytest.raises(
            InputError, match=r"adapters for FunnelForTokenClassification are not known.*leave adapter_r"
        ):
            require_adapters(network, 8)

    def test_a_rank_above_the_width(self):
        require_adapters(made("bert"), 32)
        with pytest.raises(InputError, match="adapter_rank 33 is more than the width of the encoder, 32"):
            require_adapters(made("bert"), 33)

    def test_without_peft(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "peft", None)
        with pytest.raises(
            InputError, match=r"needs peft, which is not installed; run: pip install 'retainer\[adapter"
        ):
            require_adapters(made("bert"), 8)
