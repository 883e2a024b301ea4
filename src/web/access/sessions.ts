/**
 * Cookies that say who is logged in: signed, so that nobody can make one, and good until their time is over or somebody
 * logs out. Every replica accepts them; that somebody logged out is known only to the process that was told.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Secret } from '../../secret.ts';

/** What a cookie holds. */
type Signed = Readonly<Record<string, unknown>> & { readonly untilUs: number };

const SIGNATURE_BYTES = 32;
/** Sessions that are remembered as ended. */
const MOST_ENDED = 10_000;

export interface Signer {
  sign(purpose: string, content: Signed): string;
  /** Undefined for what is forged, expired, or signed for something else. */
  read(purpose: string, text: string | undefined, nowUs: number): Signed | undefined;
  /** The cookie is not accepted any more. */
  end(text: string): void;
}

export function createSigner(key: Secret): Signer {
  const ended = new Set<string>();
  const signatureOf = (purpose: string, body: string) =>
    createHmac('sha256', key.reveal()).update(`${purpose} ${body}`).digest();
  return {
    sign(purpose, content) {
      const body = Buffer.from(JSON.stringify(content)).toString('base64url');
      return `${body}.${signatureOf(purpose, body).toString('base64url')}`;
    },
    read(purpose, text = '', nowUs) {
      const [body = '', signature = ''] = text.split('.');
      const given = Buffer.from(signature, 'base64url');
      if (given.length !== SIGNATURE_BYTES || !timingSafeEqual(given, signatureOf(purpose, body)))
        return undefined;
      const content = JSON.parse(Buffer.from(body, 'base64url').toString()) as Signed;
      return nowUs < content.untilUs && !ended.has(body) ? content : undefined;
    },
    end(text) {
      const [oldest] = ended;
      if (ended.size >= MOST_ENDED && oldest !== undefined) ended.delete(oldest);
      ended.add(text.split('.')[0]!);
    },
  };
}
