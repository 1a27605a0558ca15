"""Chinese texts: normalization, pinyin, tone sandhi."""
