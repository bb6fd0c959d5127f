"""A picture of a page, for people to look at."""

from playwright.sync_api import Error

# What Chromium sometimes says on a busy machine, and takes the same picture a moment later.
REFUSED = "Unable to capture screenshot"


def take(page, path, whole=False):
    for _ in range(4):
        try:
            return page.screenshot(path=path, full_page=whole)
        except Error as error:
            if REFUSED not in str(error):
                raise
            page.wait_for_timeout(500)
    return page.screenshot(path=path, full_page=whole)
