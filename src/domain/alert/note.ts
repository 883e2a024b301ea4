/** What a person wrote about an alert, such as what was found or is being done. */
export interface Note {
  readonly id: string;
  readonly alertId: string;
  /** Names the episode that it is about. */
  readonly startsAtUs: number;
  readonly atUs: number;
  readonly author: string;
  /** Not empty, at most `MAX_NOTE_LENGTH` characters, which may be anything. */
  readonly text: string;
  /** Whether everybody may read the text while the episode fires. */
  readonly isPublic: boolean;
}

export const MAX_NOTE_LENGTH = 2_000;
