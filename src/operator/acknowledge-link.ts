/**
 * Links by which whoever got a message may acknowledge its alert without a token: signed, for one episode of one
 * alert, and for a week. What they open is a page that asks: following a link changes nothing.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Alert } from '../domain/alert/alert.ts';
import type { Secret } from '../secret.ts';

const VALID_FOR_US = 7 * 86_400_000_000;
/** Of the 32 bytes that HMAC-SHA256 gives: 128 bits cannot be guessed, and the link stays short. */
const SIGNATURE_BYTES = 16;

/** One episode of an alert, from firing to its end: `startsAtUs` sets it apart from those before and after. */
type Episode = Pick<Alert, 'id' | 'startsAtUs'>;

export interface AcknowledgeLinks {
  /** `sentAtUs` is when the message was written, so that every try of a delivery says the same. */
  urlOf(episode: Episode, sentAtUs: number): string;
  /** What the `link` parameter of such an address stands for; undefined for one that is forged or too old. */
  read(link: string, nowUs: number): Episode | undefined;
}

/** `externalUrl` without a trailing slash. */
export function createAcknowledgeLinks(key: Secret, externalUrl: string): AcknowledgeLinks {
  const sign = (text: string) =>
    createHmac('sha256', key.reveal()).update(`acknowledge ${text}`).digest().subarray(0, SIGNATURE_BYTES);

  return {
    urlOf({ id, startsAtUs }, sentAtUs) {
      const text = JSON.stringify([id, startsAtUs, sentAtUs + VALID_FOR_US]);
      const link = `${Buffer.from(text).toString('base64url')}.${sign(text).toString('base64url')}`;
      return `${externalUrl}/acknowledge?link=${link}`;
    },
    read(link, nowUs) {
      const [body = '', signature = ''] = link.split('.');
      const text = Buffer.from(body, 'base64url').toString();
      const given = Buffer.from(signature, 'base64url');
      if (given.length !== SIGNATURE_BYTES || !timingSafeEqual(given, sign(text))) return undefined;
      const [id, startsAtUs, endsAtUs] = JSON.parse(text) as [string, number, number];
      return nowUs < endsAtUs ? { id, startsAtUs } : undefined;
    },
  };
}
