/**
 * Whether a text matches a glob: `*` is any run of characters, `?` is one. Case-sensitive, as for file names. Takes
 * at most as many steps as both lengths multiplied, because only the last `*` that was reached has to grow.
 */
export function matchesGlob(glob: string, text: string): boolean {
  const [pattern, chars] = [[...glob], [...text]];
  let [at, read] = [0, 0];
  let lastStar = -1;
  let taken = 0;
  while (read < chars.length) {
    if (pattern[at] === '*') {
      lastStar = at;
      taken = read;
      at += 1;
    } else if (pattern[at] === '?' || pattern[at] === chars[read]) {
      at += 1;
      read += 1;
    } else if (lastStar !== -1) {
      taken += 1;
      at = lastStar + 1;
      read = taken;
    } else return false;
  }
  return pattern.slice(at).every((char) => char === '*');
}
