import * as z from 'zod';
import { shown, shownSentence } from '../terminal-text.ts';

/** What was looked for to say why an alert fires now. A daemon before this version looks for nothing. */
export const FINDINGS = z
  .array(z.object({ annotation: z.string(), text: z.string().nullable(), missing: z.string().nullable() }))
  .default([]);

export function findingLines(findings: z.output<typeof FINDINGS>): string[] {
  return findings.map(
    ({ annotation, text, missing }) =>
      `context    ${shown(annotation)}: ${text === null ? `not said, because ${shownSentence(missing ?? '')}` : shownSentence(text)}`,
  );
}
