"""The web of tools/bench_crawl.py by Scrapy: every link followed, every page parsed, nothing kept.

    python tools/bench-scrapy/spider.py SEED

The settings are those its manual advises for broad crawls, and one connection to a host, as Teia has.
"""

import sys

from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

SETTINGS = {
    "ROBOTSTXT_OBEY": True,
    "CONCURRENT_REQUESTS": 100,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
    "DOWNLOAD_DELAY": 0,
    "RANDOMIZE_DOWNLOAD_DELAY": False,
    "AUTOTHROTTLE_ENABLED": False,
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
    "REACTOR_THREADPOOL_MAXSIZE": 20,
    "COOKIES_ENABLED": False,
    "REDIRECT_ENABLED": True,
    "RETRY_ENABLED": True,
    "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "ERROR",
    "LOGSTATS_INTERVAL": 0,
}


class Everything(CrawlSpider):
    """Follows every link; the web of the bench has none that leads out of it."""

    name = "everything"
    rules = (Rule(LinkExtractor(tags=("a",), attrs=("href",)), callback="visit", follow=True),)

    def visit(self, response):
        """The least a collector does: the title is read, nothing is kept."""
        self.crawler.stats.inc_value("titles", bool(response.css("title::text").get()))


if __name__ == "__main__":
    process = CrawlerProcess(SETTINGS)
    process.crawl(Everything, start_urls=sys.argv[1:])
    process.start()
