"""Test that jobs on one machine get distinct devices."""

from gvibench.numerics.device_lock import claim


def test_jobs_get_distinct_devices(tmp_path):
    devices = ["0000:01:00.0", "0000:02:00.0"]
    first, first_lock = claim(devices, tmp_path)
    second, second_lock = claim(devices, tmp_path)
    assert (first, second) == (0, 1)
    shared, no_lock = claim(devices, tmp_path)
    assert shared in (0, 1)
    assert no_lock is None
    first_lock.close()
    released, lock = claim(devices, tmp_path)
    assert released == 0
    lock.close()
    second_lock.close()


def test_a_claim_is_for_the_device_and_not_for_its_index(tmp_path):
    _, lock = claim(["0000:01:00.0"], tmp_path)
    index, other = claim(["0000:01:00.0", "0000:02:00.0"], tmp_path)
    assert index == 1
    lock.close()
    other.close()


def test_devices_are_shared_if_the_folder_is_not_writable(tmp_path):
    blocked = tmp_path / "file"
    blocked.touch()
    assert claim(["0000:01:00.0"], blocked / "devices") == (0, None)
