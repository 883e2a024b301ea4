/**
 * Encodes texts so that they are kept exactly. SQLite and PostgreSQL store UTF-8, which cannot hold half of a surrogate
 * pair; nor can PostgreSQL hold NUL, at which functions of SQLite end a text. Such text is stored as JSON, which begins
 * with a quotation mark; so is text that itself begins with one.
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
