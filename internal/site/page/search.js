// Searches the parts of all pages, which index.js has. Without scripts there is no box, and the
// list of pages is what there is.
'use strict';

const form = document.getElementById('search');
const query = document.getElementById('query');
const results = document.getElementById('results');
const root = document.body.dataset.root;
const most = 12;

const fold = (text) => text.toLowerCase();
for (const part of parts) {
  part.title = fold(part.p + ' ' + part.h);
  part.all = part.title + ' ' + fold(part.x);
}

// A part has all words. Words in its heading count more, and the page itself before its parts.
function search(words) {
  const found = [];
  for (const part of parts) {
    if (!words.every((word) => part.all.includes(word))) continue;
    const titles = words.filter((word) => part.title.includes(word)).length;
    found.push({ part, rank: titles * 10 + (part.u.includes('#') ? 0 : 1) });
  }
  return found.sort((a, b) => b.rank - a.rank).map(({ part }) => part);
}

// What stands around the first word, with the word marked.
function excerpt(part, words) {
  const p = document.createElement('p');
  const at = Math.max(0, fold(part.x).indexOf(words.find((word) => fold(part.x).includes(word)) ?? ''));
  const from = Math.max(0, at - 60);
  let rest = (from > 0 ? '…' : '') + part.x.slice(from, from + 180);
  while (rest !== '') {
    const places = words.map((word) => [fold(rest).indexOf(word), word.length]).filter(([i]) => i >= 0);
    if (places.length === 0) break;
    const [i, length] = places.sort((a, b) => a[0] - b[0])[0];
    const mark = document.createElement('mark');
    mark.textContent = rest.slice(i, i + length);
    p.append(rest.slice(0, i), mark);
    rest = rest.slice(i + length);
  }
  p.append(rest);
  return p;
}

function show() {
  const words = fold(query.value).split(/\s+/).filter((word) => word !== '');
  results.replaceChildren();
  results.hidden = words.length === 0;
  if (results.hidden) return;
  const found = search(words);
  const count = document.createElement('p');
  count.textContent = found.length === 0 ? 'Nothing has all of these words.' : `${found.length} found` + (found.length > most ? `, the first ${most} are shown` : '');
  results.append(count);
  for (const part of found.slice(0, most)) {
    const a = document.createElement('a');
    a.href = root + part.u;
    a.textContent = part.h === part.p ? part.p : `${part.p}: ${part.h}`;
    results.append(a, excerpt(part, words));
  }
}

form.hidden = false;
query.addEventListener('input', show);
form.addEventListener('submit', (event) => {
  event.preventDefault();
  results.querySelector('a')?.click();
});
