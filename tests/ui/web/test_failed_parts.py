"""Parts of a page that fail each say what is the matter, and so does the page around them."""

from streamlit.testing.v1 import AppTest


def _two_parts() -> None:
    from weaklink.inspector.errors import StoreError  # noqa: PLC0415  # AppTest runs this function's text as a file
    from weaklink.ui.web.watching import put_part  # noqa: PLC0415  # as above

    def first(name: str) -> None:
        raise StoreError(f"{name} is damaged")

    def second() -> None:
        raise StoreError("c is damaged")

    put_part(first, "a")
    put_part(first, "b")
    put_part(second)


def _part_and_page() -> None:
    from weaklink.inspector.errors import StoreError  # noqa: PLC0415  # as above
    from weaklink.ui.web.watching import put_error, put_part  # noqa: PLC0415  # as above

    def part() -> None:
        raise StoreError("a is damaged")

    put_part(part)
    put_error(StoreError("a is damaged"))


def _said(app: AppTest) -> list[str]:
    assert not app.exception
    assert [button.label for button in app.button] == ["Try again"] * len(app.error)
    return [error.value for error in app.error]


def test_several_parts_that_fail_are_all_told() -> None:
    app = AppTest.from_function(_two_parts, default_timeout=30).run()
    assert _said(app) == ["a is damaged", "b is damaged", "c is damaged"]
    app.button[1].click().run()
    assert _said(app) == ["a is damaged", "b is damaged", "c is damaged"]


def test_a_part_that_fails_and_its_page_are_both_told() -> None:
    app = AppTest.from_function(_part_and_page, default_timeout=30).run()
    assert _said(app) == ["a is damaged", "a is damaged"]
