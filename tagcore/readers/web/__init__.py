"""What the web gives: pages, feeds, sitemaps and archives, from bytes to documents; nothing here fetches."""
