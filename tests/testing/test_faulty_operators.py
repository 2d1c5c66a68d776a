"""opcheck finds the mistakes that users make, and nothing in the operators without them; a kernel may do what it likes."""

import faulty_operators
import faulty_operators_of_c as of_c
import faulty_operators_of_libraries as of_libraries
import faulty_operators_of_promises as of_promises
import faulty_operators_of_science as of_science
import faulty_operators_of_scipy as of_scipy
import pytest

from dispatch.testing import child_process, opcheck

TABLE = [*faulty_operators.TABLE, *of_science.TABLE, *of_libraries.TABLE, *of_scipy.TABLE, *of_c.TABLE, *of_promises.TABLE]
DANGEROUS = [*faulty_operators.DANGEROUS, *of_science.DANGEROUS, *of_libraries.DANGEROUS, *of_scipy.STATEFUL, *of_c.STATEFUL, *of_promises.STATEFUL]
STATEFUL = (  # found by another order of calls, in a child process, or left changed in the process
    "remembers_results_by_shape", "scales_by_what_it_met_first", "starts_from_the_last_solution", "changes_the_folder",
    "sets_the_number_of_threads_for_everybody", "turns_the_garbage_collector_off", "changes_how_numbers_are_printed",
    "an_environment_variable_for_the_library", "turns_warnings_of_division_off", "silences_all_warnings", "draws_after_seeding_for_everybody",
)  # fmt: skip
ISOLATED = [*DANGEROUS, *(faulty for faulty in TABLE if faulty.name in STATEFUL)]
HERE = [faulty for faulty in TABLE if faulty.name not in STATEFUL]


def checked(faulty, *, wrong, **options):
    op, args, *keywords = faulty.make(wrong)
    return opcheck(op, args, *keywords, raise_exception=False, **faulty.options, **options)


def named(table):
    return pytest.mark.parametrize("faulty", table, ids=[faulty.name for faulty in table])


@named(HERE)
def test_the_check_that_should_find_a_mistake_does(faulty):
    report = checked(faulty, wrong=True, isolate=False, test_utils=faulty.check)
    assert faulty.check in report.failures, report
    assert of_promises.SAID.get(faulty.name, "") in str(report[faulty.check])


@named(HERE)
def test_the_same_operator_without_the_mistake_passes(faulty):
    report = checked(faulty, wrong=False, isolate=False)
    assert not report.failures, report


@named(ISOLATED)
def test_what_may_end_the_process_is_found_in_a_child(faulty, monkeypatch):
    monkeypatch.setattr(child_process, "MOST_MEMORY", 1 << 28)
    report = checked(faulty, wrong=True)
    assert faulty.check in report.failures, report
    assert of_promises.SAID.get(faulty.name, "") in str(report[faulty.check])
    report = checked(faulty, wrong=False)
    assert not report.failures, report


def test_the_table_is_as_long_as_it_says():
    assert len(TABLE) + len(DANGEROUS) >= 340
    assert len({faulty.name for faulty in [*TABLE, *DANGEROUS]}) == len(TABLE) + len(DANGEROUS)
