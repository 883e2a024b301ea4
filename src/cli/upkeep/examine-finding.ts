/** One result of an examination of what a configuration names. */
export interface Finding {
  /** A word for programs, such as `token`. */
  readonly about: string;
  readonly state: 'good' | 'note' | 'bad' | 'unknown';
  readonly found: string;
  /** What nestwatch does or assumes. */
  readonly assumed: string;
  /** What a person should do; empty for nothing. */
  readonly advice: string;
}

type Make = (about: string, found: string, assumed: string, advice?: string) => Finding;
const finding =
  (state: Finding['state']): Make =>
  (about, found, assumed, advice = '') => ({ about, state, found, assumed, advice });
export const fine = finding('good');
export const note = finding('note');
export const bad = finding('bad');
export const unknown = finding('unknown');
