from gvibench.store.describe import describe_trace, summarise_trace
from problems import go


def test_descriptions_contain_solver_status_and_metrics():
    trace = go(iterations=30, solver="sr-vn")
    assert "sr-vn on test: completed (30 iterations done; gradient norm" in summarise_trace(trace)
    text = describe_trace(trace)
    for name in trace.scalars:
        assert name in text
    assert "31 records" in text
    assert "step 0.01" in text
