from gvibench.store.provenance import machine, versions


def test_versions_and_machine_are_plain_text():
    assert versions()["numpy"].count(".") >= 1
    assert versions()["gvibench"]
    assert all(isinstance(value, str) for value in machine().values())
    assert machine()["host"]


def test_changing_a_result_does_not_change_later_ones():
    versions()["numpy"] = "changed"
    assert versions()["numpy"] != "changed"
