/**
 * Cookies that say who is logged in: signed, so that nobody can make one, and good until their time is over or somebody
 * logs out. Every replica accepts them; that somebody logged out is known only to the process that was told.
 */

import { readSignedText, signedText } from '../../http/signed-text.ts';
import type { Secret } from '../../secret.ts';

/** What a cookie holds. */
type Signed = Readonly<Record<string, unknown>> & { readonly untilUs: number };

/** Sessions that are remembered as ended. */
const MOST_ENDED = 10_000;

export interface Signer {
  sign(purpose: string, content: Signed): string;
  /** Undefined for what is forged, expired, or signed for something else. */
  read(purpose: string, text: string | undefined, nowUs: number): Signed | undefined;
  /** What holds this is not accepted any more. */
  end(content: Signed): void;
}

export function createSigner(key: Secret): Signer {
  const ended = new Set<string>();
  return {
    sign: (purpose, content) => signedText(key, purpose, content),
    read(purpose, text = '', nowUs) {
      const content = readSignedText<Signed>(key, purpose, text);
      return content && nowUs < content.untilUs && !ended.has(JSON.stringify(content)) ? content : undefined;
    },
    end(content) {
      const [oldest] = ended;
      if (ended.size >= MOST_ENDED && oldest !== undefined) ended.delete(oldest);
      ended.add(JSON.stringify(content));
    },
  };
}
