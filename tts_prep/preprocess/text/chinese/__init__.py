"""Chinese texts: numbers and signs in words, pinyin, tone sandhi."""
