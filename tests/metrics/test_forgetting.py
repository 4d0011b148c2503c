from retainer.metrics.forgetting import backward_transfer, forgetting


def test_forgetting_and_backward_transfer():
    steps = [{"a": 80.0}, {"a": 90.0, "b": 70.0}, {"a": 60.0, "b": 75.0, "c": 50.0}]
    assert forgetting(steps) == {"a": 30.0, "b": -5.0}, "best earlier minus last"
    assert backward_transfer(steps) == {"a": -20.0, "b": 5.0}, "last minus first"
    assert forgetting([{"a": 80.0}]) == {}
