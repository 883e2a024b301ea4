/** Whether a text matches a glob: `*` is any run of characters, `?` is one. Case-sensitive, as for file names. */
export function matchesGlob(glob: string, text: string): boolean {
  const pattern = [...glob]
    .map((char) => (char === '*' ? '.*' : char === '?' ? '.' : char.replace(/[\\^$.|+()[\]{}]/, '\\$&')))
    .join('');
  return new RegExp(`^${pattern}$`, 'su').test(text);
}
