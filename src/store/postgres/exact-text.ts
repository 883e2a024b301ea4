/**
 * Texts as they are kept. PostgreSQL keeps UTF-8 without NUL, which holds neither that character nor half of a surrogate
 * pair; such text is kept as JSON that begins with a quotation mark, and so is text that begins with one itself.
 */

export function encodeText(text: string): string {
  return text.startsWith('"') || text.includes('\0') || !text.isWellFormed() ? JSON.stringify(text) : text;
}

export function decodeText(text: string): string {
  if (!text.startsWith('"')) return text;
  try {
    return String(JSON.parse(text));
  } catch {
    // Another program wrote it: it is what it is.
    return text;
  }
}
