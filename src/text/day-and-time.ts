const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** An instant for people: `2 Jul 2026, 13:59 UTC`. Always UTC: a message does not know where it is read. */
export function dayAndTime(us: number): string {
  const at = new Date(us / 1000);
  return `${day(at)} ${at.getUTCFullYear()}, ${at.toISOString().slice(11, 16)} UTC`;
}

/** `2 Jul` */
export function day(at: Date): string {
  return `${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]}`;
}
