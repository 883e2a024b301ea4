/**
 * Encodes texts so that they are kept exactly. PostgreSQL stores UTF-8 without NUL, which can hold neither that
 * character nor half of a surrogate pair. Such text is stored as JSON, which begins with a quotation mark; so is text
 * that itself begins with one.
 */

export function encodeText(text: string): string {
  return text.startsWith('"') || text.includes('\0') || !text.isWellFormed() ? JSON.stringify(text) : text;
}

export function decodeText(text: string): string {
  if (!text.startsWith('"')) return text;
  try {
    return String(JSON.parse(text));
  } catch {
    // Another program wrote it; it is returned as it is.
    return text;
  }
}
