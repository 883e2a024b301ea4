/**
 * Folds names for searching, and what is searched for: to lower case, and without characters for which a store would
 * encode the whole text differently from a part of it.
 */
export function foldedText(text: string): string {
  return text.toWellFormed().toLowerCase().replaceAll('"', "'").replaceAll('\0', ' ');
}
