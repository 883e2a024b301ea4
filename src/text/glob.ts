/** Whether a text fits a glob: `*` stands for any run of characters, `?` for one; case counts, as in file names. */
export function matchesGlob(glob: string, text: string): boolean {
  const pattern = [...glob]
    .map((char) => (char === '*' ? '.*' : char === '?' ? '.' : char.replace(/[\\^$.|+()[\]{}]/, '\\$&')))
    .join('');
  return new RegExp(`^${pattern}$`, 'su').test(text);
}
