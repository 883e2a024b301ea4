const GUID = /^[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/i;

/** The form in which ids are kept and compared: a GUID means the same in either case, any other id may not. */
export function foldedGuid(id: string): string {
  return GUID.test(id) ? id.toLowerCase() : id;
}

/** A GUID by its first eight signs, for people; any other id whole. */
export function shortGuid(id: string): string {
  return GUID.test(id) ? id.slice(0, 8) : id;
}

export const isGuid = (text: string): boolean => GUID.test(text);
