// A heading that contains the query comes before pages that have its words anywhere, so that "common voice" finds the
// corpus of that name, not the most common voice. The other numbers are Sphinx's own.
var Scorer = {
  score: ([docname, title, anchor, descr, score, filename, kind]) => (kind === "title" ? score + 20 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
