/** A truth value of a row: a boolean, or in SQLite, which has none, 0 or 1. */
export type Flag = boolean | number;

export function isSet(flag: Flag): boolean {
  return flag === true || flag === 1;
}
