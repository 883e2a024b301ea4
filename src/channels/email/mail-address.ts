/** Splits `a@x, "Ops, team" <b@y>` at the commas that are not inside quotes or angle brackets. */
export function splitAddresses(text: string): string[] {
  const parts = text.match(/(?:"(?:[^"\\]|\\.)*"|<[^>]*>|[^,])+/g) ?? [];
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

/** Whether it is `local@domain` or `Name <local@domain>`: enough to catch slips, the mail server knows the rest. */
export function isAddress(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a line break would begin another header.
  if (/[\u0000-\u001f\u007f]/.test(text)) return false;
  const address = /^[^<>]*<([^<>]*)>$/.exec(text)?.[1] ?? text;
  return /^[^\s@<>,;"]+@[^\s@<>,;"]+$/.test(address);
}
