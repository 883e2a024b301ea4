/**
 * A name as it is kept to be searched in, and what is searched for: letters of any case are one, and what a store would
 * keep in another form than that of a part of it is replaced.
 */
export function foldedText(text: string): string {
  return text.toWellFormed().toLowerCase().replaceAll('"', "'").replaceAll('\0', ' ');
}
