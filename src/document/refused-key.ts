/** Keys that Alertmanager or a later version knows and this one does not, each with what to write instead. */
import * as z from 'zod';

const REFUSED = 'Not supported: ';

/**
 * A key that Alertmanager or a later version knows and this one does not: it is refused with what to do instead,
 * unless it is an empty list, which means nothing anywhere.
 */
export function refused(instead: string) {
  const error = `is not supported by this version: ${instead}`;
  return z.array(z.unknown(), { error }).max(0, { error }).optional().describe(`${REFUSED}${instead}.`);
}

/** The same of several keys. */
export function refusedKeys<Key extends string>(keys: readonly Key[], instead: string) {
  return Object.fromEntries(keys.map((key) => [key, refused(instead)])) as Record<
    Key,
    ReturnType<typeof refused>
  >;
}

/** A key of Alertmanager's older form of matchers. */
export function writeMatchers(key: string, example: string) {
  return z
    .never({ error: `is not supported: write \`${key}: [${example}]\`` })
    .optional()
    .describe(`${REFUSED}write \`${key}\`.`);
}

/** Whether a shape, or its JSON Schema, is that of a refused key. */
export function isRefused({ description }: { readonly description?: string | undefined }): boolean {
  return description?.startsWith(REFUSED) ?? false;
}
